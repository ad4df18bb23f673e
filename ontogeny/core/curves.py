"""Measurements along a sweep: where they fall below a level, whether they rise, how they grow; and
what theory says beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .evidence import Evidence, Relation
from .measurement import Measurement, surely
from .quantity import Quantity


def falls_below(curve: Mapping[Any, Measurement], level: float) -> Measurement:
    """Where along a sweep a measurement first falls below a level, seed by seed.

    Between two points of the sweep the crossing is interpolated, on a logarithmic axis. Of a seed
    that is below from the first point on only this much is known, and of one that never falls only
    that it is more than the last.
    """
    xs = np.array(sorted(curve), float)
    rows = np.stack([curve[x].values for x in sorted(curve)], axis=1)
    below = rows < level
    early, never = below[:, 0], np.asarray(~below.any(axis=1))
    found = np.array([_crossing(xs, row, level) for row in rows])
    notes = (
        _counted(early, f"are below from the first point, {xs[0]:g}, on"),
        _counted(never, f"never fall below {level:g} by {xs[-1]:g}"),
    )
    first = curve[min(curve)].quantity
    points = [curve[x] for x in sorted(curve)]
    censored = bool(early.any() or never.any())
    bad = ~np.isfinite(rows).all(axis=1)  # a run that failed
    return Measurement(
        Quantity(f"where {first.alone} falls below {level:g}", first.run.rpartition(" ")[0]),
        np.where(bad, np.nan, found),
        tuple(text for each in points for text in each.failures),
        tuple(note for note in notes if note),
        np.where(early, 0.0, found) if censored else None,
        np.where(never, np.inf, found) if censored else None,
    )


def _counted(which: np.ndarray, what: str) -> str:
    return f"{which.sum()} of {len(which)} seeds {what}" if which.any() else ""


def _crossing(xs: np.ndarray, values: np.ndarray, level: float) -> float:
    below = np.flatnonzero(values < level)
    if not len(below):
        return float(xs[-1])
    # the first time, even if the curve rises again
    after = int(below[0])
    if after == 0:
        return float(xs[0])
    high, low = values[after - 1], values[after]
    fraction = (high - level) / (high - low)
    # on a logarithmic axis, as sweeps over sizes are spaced
    return float(np.exp((1 - fraction) * np.log(xs[after - 1]) + fraction * np.log(xs[after])))


def monotone(points: Mapping[Any, Measurement], rises: bool) -> Evidence:
    """Whether a measurement rises, or falls, from each point of a sweep to the next."""
    found = list(points.values())
    gaps = [after - before for before, after in pairwise(found if rises else found[::-1])]
    # the least step decides, so that every one of them has to be right
    steps, least, most = (
        np.min(each, axis=0)
        for each in (
            [gap.values for gap in gaps],
            [gap.at_least for gap in gaps],
            [gap.at_most for gap in gaps],
        )
    )
    first, known = found[0].quantity, all(each.least_values is None for each in found)
    step = Measurement(
        # of points that are runs of their own, what they have in common
        first if first.index else replace(first, run=first.run.rpartition(" ")[0]),
        steps,
        tuple(dict.fromkeys(text for each in found for text in each.failures)),
        tuple(dict.fromkeys(text for each in found for text in each.notes)),
        None if known else least,
        None if known else most,
    )
    holds = surely(step.at_least > 0, ~(step.at_most <= 0))
    relation = Relation.RISES if rises else Relation.FALLS
    means = ((str(x), float(np.mean(each.values))) for x, each in points.items())
    return replace(step.evidence(relation, holds, None), along=tuple(means))


def prediction(value: float | np.ndarray, like: Measurement) -> Measurement:
    """A number of theory, once for each seed of a measurement, or one for each."""
    return Measurement(
        Quantity("theory", like.quantity.run, unit=like.quantity.unit),
        np.broadcast_to(np.asarray(value, float), like.values.shape),
        theory=True,
    )


def exponent(points: Sequence[tuple[float, Measurement]]) -> Measurement:
    """The power with which a measurement grows along a sweep, fitted seed by seed in logarithms."""
    xs = np.log(np.array([x for x, _ in points], float))
    away = xs - xs.mean()
    weights = away / (away @ away)
    rows, least, most = (
        _log(np.stack(list(values), axis=1))
        for values in (
            (each.values for _, each in points),
            (each.at_least for _, each in points),
            (each.at_most for _, each in points),
        )
    )
    with np.errstate(invalid="ignore"):  # a middle point has no weight, whatever is known of it
        low = np.where(weights > 0, weights * least, np.where(weights < 0, weights * most, 0.0))
        high = np.where(weights > 0, weights * most, np.where(weights < 0, weights * least, 0.0))
        slopes = rows @ weights  # of nothing there is none
    known = all(each.least_values is None for _, each in points)
    return Measurement(
        Quantity(f"exponent of {points[0][1].quantity.alone}"),
        slopes,
        tuple(dict.fromkeys(text for _, each in points for text in each.failures)),
        tuple(dict.fromkeys(text for _, each in points for text in each.notes)),
        None if known else low.sum(axis=1),
        None if known else high.sum(axis=1),
    )


def _log(values: np.ndarray) -> np.ndarray:
    """The logarithm, of nothing minus infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: np.ndarray = np.log(values)
    return logs
