"""What a store knows of each claim: its last verdict, and whether that still holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core.run import Run
from ..engine.execute import recall
from ..engine.serialize import digest, record
from ..engine.store import Store
from .claim import Claim
from .find import find
from .scale import JUDGED, Scale
from .verdict import Verdict, weigh


def status(claim: Claim, store: Store, scale: Scale | None = None) -> dict[str, Any]:
    """A claim's standing, at one scale or at the largest that was judged."""
    outcome, known_scale, stale = "", "", False
    if claim.untested:
        outcome = "untested"
    # the paper's own size speaks first, if it was judged
    for size in [scale] if scale else [Scale.PAPER, Scale.LAPTOP]:
        last = store.verdict(f"{claim.name}.{size}")
        if last and not outcome:
            outcome, known_scale = last["outcome"], str(size)
            stale = last.get("digest") != claim.digest(size)
    return {
        "claim": claim.name,
        "says": claim.says,
        "paper": claim.paper.key,
        "where": claim.where,
        "headline": claim.headline,
        "outcome": outcome,
        "scale": known_scale,
        "stale": stale,
        "untested": claim.untested,
    }


def remember(store: Store, verdict: Verdict) -> None:
    """Keeps a verdict as the claim's last."""
    if verdict.evidence and verdict.scale in JUDGED:
        known = verdict.as_json() | {"digest": verdict.claim.digest(verdict.scale)}
        store.save_verdict(f"{verdict.claim.name}.{verdict.scale}", known)


@dataclass(frozen=True)
class Standing:
    """What a store knows of a claim at one scale: its verdict, as `judge --json` writes it, and the
    runs behind it, or why there are none."""

    claim: Claim
    scale: Scale
    verdict: dict[str, Any]
    runs: Mapping[str, Run] = field(default_factory=dict, repr=False)
    environment: Mapping[str, Any] = field(default_factory=dict, repr=False)
    note: str = ""


AGAIN = {
    "changed": "Judged before a change of its experiments or of their code.",
    "missing": "Some of its runs are missing or damaged.",
}


def standing(claim: Claim, store: Store, scale: Scale) -> Standing | None:
    """A claim's verdict, weighed again from the store's runs, without running anything; where they
    are not there, what was said of them. None if it was never judged."""
    if claim.untested:
        return Standing(claim, scale, Verdict(claim, scale, [], 0, 0.0).as_json())
    last = store.verdict(f"{claim.name}.{scale}")
    if last is None:
        return None
    if last.get("digest") != claim.digest(scale):
        return Standing(claim, scale, last, note=AGAIN["changed"])
    found = recall(claim.named(scale), last["seeds"], store)
    if found is None:
        return Standing(claim, scale, last, note=AGAIN["missing"])
    # weighed anew: a bound that was changed since takes effect without a run
    verdict = weigh(claim, scale, found, last["seeds"], fixed=last["fixed"]).as_json()
    return Standing(claim, scale, verdict, found, _environment(claim, scale, store))


def last_said(claim: Claim, store: Store, scale: Scale) -> Standing:
    """A claim's last verdict as it was said, without reading its runs."""
    blank = Verdict(claim, scale, [], claim.seeds.least, 0.0).as_json()
    if claim.untested:
        return Standing(claim, scale, blank)
    last = store.verdict(f"{claim.name}.{scale}")
    if last is None:
        return Standing(claim, scale, blank | {"outcome": "unjudged"})
    stale = last.get("digest") != claim.digest(scale)
    return Standing(claim, scale, last, note=AGAIN["changed"] if stale else "")


def _environment(claim: Claim, scale: Scale, store: Store) -> dict[str, Any]:
    """Where the first of its runs was made."""
    first = next(iter(claim.named(scale).values()))
    described = store.describe(f"{digest(record(first))}-0")
    return described["environment"] if described else {}


def wanted(store: Store) -> set[str]:
    """The digests of all experiments that a claim asks for, at either scale, and of those behind
    the verdicts on claims that are not loaded here: somebody's own, of another file."""
    known = {claim.name: claim for claim in find(["all"])}
    needed = {
        digest(record(experiment))
        for claim in known.values()
        for scale in JUDGED
        for experiment in claim.named(scale).values()
    }
    for name, last in store.verdicts():
        if name.rpartition(".")[0] not in known:
            needed.update(str(last.get("digest", "")).split())
    return needed
