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
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any

import jax

from .environment import missing
from .evidence import Evidence, Outcome, Run
from .external import AnyExperiment
from .fields import Invalid, did_you_mean
from .nursery import undivided
from .spell import digest, record


class Scale(StrEnum):
    """How large an experiment is: minutes on a laptop, or the paper's own size."""

    LAPTOP = "laptop"
    PAPER = "paper"


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
        sized = getattr(self, scale)
        return sized() if inspect.isfunction(sized) else sized


def lazily(size: Callable[[str], Any]) -> Sizes:
    """What a function makes of each scale, once it is asked for."""
    made = cache(size)
    return Sizes(lambda: made("laptop"), lambda: made("paper"))


def at(scale: Scale, thing: Any) -> Any:
    """The thing, with every `Sizes` in it resolved."""
    is_leaf = lambda x: isinstance(x, Sizes | AnyExperiment)  # noqa: E731
    return jax.tree.map(
        lambda x: x.at(scale) if isinstance(x, Sizes) else x, thing, is_leaf=is_leaf
    )


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
            raise Invalid(f"{evidence.__name__} takes {wanted}, but has {set(experiments)}")
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
        raise Invalid(f"two claims are called {made.name}")
    CLAIMS[made.name] = made


def all_claims() -> dict[str, Claim]:
    """Every claim of every file in `claims/`."""
    with undivided():
        package = importlib.import_module("ontogeny.claims")
        for module in pkgutil.walk_packages(package.__path__, "ontogeny.claims."):
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
    for pattern in patterns:
        expression = re.compile(re.escape(pattern).replace(r"\*", ".*"))
        matches = {
            name: c
            for name, c in known.items()
            if pattern in ("all", c.paper.key, name)
            or ("*" in pattern and expression.fullmatch(name))
        } or {name: c for name, c in known.items() if expression.search(name)}
        if not matches:
            words = [*known, *(c.paper.key for c in known.values())]
            raise Invalid(f"no claim {pattern!r}: {did_you_mean(pattern, words)}")
        found |= matches
    return list(found.values())


def find_one(pattern: str) -> Claim:
    """The one claim that a name, or enough of it, stands for."""
    found = find([pattern])
    exact = [claim for claim in found if claim.name == pattern]
    if len(exact or found) > 1:
        names = ", ".join(claim.name for claim in found)
        raise Invalid(f"{pattern!r} could be any of {names}")
    return (exact or found)[0]


# --------------------------------------------------------------------------------------- verdicts


@dataclass(frozen=True)
class Verdict:
    """What came of judging a claim."""

    claim: Claim
    scale: Scale
    evidence: list[Evidence]
    seeds: int
    seconds: float
    trouble: list[str] = field(default_factory=list)
    changes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """A chain is as strong as its weakest link, and one broken link breaks it."""
        outcomes = {e.outcome for e in self.evidence} - {Outcome.NOTED}
        if not outcomes:
            return Outcome.UNTESTED
        if self.trouble:
            return Outcome.UNDECIDED
        order = (Outcome.CONTRADICTED, Outcome.UNDECIDED, Outcome.SUPPORTED)
        return next(outcome for outcome in order if outcome in outcomes)

    @property
    def command(self) -> str:
        """What to type to see it again."""
        changes = "".join(f" --set {change}" for change in self.changes)
        if self.claim.of:
            verb, how = "real", f"--model {self.claim.of}"
        else:
            verb, how = "vary" if self.changes else "judge", f"--scale {self.scale}"
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
            "trouble": self.trouble,
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
    execute: Callable[[Mapping[str, AnyExperiment], int], Mapping[str, Run]],
    scale: Scale = Scale.LAPTOP,
    seeds: int | None = None,
) -> list[Verdict]:
    """Runs what claims need, all of it together so that shared programs run once, and weighs it."""
    by_seeds: dict[int, list[Claim]] = {}
    for each in claims:
        if each.evidence:
            by_seeds.setdefault(each.seeds if seeds is None else seeds, []).append(each)
    verdicts = {c.name: Verdict(c, scale, [], 0, 0.0) for c in claims if not c.evidence}
    for n, group in by_seeds.items():
        needed = {
            f"{c.name}: {name}": experiment
            for c in group
            for name, experiment in c.named(scale).items()
        }
        runs = execute(needed, n)
        for each in group:
            own = {
                name: replace(runs[f"{each.name}: {name}"], name=name) for name in each.named(scale)
            }
            verdicts[each.name] = weigh(each, scale, own, n)
    return [verdicts[c.name] for c in claims]


def weigh(
    judged: Claim,
    scale: Scale,
    runs: Mapping[str, Run],
    seeds: int,
    changes: tuple[str, ...] = (),
) -> Verdict:
    """A verdict from runs. Trouble in any of them leaves the claim undecided, never supported."""
    trouble = [f"{name}: {text}" for name, run in runs.items() for text in run.trouble]
    seconds = sum(run.seconds for run in runs.values())
    evidence = judged.weigh(scale, runs)
    return Verdict(judged, scale, evidence, seeds, seconds, trouble, changes)


def write_json(verdicts: list[Verdict]) -> str:
    """The text of `judge --json`."""
    return json.dumps([v.as_json() for v in verdicts], indent=1, ensure_ascii=False) + "\n"
