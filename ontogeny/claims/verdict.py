"""Verdicts: claims are judged from the runs that they need."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..core.errors import one_line
from ..core.evidence import Evidence, Outcome
from ..core.external import AnyExperiment
from ..core.notebook import verdict_table
from ..core.run import Run
from .claim import Claim
from .scale import Scale

UNWEIGHED = "its evidence could not be weighed"


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
        # ahead of all else: what did run may have been the easier part
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
        # labels keep claims apart; an experiment that several ask for is still run once
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
        failures.append(f"{UNWEIGHED}: {one_line(error)}")
    return Verdict(judged, scale, evidence, seeds, seconds, failures, changes)


def write_json(verdicts: list[Verdict]) -> str:
    """The text of `judge --json`."""
    return json.dumps([v.as_json() for v in verdicts], indent=1, ensure_ascii=False) + "\n"
