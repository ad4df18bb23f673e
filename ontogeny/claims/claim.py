"""Claims, and how they are judged.

A claim is a function: its name is its identity, its docstring the sentence of the paper in our
words, its arguments the experiments that bear on it, and what it yields the evidence. Bounds are
written before the run.
"""

import importlib
import inspect
import json
import math
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any

import jax

from ..core.errors import told
from ..core.evidence import Evidence, Outcome
from ..core.external import AnyExperiment
from ..core.fields import ConfigError, did_you_mean
from ..core.notebook import verdict_table
from ..core.run import Run
from ..core.types import Experiment, Solver
from ..engine.environment import missing
from ..engine.serialize import digest, record
from . import renamed
from .patterns import checked, matches, occurs


class Scale(StrEnum):
    """How large an experiment is: minutes on a laptop, the paper's own size, or a few steps of the
    laptop's, which decide nothing and show that a claim runs from end to end."""

    LAPTOP = "laptop"
    PAPER = "paper"
    SMOKE = "smoke"


JUDGED = (Scale.LAPTOP, Scale.PAPER)  # whose verdicts count
UNWEIGHED = "its evidence could not be weighed"


@dataclass(frozen=True)
class Paper:
    """A source document."""

    key: str
    title: str
    url: str
    authors: str = ""  # where the document names them


@dataclass(frozen=True)
class Sizes:
    """Something that differs between scales: one experiment, one number of seeds, one remark.

    A function is called when its scale is asked for: sweeps need not be built to be listed.
    """

    laptop: Any
    paper: Any

    def at(self, scale: str) -> Any:
        """What there is at a scale."""
        sized = getattr(self, Scale.LAPTOP if scale == Scale.SMOKE else scale)
        return sized() if inspect.isfunction(sized) else sized


def lazily(size: Callable[[str], Any]) -> Sizes:
    """What a function makes of each scale, once it is asked for."""
    made = cache(size)
    return Sizes(lambda: made("laptop"), lambda: made("paper"))


def at(scale: Scale, thing: Any) -> Any:
    """The thing, with every `Sizes` in it resolved."""
    sized = lambda x: x.at(scale) if isinstance(x, Sizes) else x  # noqa: E731
    return jax.tree.map(sized, thing, is_leaf=lambda x: isinstance(x, Sizes | AnyExperiment))


def in_few_steps(experiment: AnyExperiment) -> AnyExperiment:
    """The same experiment, over at once: two steps of each stage, an evaluation after each."""
    few: dict[str, Any] = {"steps": 6, "evaluations": 1}  # some take three kinds of steps in turn
    if isinstance(experiment, Experiment):
        two: dict[str, Any] = {"steps": 2}
        stages = (s if isinstance(s, Solver) else replace(s, **two) for s in experiment.training)
        few = {"training": tuple(stages), "evaluations": 2}
    return replace(experiment, **few)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, the experiments that bear on it and the evidence they yield."""

    name: str
    says: str
    paper: Paper
    where: str
    experiments: Mapping[str, Any]
    evidence: Callable[..., Iterator[Evidence]] | None
    seeds: int = 3
    headline: bool = False
    departures: tuple[Any, ...] = ()
    untested: str = ""
    of: str = ""  # the pretrained model that it is asked of, where that is for the asker to say

    def named(self, scale: Scale) -> dict[str, AnyExperiment]:
        """Its experiments by name; those of a sweep are called `argument value`."""
        return {name: experiment for name, experiment in self._flat(scale)[0]}

    def weigh(self, scale: Scale, runs: Mapping[str, Run]) -> list[Evidence]:
        """The evidence that runs yield, one per experiment of `named`: first what decides."""
        assert self.evidence is not None
        names, shape = self._flat(scale)
        arguments = jax.tree.unflatten(shape, [runs[name] for name, _ in names])
        return sorted(self.evidence(**arguments), key=lambda e: e.outcome == Outcome.NOTED)

    def departures_at(self, scale: Scale) -> list[str]:
        """In what our setting differs from the paper's."""
        return [text for text in at(scale, list(self.departures)) if text]

    def digest(self, scale: Scale) -> str:
        """Changes when what the claim runs changes."""
        return " ".join(digest(record(each)) for each in self.named(scale).values())

    def _flat(self, scale: Scale) -> tuple[list[tuple[str, AnyExperiment]], Any]:
        sized = at(scale, dict(self.experiments))
        leaves, shape = jax.tree.flatten_with_path(
            sized, is_leaf=lambda x: isinstance(x, AnyExperiment)
        )
        named = [(jax.tree_util.keystr(p, simple=True, separator=" "), x) for p, x in leaves]
        if scale == Scale.SMOKE:
            named = [(name, in_few_steps(experiment)) for name, experiment in named]
        return named, shape


