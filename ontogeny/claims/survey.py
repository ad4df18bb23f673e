"""Surveys a region: draws cells in it, runs what a claim needs in each, and judges them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.evidence import Outcome
from ..core.external import AnyExperiment
from ..core.fields import ConfigError
from ..core.run import Run
from ..engine.schedule import Failures, OutOfTime
from ..engine.serialize import digest, value_at
from .changes import changer, places
from .claim import Claim
from .maps import Cell, Found, Map
from .region import (
    Between,
    Fit,
    Point,
    Region,
    Setting,
    Theory,
    design,
    named_settings,
    point_of,
)
from .scale import Scale
from .verdict import Recalled, Verdict, weigh

CELLS, SEEDS = 64, 3
MOST_CELLS = 10_000
# Three seeds of three decide a cell, wrongly in at most one of eight that are a toss-up: a cell is
# one of many, and it is how many of them agree that decides.
ERROR = 0.13
FOUND = {Outcome.SUPPORTED: Found.HOLDS, Outcome.CONTRADICTED: Found.FAILS}

Execute = Callable[..., Mapping[str, Run]]
Experiments = Mapping[str, AnyExperiment]


@dataclass(frozen=True)
class _Site:
    """A cell before it is judged."""

    name: str  # of its experiments: no two cells share it
    point: Point
    experiments: Experiments

    def labelled(self) -> dict[str, AnyExperiment]:
        """Its experiments, by names that tell cells apart."""
        return {f"{self.name}: {name}": each for name, each in self.experiments.items()}

    def own(self, runs: Mapping[str, Run]) -> dict[str, Run]:
        """Its runs; none if any is missing."""
        wanted = {name: f"{self.name}: {name}" for name in self.experiments}
        if not all(label in runs for label in wanted.values()):
            return {}
        return {name: replace(runs[label], name=name) for name, label in wanted.items()}


def region_of(claim: Claim, settings: Sequence[Setting] = ()) -> Region:
    """The region to be surveyed: the claim's, or the settings that somebody gives instead."""
    declared = claim.region or Region(())
    return replace(declared, settings=tuple(settings)) if settings else declared


def survey(
    claim: Claim,
    execute: Execute,
    region: Region,
    scale: Scale = Scale.LAPTOP,
    cells: int = CELLS,
    seeds: int = SEEDS,
    recall: Recalled = lambda experiments, seeds: None,
) -> Map:
    """Judges a claim in cells all over a region, each by the claim's own evidence.

    Each cell is judged from `SEEDS` seeds; with more, those that these leave open are judged from
    all. If time is over, what `recall` finds is judged.
    """
    settings = _checked(claim, region, scale, cells, seeds)
    region, refused = replace(region, settings=settings), _Refused()
    sites = list(_sites(claim, region, scale, cells, refused))
    if len(sites) < 2:
        raise ConfigError(f"{claim.name}: every cell is refused: {next(iter(refused))}")
    found: dict[str, tuple[Cell, Verdict | None]] = {}
    open_, gone, in_time = sites, set[str](), True
    for n in sorted({1} if claim.exact else {min(SEEDS, seeds), seeds}):
        runs, failures, in_time = _run(open_, execute, n, recall)
        for site in open_:
            if there := site.own(runs):
                found[site.name] = _judged(claim, region, scale, site, there, n)
            elif why := _why(site, failures):
                refused.note(why)
                gone.add(site.name)
        open_ = [site for site in open_ if site.name in found and _is_open(found[site.name][0])]
        if not in_time:
            break
    _complain(claim, found.values())
    if gone and not found:
        raise ConfigError(f"{claim.name}: every cell is refused: {next(iter(refused))}")
    own = found.get(sites[0].name)
    others = [found.get(site.name) for site in sites[1:] if site.name not in gone]
    told = next((v.deciding for _, v in found.values() if v and v.deciding), [])
    made = Map(
        claim=claim.name,
        scale=str(scale),
        seeds=seeds,
        region=region,
        cells=tuple(each[0] for each in others if each),
        own=own[0] if own else None,
        evidence=tuple(str(each.text) for each in told),
        refused=dict(refused),
        left=sum(each is None for each in others),
        digest=map_digest(claim, region, scale),
    )
    return replace(made, theory=_theory(claim, made, region, scale))


def map_digest(claim: Claim, region: Region, scale: Scale) -> str:
    """Changes when what a map would run or ask changes."""
    return digest({"runs": claim.digest(scale), "region": region.as_json()})


def _checked(
    claim: Claim, region: Region, scale: Scale, cells: int, seeds: int
) -> tuple[Setting, ...]:
    """The settings that the claim's experiments have; or what is wrong with the question."""
    if claim.untested:
        raise ConfigError(f"{claim.name} cannot be run here: {claim.untested}")
    if not 1 <= cells <= MOST_CELLS:
        raise ConfigError(f"cells must be from 1 to {MOST_CELLS:,}, not {cells}")
    if seeds < 1:
        raise ConfigError(f"seeds must be at least 1, not {seeds}")
    if not region.settings:
        raise ConfigError(
            f"{claim.name} leaves no setting open: its paper states what it uses, or it is about "
            f"every value. What if? `ontogeny sweep {claim.name} --sweep PATH=a,b,c`; or a region "
            "of your own: --over PATH=LOW..HIGH"
        )
    if settings := named_settings(region, claim.named(scale)):
        return settings
    changer(claim.name, claim.named(scale), [each.path for each in region.settings])  # raises
    raise AssertionError("a path that fits nothing is an error")


