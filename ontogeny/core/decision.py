"""When seeds decide, and at what risk of deciding wrongly.

A claim declares the least and the most seeds that it is judged from. It is judged after the least,
and again each time their number has doubled, until it is decided or the most is reached. Each of
these stops has a part of the whole error to itself, so that all of them together are wrong no more
often than stated, whatever a stop depends on (a union bound). At a stop one of two tests decides:

- Of *seeds*: each seed is a trial, in which a relation holds or does not. It is supported if the
  exact interval (Clopper and Pearson's) for the fraction of seeds in which it holds is above one
  half, contradicted if it is below. No distribution is assumed: skewed, bimodal and constant
  numbers are judged as rightly as normal ones. Five seeds of five decide, four do not.
- Of the *mean*, for what is said of an average: Student's bounds on either side; for an
  equivalence both of them inside the tolerance. For numbers that are means themselves.

Errors are one-sided: whatever the truth, one of the two decisions is right, and the other is made
with a probability of at most `ERROR`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Literal

import numpy as np

from .fields import ConfigError

ERROR = 0.05  # the probability of a wrong decision, over all stops
FIRST = 0.64  # of the error, for the first stop: five seeds of five have a chance of 1/32
LATER = 2 / 3  # of what is left, for each later stop; the last one takes the rest
# of its error Student's test is done at: a mean of thirty skewed answers is not quite normal, and
# with three of them it is wrong a quarter more often than it says
CAUTION = 0.75
CONFIDENCE = 0.95  # of the intervals that are shown beside numbers

Test = Literal["seeds", "mean"]
Side = Literal["yes", "no", "open"]


@dataclass(frozen=True)
class Seeds:
    """How many seeds a claim is judged from: the least, and the most if those leave it open."""

    least: int = 5
    most: int = 20

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ConfigError(f"seeds from {self.least} to {self.most}: at least 1, and no fewer")

    @property
    def stops(self) -> tuple[int, ...]:
        """The numbers of seeds at which it is judged."""
        found, n = [], self.least
        while n < self.most:
            found.append(n)
            n *= 2
        return (*found, self.most)

    def error(self, n: int) -> float:
        """The share of the error that the stop at n seeds has."""
        left = ERROR
        for stop in self.stops:
            share = left * (FIRST if stop == self.least else LATER)
            share = left if stop == self.most else share
            if stop == n:
                return share
            left -= share
        raise ConfigError(f"{n} seeds are no stop: {self.stops} are")


@cache
def share_interval(holds: int, n: int, error: float) -> tuple[float, float]:
    """Clopper and Pearson's bounds for a fraction of which `holds` of n were seen, each exceeded
    with a probability of at most `error`."""
    # here: only judging needs scipy
    from scipy.special import betaincinv

    low = float(betaincinv(holds, n - holds + 1, error)) if holds else 0.0
    high = float(betaincinv(holds + 1, n - holds, 1 - error)) if holds < n else 1.0
    return low, high


def by_seeds(holds: Sequence[bool | None], error: float = ERROR) -> Side:
    """Whether a relation holds in most seeds; None is a seed of which that is not known."""
    n, yes, no = (
        len(holds),
        sum(each is True for each in holds),
        sum(each is False for each in holds),
    )
    if share_interval(yes, n, error)[0] > 0.5:
        return "yes"
    return "no" if share_interval(n - no, n, error)[1] < 0.5 else "open"


def by_mean(low: np.ndarray, high: np.ndarray, error: float = ERROR) -> Side:
    """Whether both of two margins are positive on average: of a relation with one side they are the
    same, of an equivalence the distances from either end of the tolerance."""
    if len(low) < 2 or min(np.ptp(low), np.ptp(high)) == 0:
        return "open"  # no spread, no interval
    error *= CAUTION
    (least, most), (other_least, other_most) = mean_bounds(low, error), mean_bounds(high, error)
    if least > 0 and other_least > 0:
        return "yes"
    return "no" if most < 0 or other_most < 0 else "open"


def mean_bounds(values: np.ndarray, error: float) -> tuple[float, float]:
    """Student's bounds for the mean, each exceeded with a probability of at most `error`."""
    n, mean = len(values), float(np.mean(values))
    half = quantile(n - 1, error) * float(np.std(values, ddof=1)) / n**0.5
    return mean - half, mean + half


@cache
def quantile(freedom: int, error: float = (1 - CONFIDENCE) / 2) -> float:
    """Student's, exceeded with this probability."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - error))


def interval(
    values: np.ndarray, possible: tuple[float, float] = (-np.inf, np.inf)
) -> tuple[float, float]:
    """Student's 95 % interval for the mean over seeds, as it is shown beside numbers; what a number
    cannot be is left out of it."""
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan"), float("nan")
    low, high = np.clip(mean_bounds(values, (1 - CONFIDENCE) / 2), *possible)
    return float(low), float(high)


@cache
def fewest() -> int:
    """The fewest seeds that decide: all of them agree, and the whole error is theirs."""
    return next(n for n in count(1) if by_seeds([True] * n, ERROR) != "open")


MANY = 1000  # seeds: more are in nobody's reach


def seeds_to_decide(holds: Sequence[bool | None]) -> int | None:
    """About how many seeds in all would decide, if further ones are like these; None if too many
    to be had."""
    n, yes = len(holds), sum(each is True for each in holds)
    share = (yes + 0.5) / (n + 1)  # never none and never all: the next seed may differ
    for more in range(n + 1, MANY + 1):
        expected = round(share * more)
        low, high = share_interval(expected, more, ERROR / 2)
        if low > 0.5 or high < 0.5:
            return more
    return None


def means_to_decide(low: np.ndarray, high: np.ndarray) -> int | None:
    """The same of what is judged by its mean: from the mean so far, and how much seeds differ."""
    for more in range(len(low) + 1, MANY + 1):
        reach = quantile(more - 1, CAUTION * ERROR / 2) / more**0.5
        bounds = [
            (float(np.mean(each)), reach * float(np.std(each, ddof=1))) for each in (low, high)
        ]
        inside = all(mean > half for mean, half in bounds)
        if inside or any(mean < -half for mean, half in bounds):
            return more
    return None
