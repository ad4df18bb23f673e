"""What the cells of a map tell: which settings matter, where the boundary is, how certain that is.

A cell is a point of the unit cube (how far along its range each setting is) where a finding holds
or fails. Numbers only: nothing here knows of claims.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

Points = Float[np.ndarray, "cell setting"]
Holds = Bool[np.ndarray, " cell"]
Groups = Int[np.ndarray, " cell"]
T = Callable[[np.ndarray], float]

RESAMPLED = 400  # halves of the cells
WITHIN = 0.95  # of what is shown as an interval
GROUPS = 4  # into which a range is cut, at most
LEAST = 4  # cells in each, about


class Explained(NamedTuple):
    """How much of the variation between cells one setting explains."""

    share: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether it is more than nothing."""
        return self.low > 0


class Boundary(NamedTuple):
    """Where along a setting the finding flips: at a share of its range, with an interval."""

    at: float
    low: float
    high: float
    holds_below: bool
    right: float  # the fraction of cells that lie on the side that it says


def explained(shares: Float[np.ndarray, " cell"], holds: Holds, choices: int = 0) -> Explained:
    """Of the variance of holding or failing, what is between groups of cells that are alike in one
    setting: a choice's values, or a range cut into a few. Adjusted for the number of groups (ε²),
    so that a setting that does nothing explains nothing on average.

    The interval is from random halves of the cells: their estimates differ as much from one another
    as those of all cells would from those of other cells.
    """
    return _explained(_groups(shares, choices, GROUPS), holds)


def explained_together(
    one: Float[np.ndarray, " cell"],
    other: Float[np.ndarray, " cell"],
    holds: Holds,
    choices: tuple[int, int] = (0, 0),
) -> Explained:
    """The same of two settings at once: a boundary may run across both of them."""
    few = max(2, min(GROUPS, math.isqrt(len(holds) // LEAST)))
    first, second = (
        _groups(shares, number, few) for shares, number in zip((one, other), choices, strict=True)
    )
    return _explained(first * (second.max() + 1) + second, holds)


def _explained(groups: Groups, holds: Holds) -> Explained:
    found = _adjusted(groups, holds)
    spread = float(np.std(_halves(len(holds), lambda some: _adjusted(groups[some], holds[some]))))
    reach = 1.96 * spread
    return Explained(max(0.0, found), max(0.0, found - reach), min(1.0, max(0.0, found + reach)))


def _groups(shares: Float[np.ndarray, " cell"], choices: int, most: int) -> Groups:
    count = choices or max(2, min(most, len(shares) // LEAST))
    groups: Groups
    if choices:
        groups = np.minimum((shares * count).astype(int), count - 1)
    else:
        ranks = np.argsort(np.argsort(shares, kind="stable"), kind="stable")
        groups = ranks * count // max(len(shares), 1)
    return groups


def _adjusted(groups: Groups, holds: Holds) -> float:
    """1 − (variance within groups) / (variance), both without bias."""
    values = holds.astype(float)
    whole = float(np.sum((values - values.mean()) ** 2)) if len(values) else 0.0
    known = np.unique(groups)
    free = len(values) - len(known)
    if not whole or free < 1:
        return 0.0
    parts = (values[groups == group] for group in known)
    within = sum(float(np.sum((part - part.mean()) ** 2)) for part in parts)
    return 1 - (within / free) / (whole / (len(values) - 1))


def boundary(shares: Float[np.ndarray, " cell"], holds: Holds) -> Boundary | None:
    """The threshold of a setting that tells most cells apart; None if all are alike."""
    if holds.all() or not holds.any():
        return None
    at, below, right = _threshold(shares, holds)
    halves = np.array(
        _halves(len(holds), lambda some: _threshold(shares[some], holds[some], below)[0])
    )
    tail = 100 * (1 - WITHIN) / 2
    low, high = np.nanpercentile(halves, [tail, 100 - tail])
    return Boundary(at, min(at, float(low)), max(at, float(high)), below, right)


def _threshold(
    shares: Float[np.ndarray, " cell"], holds: Holds, below: bool | None = None
) -> tuple[float, bool, float]:
    """The best threshold, whether it holds below it, and how many cells that gets right."""
    order = np.argsort(shares, kind="stable")
    sorted_, y = shares[order], holds[order].astype(float)
    ends = np.concatenate([[0.0], (sorted_[1:] + sorted_[:-1]) / 2, [1.0]])
    first = np.concatenate([[0.0], np.cumsum(y)])  # that hold, among the first so many
    number = np.arange(len(y) + 1)
    # right if what is below holds and the rest fails; the other way round, all others are
    right = first + (len(y) - number) - (y.sum() - first)
    sides = [True, False] if below is None else [below]
    best = [
        (float(np.max(r)), side, r) for side in sides for r in [right if side else len(y) - right]
    ]
    most, side, values = max(best, key=lambda each: each[0])
    # of thresholds that are as good, the middle one
    good = ends[np.isclose(values, most)]
    return float(np.median(good)), side, most / len(y)


def _halves(cells: int, ask: T) -> list[float]:
    chance = np.random.default_rng(0)
    half = max(2, cells // 2)
    return [ask(chance.permutation(cells)[:half]) for _ in range(RESAMPLED)]


def smooth(points: Points, holds: Holds, at: Float[np.ndarray, "point setting"]) -> np.ndarray:
    """How often it holds near some points: an average of the cells, each weighed by how near it is.

    The width of the weights goes with the number of cells as for a density in so many dimensions.
    """
    cells, settings = points.shape
    width = 0.45 * cells ** (-1 / (settings + 4))
    distances = np.sum((at[:, None] - points[None]) ** 2, axis=-1) / (2 * width**2)
    weights = np.exp(-(distances - distances.min(axis=1, keepdims=True)))
    found: np.ndarray = weights @ holds / weights.sum(axis=1)
    return found


def nearest(own: Float[np.ndarray, " setting"], points: Points, wanted: Holds) -> int | None:
    """Which of the wanted cells is nearest to a point, by the settings of which the point has a
    value."""
    known = np.isfinite(own)
    if not wanted.any() or not known.any():
        return None
    distances = np.sum((points[:, known] - own[known]) ** 2, axis=1)
    return int(np.argmin(np.where(wanted, distances, np.inf)))
