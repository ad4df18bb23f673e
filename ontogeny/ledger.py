"""What a store knows of each claim: its last verdict, and whether that still holds."""

from typing import Any

from .claim import Claim, Scale, Verdict, find, weigh
from .engine import recall
from .spell import digest, record
from .store import Store


def status(claim: Claim, store: Store, scale: Scale | None = None) -> dict[str, Any]:
    """A claim's standing, at one scale or at the largest that was judged."""
    outcome, known_scale, stale = "", "", False
    if claim.untested:
        outcome = "untested"
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
    if verdict.evidence:
        known = verdict.as_json() | {"digest": verdict.claim.digest(verdict.scale)}
        store.save_verdict(f"{verdict.claim.name}.{verdict.scale}", known)


def verdict_of(claim: Claim, store: Store, scale: Scale) -> Verdict | None:
    """A verdict weighed again from the store's runs, without running anything."""
    if claim.untested:
        return Verdict(claim, scale, [], 0, 0.0)
    last = store.verdict(f"{claim.name}.{scale}")
    if last is None:
        return None
    found = recall(claim.named(scale), last["seeds"], store)
    return None if found is None else weigh(claim, scale, found, last["seeds"])


def wanted() -> set[str]:
    """The digests of all experiments that a claim asks for, at either scale."""
    return {
        digest(record(experiment))
        for claim in find(["all"])
        for scale in Scale
        for experiment in claim.named(scale).values()
    }