def _sites(
    claim: Claim, region: Region, scale: Scale, cells: int, refused: "_Refused"
) -> Iterator[_Site]:
    """The claim's own setting, then the cells of the design that experiments can be made of."""
    base = claim.named(scale)
    yield _Site("as claimed", own_point(region.settings, base), base)
    make = changer(claim.name, base, [each.path for each in region.settings])
    for number, point in enumerate(design(region.settings, cells)):
        try:
            yield _Site(f"cell {number}", point, make(point.typed))
        except ConfigError as error:
            refused.note(str(error))


def own_point(settings: Sequence[Setting], base: Experiments) -> Point:
    """Where the claim's own setting is in a region; a setting of which its experiments have several
    values has none."""
    typed = []
    for each in settings:
        times = isinstance(each, Between) and each.spaced == "times"
        values = {
            str(value_at(base[name], path)).lower()
            for name, found in places(base, each.path).items()
            for path in found
        }
        one = values.pop() if len(values) == 1 else ""
        typed.append("x1" if times or "x1" in getattr(each, "values", ()) else one)
    return point_of(settings, typed)


def _run(
    sites: Sequence[_Site], execute: Execute, n: int, recall: Recalled
) -> tuple[Mapping[str, Run], Failures, bool]:
    """The runs of some cells; why others have none; and whether there was time for all."""
    failures: Failures = {}
    # one call for all: cells that differ in numbers alone share a program
    wanted = {name: each for site in sites for name, each in site.labelled().items()}
    try:
        return execute(wanted, n, failures=failures), failures, True
    except OutOfTime:
        found = (recall(site.labelled(), n) or {} for site in sites)
        return {name: run for runs in found for name, run in runs.items()}, failures, False


def _judged(
    claim: Claim, region: Region, scale: Scale, site: _Site, runs: Mapping[str, Run], n: int
) -> tuple[Cell, Verdict | None]:
    margin = _margin(region, site.experiments)
    if why := _untrained(region.trained, runs):
        return Cell(site.point, Found.UNTRAINED, note=why, margin=margin), None
    verdict = weigh(claim, scale, runs, n, fixed=True, error=ERROR)
    found = FOUND.get(verdict.outcome, Found.OPEN)
    numbers = tuple(each.ours for each in verdict.deciding)
    return Cell(site.point, found, numbers, "; ".join(verdict.failures[:1]), margin), verdict


def _untrained(fits: Sequence[Fit], runs: Mapping[str, Run]) -> str:
    """Why the runs of a cell say nothing: one has diverged, or has not fitted its training data;
    nothing if they do."""
    for name, run in runs.items():
        if run.failures:
            return f"{name}: {run.failures[0]}"
        for fit in fits:
            applies = fit.of in ("", name.split(" ", maxsplit=1)[0]) and fit.probe in run.answers
            if applies and not fit.trained(run.final(fit.probe).values):
                values = np.mean(run.final(fit.probe).values)
                return f"{name}: {fit.probe} ends at {values:.3g}"
    return ""


def _margin(region: Region, experiments: Mapping[str, Any]) -> float | None:
    if region.theory is None or region.theory.margin is None:
        return None
    margin = region.theory.margin(experiments)
    return float(margin) if np.isfinite(margin) else None


def _theory(claim: Claim, made: Map, region: Region, scale: Scale) -> Theory | None:
    pair = made.pair
    if pair is None or region.theory is None or region.theory.margin is None:
        return None
    place = region.settings.index
    grid = predicted(claim, region, scale, place(pair.one), place(pair.other))
    plain = [[float(f"{x:.3g}") if np.isfinite(x) else None for x in row] for row in grid]
    return Theory(pair.one.path, pair.other.path, plain)


def predicted(
    claim: Claim, region: Region, scale: Scale, across: int, up: int, points: int = 24
) -> np.ndarray:
    """Theory's margin over two settings of a region, the others as claimed (or in the middle)."""
    assert region.theory is not None
    assert region.theory.margin is not None
    base = claim.named(scale)
    make = changer(claim.name, base, [each.path for each in region.settings])
    shares = np.array(own_point(region.settings, base).shares)
    shares = np.where(np.isfinite(shares), shares, 0.5)
    grid = np.full((points, points), np.nan)
    for row, y in enumerate(np.linspace(0, 1, points)):
        for column, x in enumerate(np.linspace(0, 1, points)):
            shares[[across, up]] = x, y
            typed = [each.typed(s) for each, s in zip(region.settings, shares, strict=True)]
            try:
                grid[row, column] = region.theory.margin(make(typed))
            except ConfigError:  # no such experiment
                continue
    return grid


def _why(site: _Site, failures: Failures) -> str:
    """Why an experiment of a cell could not be run; nothing if there was no time for it."""
    return next((failures[name] for name in site.labelled() if name in failures), "")


def _is_open(cell: Cell) -> bool:
    return cell.found == Found.OPEN


class _Refused(dict[str, int]):
    """How many cells were refused, by the first reason of those that differ in numbers alone."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def note(self, why: str) -> None:
        """One more."""
        first = self._first.setdefault(re.sub(r"[-+.\de]*\d", "#", why), why)
        self[first] = self.get(first, 0) + 1


def _complain(claim: Claim, found: Any) -> None:
    """Says so if the claim's own code is at fault everywhere."""
    failures = [v.failures[0] for _, v in found if v and v.failed]
    if failures and len(failures) == sum(v is not None for _, v in found):
        raise ConfigError(f"{claim.name}: {failures[0]}")
