"""All that a store knows, as one page."""

import time
from importlib.metadata import version
from typing import Any

from ..claims.find import find
from ..claims.scale import JUDGED, Scale
from ..claims.status import Standing, last_said, standing
from ..engine.store import Store
from .page import live_page, page


def whole(
    store: Store, patterns: list[str], scales: list[Scale] | None = None
) -> tuple[str, int, int]:
    """The page of some claims, or all; how many verdicts it shows, and how many are missing."""
    found: list[Standing] = []
    unjudged = []
    for claim in find(patterns or ["all"]):
        own = [standing(claim, store, scale) for scale in scales or JUDGED]
        known = [each for each in own if each is not None]
        found += known[:1] if claim.untested else known
        if not known:
            unjudged.append(claim)
    return page(found, unjudged, notes(store), variations(store)), len(found), len(unjudged)


def explored(store: Store) -> str:
    """The explorer's page: every claim, judged or not, at the scales that it was judged at."""
    found = []
    for claim in find(["all"]):
        own = [last_said(claim, store, scale) for scale in JUDGED]
        known = [each for each in own if each.verdict["outcome"] not in ("unjudged", "untested")]
        found += known or own[:1]
    return live_page(found, notes(store), variations(store))


def notes(store: Store) -> dict[str, Any]:
    """What the foot of a page says."""
    date = time.strftime("%Y-%m-%d")
    return {"version": version("ontogeny"), "date": date, "store": store.root.name}


def variations(store: Store) -> list[dict[str, Any]]:
    """What `vary` found that can be drawn: at every point a value for each axis."""
    return [
        each
        for each in store.variations()
        if all(len(point["at"]) == len(each["sweeps"]) for point in each["points"])
    ]
