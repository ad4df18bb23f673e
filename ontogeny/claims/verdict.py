"""Verdicts: claims are judged from the runs that they need, from as many seeds as it takes."""

import json
import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core import words
from ..core.decision import Seeds
from ..core.errors import one_line
from ..core.evidence import Agreement, Evidence, Outcome
from ..core.external import AnyExperiment
from ..core.notebook import table
from ..core.run import Run
from ..engine.schedule import OutOfTime
from .claim import Claim
from .maps import Map
from .outside import option
from .scale import Scale

UNWEIGHED = "its evidence could not be weighed"
LATE = "the time was over before all of its runs were done: the same command goes on"
Recalled = Callable[[Mapping[str, AnyExperiment], int], Mapping[str, Run] | None]
Executed = Callable[[Mapping[str, AnyExperiment], Mapping[str, int]], Mapping[str, Run]]


@dataclass(frozen=True, repr=False)
class Verdict:
    """What came of judging a claim: the finding, and the numbers beside the paper's."""

    claim: Claim
    scale: Scale
    evidence: list[Evidence]
    seeds: int
    seconds: float
    failures: list[str] = field(default_factory=list)
    changes: tuple[str, ...] = ()
    fixed: bool = False  # whether somebody chose the number of seeds
    map: Map | None = None  # of the settings that its paper leaves open

    @property
    def outcome(self) -> Outcome:
        """The finding: that of the map, where there is one that decides."""
        mapped = self.map.outcome if self.map else Outcome.UNDECIDED
        return self.at_one_setting if mapped == Outcome.UNDECIDED else mapped

    @property
    def at_one_setting(self) -> Outcome:
        """The finding at the claim's own setting: a chain is as strong as its weakest link, and one
        broken link breaks it."""
        outcomes = {each.outcome for each in self.deciding}
        # ahead of all else: what did run may have been the easier part
        if self.failures:
            return Outcome.UNDECIDED
        if not outcomes:
            return Outcome.UNTESTED
        order = (Outcome.CONTRADICTED, Outcome.UNDECIDED, Outcome.SUPPORTED)
        return next(outcome for outcome in order if outcome in outcomes)

    @property
    def deciding(self) -> list[Evidence]:
        """The evidence on which the finding rests."""
        return [each for each in self.evidence if each.decides]

    @property
    def numbers(self) -> Counter[Agreement]:
        """How many of the paper's numbers ours agree with, differ from, or leave open."""
        found = (each.agreement for each in self.evidence)
        return Counter(agreement for agreement in found if agreement is not None)

    @property
    def open(self) -> list[Evidence]:
        """What more seeds could decide."""
        undecided = (each for each in self.deciding if each.outcome == Outcome.UNDECIDED)
        return [] if self.failures else [each for each in undecided if each.finite]

    @property
    def would_decide(self) -> str:
        """About how many more seeds would decide it, and how long they take; empty if it is decided
        or no number of seeds would."""
        if self.at_one_setting != Outcome.UNDECIDED or not self.open or self.seeds < 2:
            return ""
        enough = [each.seeds_to_decide for each in self.open]
        known = [number for number in enough if number is not None]
        if len(known) < len(enough):
            return "no number of seeds in reach: it holds in about half of them"
        more = max(known) - self.seeds
        return f"about {more} more seeds, {words.duration(more * self.seconds / self.seeds)}"

    @property
    def failed(self) -> bool:
        """Whether the claim's own code is at fault."""
        return any(text.startswith(UNWEIGHED) for text in self.failures)

    @property
    def command(self) -> str:
        """What to type to see it again."""
        changes = "".join(f" --set {shlex.quote(change)}" for change in self.changes)
        if self.claim.of:
            verb, how = "llm", f"--model {self.claim.of}"
        else:
            verb, how = "sweep" if self.changes else "judge", f"--scale {self.scale}"
        seeds = f" --seeds {self.seeds}" if self.fixed or self.changes else ""
        place = option(self.claim.name)
        return f"ontogeny {verb} {self.claim.name}{changes} {how}{seeds}{place}"

    def as_json(self) -> dict[str, Any]:
        """The verdict as `judge --json` writes it."""
        plain: dict[str, Any] = _plain(
            {
                "claim": self.claim.name,
                "says": self.claim.says,
                "paper": self.claim.paper.key,
                "where": self.claim.where,
                "outcome": str(self.at_one_setting),
                "numbers": {str(kind): self.numbers[kind] for kind in Agreement},
                "scale": str(self.scale),
                "seeds": self.seeds,
                "fixed": self.fixed,
                "seconds": round(self.seconds, 2),
                "would_decide": self.would_decide,
                "exact": self.claim.exact,
                "departures": self.claim.departures_at(self.scale),
                "untested": self.claim.untested,
                "failures": self.failures,
                "command": self.command,
                "open_settings": self.claim.open_settings(self.scale),
                "evidence": [each.as_json() for each in self.evidence],
            }
        )
        return with_map(plain, self.map)

    def __repr__(self) -> str:
        number = words.counted(self.seeds, "seed")
        return f"{words.verdict(self.as_json())}: {self.claim.name} ({self.scale}, {number})"

    def _repr_html_(self) -> str:
        rows = [
            (e.outcome, e.text, words.value(e), words.held(e), words.paper(e), e.note)
            for e in self.evidence
        ]
        title = f"{words.verdict(self.as_json())}: {self.claim.says} ({self.claim.where})"
        header = (words.HEADER[0], "evidence", *words.HEADER[1:])
        return table(title, header, rows, (*self.failures, self.would_decide, self.command))


