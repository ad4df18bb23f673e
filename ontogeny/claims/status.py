"""What a store knows of each claim: its last verdict, and whether that still holds."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from ..core.evidence import Outcome
from ..core.fields import ConfigError
from ..core.run import Run
from ..engine.execute import recall
from ..engine.files import read_json
from ..engine.serialize import digest, record
from ..engine.store import Store
from .changes import changed, parse_change
from .claim import Claim, all_claims
from .find import find
from .maps import Map
from .scale import JUDGED, Scale
from .survey import map_digest
from .verdict import LATE, Verdict, weigh, with_map


def status(claim: Claim, store: Store, scale: Scale | None = None) -> dict[str, Any]:
    """A claim's standing, at one scale or at the largest that was judged."""
    outcome, known_scale, stale = "", "", False
    if claim.untested:
        outcome = "untested"
    # the paper's own size speaks first, if it was judged
    for size in [scale] if scale else [Scale.PAPER, Scale.LAPTOP]:
        last = store.note("verdicts", f"{claim.name}.{size}")
        if last and not outcome:
            mapped = map_of(claim, store, size)
            # what else a map says takes a while, and a list of all claims does not show it
            decided = mapped is not None and mapped.outcome != Outcome.UNDECIDED
            outcome = str(mapped.outcome) if mapped and decided else last["outcome"]
            known_scale = str(size)
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


OUTCOMES = ("supported", "contradicted", "depends", "undecided", "untested", "unjudged", "stale")
WORDS = (*OUTCOMES, "headline")


def listed(patterns: Sequence[str], store: Store) -> list[dict[str, Any]]:
    """The standing of claims by name, part of a name, paper, outcome (`contradicted`, `unjudged`)
    or `headline`. Names add claims; of these, outcomes and `headline` choose."""
    outcomes = [word for word in patterns if word in OUTCOMES]
    names = [word for word in patterns if word not in WORDS]
    for word in names:
        if close := get_close_matches(word, WORDS, n=1, cutoff=0.8):
            raise ConfigError(f"no claim is {word!r}: did you mean {close[0]!r}?")
    rows = [status(claim, store) for claim in find(names or ["all"])]
    return [
        row
        for row in rows
        if (row["headline"] or "headline" not in patterns)
        and (not outcomes or standing_of(row) in outcomes)
    ]


def standing_of(row: Mapping[str, Any]) -> str:
    """One word for what is known of a claim: an outcome, that it is stale, or that it has none."""
    return "stale" if row["stale"] else row["outcome"] or "unjudged"


def remember(store: Store, verdict: Verdict) -> None:
    """Keeps a verdict as the claim's last."""
    if verdict.evidence and verdict.scale in JUDGED:
        # without its map, which is kept beside it and may be another one tomorrow
        known = replace(verdict, map=None).as_json()
        known |= {"digest": verdict.claim.digest(verdict.scale)}
        store.save_note("verdicts", f"{verdict.claim.name}.{verdict.scale}", known)


def remember_map(store: Store, found: Map) -> None:
    """Keeps a map as the claim's last."""
    store.save_note("maps", f"{found.claim}.{found.scale}", found.as_json())


def map_of(claim: Claim, store: Store, scale: Scale) -> Map | None:
    """The last map of the region that a claim's paper leaves open: the store's, else the one of the
    last full judgement; none that was made before a change of what it runs."""
    if claim.region is None or claim.evidence is None:
        return None
    own = _valid(claim, scale, store.note("maps", f"{claim.name}.{scale}"))
    return own or _valid(claim, scale, _shipped_map(f"{claim.name}.{scale}"))


def _valid(claim: Claim, scale: Scale, known: Mapping[str, Any] | None) -> Map | None:
    """A map that was kept, if the claim runs today what it ran then."""
    if known is None or claim.region is None or claim.evidence is None:
        return None
    wanted = map_digest(claim, claim.region, scale)
    return Map.from_json(known) if known["digest"] == wanted else None


def with_maps(verdicts: Sequence[Verdict], store: Store) -> list[Verdict]:
    """Verdicts with the maps of their claims."""
    return [replace(each, map=map_of(each.claim, store, each.scale)) for each in verdicts]


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
    map: Map | None = field(default=None, repr=False)


AGAIN = {
    "changed": "Judged before a change of its experiments or of their code.",
    "missing": "Some of its runs are missing or damaged.",
}


def standing(claim: Claim, store: Store, scale: Scale) -> Standing | None:
    """A claim's verdict, weighed again from the store's runs, without running anything; where they
    are not there, what was said of them. None if it was never judged."""
    if claim.untested:
        return Standing(claim, scale, Verdict(claim, scale, [], 0, 0.0).as_json())
    last = store.note("verdicts", f"{claim.name}.{scale}")
    if last is None:
        return None
    mapped = map_of(claim, store, scale)
    last = with_map(last, mapped)
    if last.get("digest") != claim.digest(scale):
        return Standing(claim, scale, last, note=AGAIN["changed"], map=mapped)
    found = recall(claim.named(scale), last["seeds"], store)
    if found is None:
        return Standing(claim, scale, last, note=AGAIN["missing"], map=mapped)
    # weighed anew: a bound that was changed since takes effect without a run
    verdict = replace(weigh(claim, scale, found, last["seeds"], fixed=last["fixed"]), map=mapped)
    around = _environment(claim, scale, store)
    return Standing(claim, scale, verdict.as_json(), found, around, map=mapped)