CLAIMS: dict[str, Claim] = {}


def claim(
    paper: Paper,
    where: str,
    *,
    seeds: int = 3,
    headline: bool = False,
    departures: tuple[Any, ...] = (),
    extra: str = "",
    **experiments: Any,
) -> Callable[[Callable[..., Iterator[Evidence]]], Callable[..., Iterator[Evidence]]]:
    """Registers a function as a claim, with the experiments it takes.

    One that needs an `extra` of the package is untested where that is not installed.
    """

    def register(evidence: Callable[..., Iterator[Evidence]]) -> Callable[..., Iterator[Evidence]]:
        wanted = set(inspect.signature(evidence).parameters)
        if wanted != set(experiments):
            raise ConfigError(f"{evidence.__name__} takes {wanted}, but has {set(experiments)}")
        says = " ".join((inspect.getdoc(evidence) or "").split())
        _register(
            Claim(
                evidence.__name__,
                says,
                paper,
                where,
                experiments,
                None if missing(extra) else evidence,
                seeds,
                headline,
                departures,
                missing(extra),
            )
        )
        return evidence

    return register


def untested(paper: Paper, where: str, name: str, says: str, reason: str) -> None:
    """Registers a claim that cannot be judged here, and why."""
    _register(Claim(name, says, paper, where, {}, None, untested=reason))


def _register(made: Claim) -> None:
    if made.name in CLAIMS:
        raise ConfigError(f"two claims are called {made.name}")
    CLAIMS[made.name] = made


def all_claims() -> dict[str, Claim]:
    """Every claim of every file in `claims/`."""
    package = importlib.import_module("ontogeny.claims.papers")
    for module in pkgutil.walk_packages(package.__path__, "ontogeny.claims.papers."):
        importlib.import_module(module.name)
    return CLAIMS


def find(patterns: list[str]) -> list[Claim]:
    """The claims that patterns name: `all`, a paper's key, a name, or a part of it (with `*`).

    Without a pattern, the headline claim of each paper.
    """
    known = all_claims()
    if not patterns:
        return [c for c in known.values() if c.headline]
    found: dict[str, Claim] = {}
    for pattern in map(checked, patterns):
        if pattern in renamed.CLAIMS and pattern not in known:
            raise ConfigError(f"{pattern} is now called {renamed.CLAIMS[pattern]}")
        named = {
            name: c
            for name, c in known.items()
            if pattern in ("all", c.paper.key, name) or matches(pattern, name)
        } or {name: c for name, c in known.items() if occurs(pattern, name)}
        if not named:
            words = [*known, *(c.paper.key for c in known.values())]
            raise ConfigError(f"no claim {pattern!r}: {did_you_mean(pattern, words)}")
        found |= named
    return list(found.values())


def find_one(pattern: str) -> Claim:
    """The one claim that a name, or enough of it, stands for."""
    found = find([pattern])
    exact = [claim for claim in found if claim.name == pattern]
    if len(exact or found) > 1:
        names = ", ".join(claim.name for claim in found)
        raise ConfigError(f"{pattern!r} could be any of {names}")
    return (exact or found)[0]