def _plain(value: Any) -> Any:
    """JSON has neither tuples nor NaN: a number that is none is null."""
    match value:
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case float() if not math.isfinite(value):
            return None
    return value


def judge(
    claims: Sequence[Claim],
    execute: Executed,
    scale: Scale = Scale.LAPTOP,
    seeds: int | None = None,
    recall: Recalled = lambda experiments, seeds: None,
) -> list[Verdict]:
    """Runs what claims need and weighs it: from the least number of seeds first, then from more for
    those that these leave open. All claims that need seeds run together, so that programs are
    shared and no core waits; `seeds` fixes their number.

    If time is over before all is run, what `recall` finds of it is weighed, and a claim without a
    verdict says so.
    """
    verdicts = {each.name: Verdict(each, scale, [], 0, 0.0) for each in claims}
    waiting = {each.name: each for each in claims if each.evidence}
    stops = {name: _stops(each, seeds) for name, each in waiting.items()}
    while waiting:
        numbers = {name: next(stops[name]) for name in waiting}
        try:
            runs = _together(list(waiting.values()), execute, scale, numbers)
            in_time = True
        except OutOfTime:
            runs, in_time = _in_time(list(waiting.values()), recall, scale, numbers), False
        for name, own in runs.items():
            verdicts[name] = weigh(
                waiting[name], scale, own, numbers[name], fixed=seeds is not None
            )
        if not in_time:
            for name in waiting.keys() - runs.keys():
                # one that was left open by fewer seeds stands as it is
                if not verdicts[name].evidence:
                    verdicts[name] = replace(verdicts[name], failures=[LATE])
            break
        waiting = {
            name: each
            for name, each in waiting.items()
            if seeds is None and verdicts[name].open and numbers[name] < each.seeds.most
        }
    return [verdicts[each.name] for each in claims]


def _in_time(
    claims: Sequence[Claim], recall: Recalled, scale: Scale, numbers: Mapping[str, int]
) -> dict[str, dict[str, Run]]:
    """The runs of those claims of which all are there."""
    found = {each.name: recall(each.named(scale), numbers[each.name]) for each in claims}
    return {name: dict(runs) for name, runs in found.items() if runs is not None}


def _stops(claim: Claim, seeds: int | None) -> Iterator[int]:
    return iter((seeds,) if seeds is not None else claim.seeds.stops)


def _together(
    claims: Sequence[Claim], execute: Executed, scale: Scale, numbers: Mapping[str, int]
) -> dict[str, dict[str, Run]]:
    """The runs of some claims, each from its number of seeds."""
    needed = {
        # labels keep claims apart; an experiment that several ask for is still run once
        f"{each.name}: {name}": (experiment, numbers[each.name])
        for each in claims
        for name, experiment in each.named(scale).items()
    }
    experiments = {label: experiment for label, (experiment, _) in needed.items()}
    runs = execute(experiments, {label: n for label, (_, n) in needed.items()}) if needed else {}
    return {
        each.name: {
            name: replace(runs[f"{each.name}: {name}"], name=name) for name in each.named(scale)
        }
        for each in claims
    }


def weigh(
    judged: Claim,
    scale: Scale,
    runs: Mapping[str, Run],
    seeds: int,
    changes: tuple[str, ...] = (),
    fixed: bool = False,
    error: float | None = None,
) -> Verdict:
    """A verdict from runs. Trouble in any of them, or in weighing them, leaves the claim undecided,
    never supported. With a fixed number of seeds, another `error` may be allowed than 5 %."""
    failures = [f"{name}: {text}" for name, run in runs.items() for text in run.failures]
    seconds = sum(run.seconds for run in runs.values())
    evidence: list[Evidence] = []
    # one stop has all of the error to itself, one of several its share
    plan = Seeds(seeds, seeds) if fixed else judged.seeds
    stops = tuple((n, error or plan.error(n)) for n in plan.stops if n <= seeds)
    try:
        evidence = [each.judged(stops, judged.exact) for each in judged.weigh(scale, runs)]
        if judged.exact:
            failures += filter(None, map(_differs, evidence))
    except Exception as problem:  # of this claim alone: hours of other claims' runs are not in vain
        failures.append(f"{UNWEIGHED}: {one_line(problem)}")
    return Verdict(judged, scale, evidence, seeds, seconds, failures, changes, fixed)


def _differs(evidence: Evidence) -> str:
    """What is wrong with evidence of which all seeds are said to be one; nothing if they are."""
    # as many digits as single precision has: several seeds may be computed side by side
    spread = float(np.ptp(evidence.each)) if evidence.finite else 0.0
    if spread <= 1e-4 * max(1.0, float(np.max(np.abs(evidence.each)))):
        return ""
    return f"{UNWEIGHED}: it is said to be exact, and seeds differ: {evidence.quantity}"


def write_json(verdicts: list[Verdict]) -> str:
    """The text of `judge --json`."""
    return json.dumps([v.as_json() for v in verdicts], indent=1, ensure_ascii=False) + "\n"


def with_map(row: Mapping[str, Any], found: Map | None) -> dict[str, Any]:
    """A verdict as plain data, with what a map says: its outcome is the claim's, and the one at the
    claim's own setting stays beside it."""
    alone = row.get("at_one_setting", row["outcome"])
    if found is None:
        return {**row, "outcome": alone, "at_one_setting": alone, "map": None}
    decided = found.outcome != Outcome.UNDECIDED
    told = {"outcome": str(found.outcome), "says": found.answer(), "cells": len(found.cells)}
    outcome = str(found.outcome) if decided else alone
    return {**row, "outcome": outcome, "at_one_setting": alone, "map": told}