def last_said(claim: Claim, store: Store, scale: Scale) -> Standing:
    """A claim's last verdict as it was said, without reading its runs."""
    blank = Verdict(claim, scale, [], claim.seeds.least, 0.0).as_json()
    if claim.untested:
        return Standing(claim, scale, blank)
    last = store.note("verdicts", f"{claim.name}.{scale}")
    if last is None:
        return Standing(claim, scale, blank | {"outcome": "unjudged"})
    mapped, stale = map_of(claim, store, scale), last.get("digest") != claim.digest(scale)
    note = AGAIN["changed"] if stale else ""
    return Standing(claim, scale, with_map(last, mapped), note=note, map=mapped)


def judgement(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The verdicts on all claims that there are, in their order, the later of two on one; each with
    what the map says that was made of it. What was not run in time is as if nobody had asked, and
    what could not be run in one place stands as it was judged in another."""
    told = [row for row in rows if _told(row)]
    last = {(row["claim"], row["scale"]): row for row in told if row["untested"]}
    last |= {(row["claim"], row["scale"]): row for row in told if not row["untested"]}
    found = []
    for claim in find(["all"]):
        sizes = [size for size in JUDGED if (claim.name, str(size)) in last]
        for size in sizes:
            known = _shipped_map(f"{claim.name}.{size}")
            found.append(with_map(last[claim.name, str(size)], _valid(claim, size, known)))
        if not sizes:
            blank = Verdict(claim, Scale.LAPTOP, [], 0, 0.0).as_json()
            unjudged = {"outcome": "unjudged", "at_one_setting": "unjudged"}
            found.append(blank if claim.untested else blank | unjudged)
    return found


def _told(row: Mapping[str, Any]) -> bool:
    """Whether a verdict says something: it was judged, now or by the rule before, or cannot be."""
    known = row["evidence"] or row["untested"] or row.get("before")
    return bool(known) and LATE not in row["failures"]


def judged_before(claim: Claim, scale: Scale) -> dict[str, Any] | None:
    """The verdict in the last full judgement of all claims, which the repository has."""
    rows = _last_judgement()
    known = (row for row in rows if row["claim"] == claim.name and row["scale"] == scale)
    return next(known, None)


RESULTS = Path(__file__).parent.parent.parent / "results"


@cache
def _last_judgement() -> list[dict[str, Any]]:
    file = RESULTS / "verdicts.json"
    rows: list[dict[str, Any]] = read_json(file) if file.is_file() else []
    return rows


@cache
def _shipped_map(name: str) -> dict[str, Any] | None:
    file = RESULTS / "maps" / f"{name}.json"
    return read_json(file) if file.is_file() else None


def _environment(claim: Claim, scale: Scale, store: Store) -> dict[str, Any]:
    """Where the first of its runs was made."""
    first = next(iter(claim.named(scale).values()))
    described = store.describe(f"{digest(record(first))}-0")
    return described["environment"] if described else {}


def swept(store: Store) -> dict[str, list[str]]:
    """The same of the sweeps that a store remembers: `claim: experiment, task.ratio=2`."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for _, known in store.notes("sweeps"):
        if (claim := all_claims().get(known["claim"])) is None:
            continue
        for point in known["points"][:SWEPT]:
            values = zip(known["sweeps"], point["at"], strict=True)
            changes = [*known["changes"], *(f"{path}={value}" for path, value in values)]
            try:
                experiments = claim.named(Scale(known["scale"]))
                made = changed(claim.name, experiments, [parse_change(text) for text in changes])
            except ValueError:  # of a claim, a field or a scale that there was
                continue
            for name, experiment in made.items():
                label = f"{claim.name}: {name}, {', '.join(changes)}"
                found[digest(record(experiment))][label] = None
    return {name: list(labels) for name, labels in found.items()}


SWEPT = 1000  # points of a sweep that are looked up


def asked() -> dict[str, list[str]]:
    """The digests of all experiments that a claim asks for, at either scale, each with the claims
    and what they call it: `claim: experiment`."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for size in JUDGED:
        at = "" if size == Scale.LAPTOP else f" ({size})"
        for claim in find(["all"]):
            for name, experiment in claim.named(size).items():
                # of one that is the same at both scales, the first name
                if f"{claim.name}: {name}" not in (known := found[digest(record(experiment))]):
                    known[f"{claim.name}: {name}{at}"] = None
    return {name: list(labels) for name, labels in found.items()}


def wanted(store: Store) -> set[str]:
    """The digests of all experiments that a claim asks for, and of those behind the verdicts on
    claims that are not loaded here: somebody's own, of another file."""
    needed = set(asked())
    known = all_claims()
    for name, last in store.notes("verdicts"):
        if name.rpartition(".")[0] not in known:
            needed.update(str(last.get("digest", "")).split())
    return needed