@dataclass(frozen=True)
class Verdict:
    """What came of judging a claim."""

    claim: Claim
    scale: Scale
    evidence: list[Evidence]
    seeds: int
    seconds: float
    failures: list[str] = field(default_factory=list)
    changes: tuple[str, ...] = ()
    _repr_html_ = verdict_table

    @property
    def outcome(self) -> Outcome:
        """A chain is as strong as its weakest link, and one broken link breaks it."""
        outcomes = {e.outcome for e in self.evidence} - {Outcome.NOTED}
        if self.failures:
            return Outcome.UNDECIDED
        if not outcomes:
            return Outcome.UNTESTED
        order = (Outcome.CONTRADICTED, Outcome.UNDECIDED, Outcome.SUPPORTED)
        return next(outcome for outcome in order if outcome in outcomes)

    @property
    def failed(self) -> bool:
        """Whether the claim's own code is at fault."""
        return any(text.startswith(UNWEIGHED) for text in self.failures)

    @property
    def command(self) -> str:
        """What to type to see it again."""
        changes = "".join(f" --set {change}" for change in self.changes)
        if self.claim.of:
            verb, how = "llm", f"--model {self.claim.of}"
        else:
            verb, how = "sweep" if self.changes else "judge", f"--scale {self.scale}"
        return f"ontogeny {verb} {self.claim.name}{changes} {how} --seeds {self.seeds}"

    def as_json(self) -> dict[str, Any]:
        """The verdict as `judge --json` writes it."""
        return {
            "claim": self.claim.name,
            "says": self.claim.says,
            "paper": self.claim.paper.key,
            "where": self.claim.where,
            "outcome": str(self.outcome),
            "scale": str(self.scale),
            "seeds": self.seeds,
            "seconds": round(self.seconds, 2),
            "departures": self.claim.departures_at(self.scale),
            "untested": self.claim.untested,
            "failures": self.failures,
            "command": self.command,
            "evidence": [_plain(asdict(e)) for e in self.evidence],
        }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN: a number that is none is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return [plain(each) for each in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {name: plain(value) for name, value in values.items()}


def judge(
    claims: list[Claim],
    execute: Callable[[Mapping[str, AnyExperiment], Mapping[str, int]], Mapping[str, Run]],
    scale: Scale = Scale.LAPTOP,
    seeds: int | None = None,
) -> list[Verdict]:
    """Runs what claims need, all of it together so that shared programs run once, and weighs it."""
    judged = [each for each in claims if each.evidence]
    numbers = {each.name: each.seeds if seeds is None else seeds for each in judged}
    needed = {
        f"{each.name}: {name}": (experiment, numbers[each.name])
        for each in judged
        for name, experiment in each.named(scale).items()
    }
    experiments = {label: experiment for label, (experiment, _) in needed.items()}
    runs = execute(experiments, {label: n for label, (_, n) in needed.items()}) if needed else {}
    verdicts = {c.name: Verdict(c, scale, [], 0, 0.0) for c in claims if not c.evidence}
    for each in judged:
        own = {name: replace(runs[f"{each.name}: {name}"], name=name) for name in each.named(scale)}
        verdicts[each.name] = weigh(each, scale, own, numbers[each.name])
    return [verdicts[c.name] for c in claims]


def weigh(
    judged: Claim,
    scale: Scale,
    runs: Mapping[str, Run],
    seeds: int,
    changes: tuple[str, ...] = (),
) -> Verdict:
    """A verdict from runs. Trouble in any of them, or in weighing them, leaves the claim undecided,
    never supported."""
    failures = [f"{name}: {text}" for name, run in runs.items() for text in run.failures]
    seconds = sum(run.seconds for run in runs.values())
    evidence: list[Evidence] = []
    try:
        evidence = judged.weigh(scale, runs)
    except Exception as error:  # of this claim alone: hours of other claims' runs are not in vain
        failures.append(f"{UNWEIGHED}: {told(error)}")
    return Verdict(judged, scale, evidence, seeds, seconds, failures, changes)


def write_json(verdicts: list[Verdict]) -> str:
    """The text of `judge --json`."""
    return json.dumps([v.as_json() for v in verdicts], indent=1, ensure_ascii=False) + "\n"
