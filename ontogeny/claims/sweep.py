"""What if? A claim judged again with something changed, over one or two sweeps."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..core import words
from ..core.external import AnyExperiment
from ..core.fields import ConfigError
from ..core.notebook import frame, table
from ..core.run import Run
from ..engine.serialize import digest
from ..engine.store import Store
from .changes import Change, changed, parse_change, shortened
from .claim import Claim
from .scale import Scale
from .verdict import Verdict, weigh

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 10_000  # points of a grid


@dataclass(frozen=True, repr=False)
class Sweep:
    """The verdicts over a grid: a point per combination of the swept values."""

    claim: Claim
    sweeps: dict[str, list[str]]
    verdicts: dict[tuple[str, ...], Verdict]

    def answer(self) -> list[str]:
        """Where the outcome flips, in a line; of two sweeps, in a line for each value of the
        second."""
        if not self.sweeps:
            (verdict,) = self.verdicts.values()
            return [f"{verdict.outcome} with {', '.join(verdict.changes) or 'nothing changed'}"]
        (path, values), *second = self.sweeps.items()
        if not second:
            return [along(path, {value: self.verdicts[value,].outcome for value in values})]
        other, levels = second[0]
        alike: dict[str, list[str]] = defaultdict(list)  # rows of the grid that are the same
        for level in levels:
            found = {value: self.verdicts[value, level].outcome for value in values}
            alike[along(path, found)].append(level)
        return [f"{other}={','.join(same)}: {text}" for text, same in alike.items()]

    def plot(self) -> "Figure":
        """A figure: each piece of evidence over the swept values; of two sweeps a phase diagram."""
        figure: Figure = import_module("ontogeny.report.figures").sweep(self)
        return figure

    def to_frame(self) -> Any:
        """A pandas data frame: a row per point and piece of evidence."""
        return frame(
            {
                **dict(zip(self.sweeps, point, strict=True)),
                "outcome": str(verdict.outcome),
                "evidence": each.text,
                "evidence outcome": str(each.outcome),
                "ours": each.ours,
                "low": each.low,
                "high": each.high,
                "bound": each.bound,
            }
            for point, verdict in self.verdicts.items()
            for each in verdict.evidence
        )

    def __repr__(self) -> str:
        return f"Sweep of {self.claim.name}: {'; '.join(self.answer())}"

    def _repr_html_(self) -> str:
        rows = [
            (*point, each.outcome, "\n".join(f"{e.text}: {words.value(e)}" for e in each.deciding))
            for point, each in self.verdicts.items()
        ]
        return table(repr(self), (*self.sweeps, "outcome", "evidence"), rows)


def along(path: str, outcomes: Mapping[str, str]) -> str:
    """Where along a sweep the outcome flips: `supported up to task.ratio = 2, contradicted from 4
    on`."""
    try:
        values = sorted(outcomes, key=float)
    except ValueError:  # words, in the order in which they were given
        alike: dict[str, list[str]] = defaultdict(list)
        for value, outcome in outcomes.items():
            alike[outcome].append(value)
        parts = [f"{outcome} at {', '.join(values)}" for outcome, values in alike.items()]
        return f"{path}: {'; '.join(parts)}"
    if len(set(outcomes.values())) == 1:
        return _everywhere(path, {value: outcomes[value] for value in values})
    stretches = [list(some) for _, some in groupby(values, key=lambda value: outcomes[value])]
    told = []
    for number, some in enumerate(stretches):
        where = f"at {some[0]}" if len(some) == 1 else f"from {some[0]} to {some[-1]}"
        if number == 0:
            where = f"up to {path} = {some[-1]}"
        elif number == len(stretches) - 1:
            where = f"from {some[0]} on"
        told.append(f"{outcomes[some[0]]} {where}")
    return ", ".join(told)


def _everywhere(path: str, outcomes: Mapping[str, str]) -> str:
    outcome, values = next(iter(outcomes.values())), list(outcomes)
    if len(values) == 1:
        return f"{outcome} at {path} = {values[0]}"
    return f"{outcome} from {path} = {values[0]} to {values[-1]}: it does not flip in this range"


def parse_sweep(text: str) -> tuple[str, list[str]]:
    """Reads `PATH=a,b,c`."""
    path, _, listed = text.partition("=")
    values = [value.strip() for value in listed.split(",")]
    if listed and ("" in values or len(set(values)) < len(values)):
        raise ConfigError(f"{shortened(text)}: the values of a sweep must be there and differ")
    changes = [parse_change(f"{path}={value}") for value in values]
    return changes[0].path, values


def parse_sweeps(texts: Iterable[str]) -> dict[str, list[str]]:
    """Reads all sweeps of a question."""
    sweeps: dict[str, list[str]] = {}
    for text in texts:
        path, values = parse_sweep(text)
        if path in sweeps:
            raise ConfigError(f"{path!r} is swept twice: give all of its values in one sweep")
        sweeps[path] = values
    check_grid(sweeps)
    return sweeps


def as_typed(sweeps: Mapping[str, list[str]]) -> list[str]:
    """Sweeps as they are typed: `PATH=a,b,c`."""
    return [f"{path}={','.join(values)}" for path, values in sweeps.items()]


def check_grid(sweeps: Mapping[str, list[str]]) -> None:
    """Refuses a grid that no picture shows, or that is too large, before anything is made of it."""
    if len(sweeps) > 2:
        raise ConfigError("a sweep or two: a picture has two axes")
    points = math.prod(map(len, sweeps.values()))
    if points > MOST:
        raise ConfigError(
            f"a sweep of {points:,} points: at most {MOST:,} are judged; give fewer values"
        )


def sweep(
    claim: Claim,
    execute: Callable[[Mapping[str, AnyExperiment], int], Mapping[str, Run]],
    changes: list[Change],
    sweeps: dict[str, list[str]],
    scale: Scale,
    seeds: int | None = None,
) -> Sweep:
    """Judges a claim at every point of a grid; all points are planned and run together."""
    if claim.untested:
        raise ConfigError(f"{claim.name} cannot be run here: {claim.untested}")
    check_grid(sweeps)
    n = claim.seeds.least if seeds is None else seeds
    wanted: dict[tuple[str, ...], dict[str, AnyExperiment]]
    wanted = {(): changed(claim.name, claim.named(scale), changes)}
    for path, values in sweeps.items():
        wanted = {
            (*point, value): changed(claim.name, experiments, [Change(path, value)])
            for point, experiments in wanted.items()
            for value in values
        }
    # one call for all points: those that differ in floats alone share a program
    needed = {
        f"{' '.join(point)} {name}".strip(): experiment
        for point, experiments in wanted.items()
        for name, experiment in experiments.items()
    }
    runs = execute(needed, n)
    verdicts = {}
    for point, experiments in wanted.items():
        own = {
            name: replace(runs[f"{' '.join(point)} {name}".strip()], name=name)
            for name in experiments
        }
        swept = [f"{path}={value}" for path, value in zip(sweeps, point, strict=True)]
        verdicts[point] = weigh(claim, scale, own, n, (*map(str, changes), *swept), fixed=True)
    return Sweep(claim, sweeps, verdicts)


def as_json(variation: Sweep) -> list[dict[str, Any]]:
    """One verdict per point, with what was changed."""
    return [
        {"changes": list(verdict.changes), **verdict.as_json()}
        for verdict in variation.verdicts.values()
    ]


def remember(store: Store, found: Sweep, changes: list[Change], scale: Scale) -> None:
    """Keeps a sweep, named by what was asked: the same sweep again replaces its record."""
    record = as_record(found, changes, scale)
    asked = {key: record[key] for key in ("claim", "scale", "seeds", "changes", "sweeps")}
    store.save_note("sweeps", digest(asked), record)


def as_record(variation: Sweep, changes: list[Change], scale: Scale) -> dict[str, Any]:
    """The same as a store keeps it, to be drawn: what was swept, and what was found where."""
    verdicts = [verdict.as_json() for verdict in variation.verdicts.values()]
    points = [
        {"at": list(point), "outcome": row["outcome"], "evidence": row["evidence"]}
        for point, row in zip(variation.verdicts, verdicts, strict=True)
    ]
    return {
        "claim": variation.claim.name,
        "scale": str(scale),
        "seeds": verdicts[0]["seeds"],
        "changes": list(map(str, changes)),
        "sweeps": variation.sweeps,
        "points": points,
    }
