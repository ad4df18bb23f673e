"""Numbers per seed, and the answers they give.

Student's interval over seeds decides. Comparisons between settings are paired by seed, equality is
an equivalence test, a single seed decides nothing, and a number that is not finite decides nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float

from .fields import ConfigError
from .notebook import table

CONFIDENCE = 0.95


class Outcome(StrEnum):
    """What the evidence says of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    UNTESTED = "untested"
    NOTED = "noted"  # of a piece of evidence that is reported and decides nothing


@dataclass(frozen=True)
class Evidence:
    """One sentence about our numbers, weighed, with the paper's number beside it."""

    text: str
    outcome: Outcome
    ours: float
    low: float
    high: float
    paper: float | None
    n: int
    note: str = ""
    series: str = ""  # the curve it is a point of
    x: float | None = None  # and where on it
    each: tuple[float, ...] = ()  # our number, seed by seed

    @property
    def numbers(self) -> str:
        """Our number and its interval, to be read."""
        return _with_interval(self.ours, self.low, self.high)

    def __str__(self) -> str:
        paper = "" if self.paper is None else f", paper {self.paper:g}"
        return f"{self.outcome}: {self.text} ({self.numbers}{paper}, n = {self.n})"

    def _repr_html_(self) -> str:
        paper = "" if self.paper is None else f"{self.paper:g}"
        row = (self.outcome, self.numbers, paper, self.n, self.note)
        return table(self.text, ("outcome", "ours [95 % interval]", "paper", "n", "note"), [row])


@dataclass(frozen=True)
class Measurement:
    """One number (or array) per seed; index it to reach into the array."""

    what: str
    values: Float[np.ndarray, "seed ..."]
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, index: Any) -> "Measurement":
        indices = index if isinstance(index, tuple) else (index,)
        label = ", ".join(map(str, indices))
        return Measurement(
            f"{self.what}[{label}]", self.values[(slice(None), *indices)], self.failures
        )

    def __len__(self) -> int:
        return int(self.values.shape[1])

    def __str__(self) -> str:
        return f"{self.what}: {summary(self.values)}"

    def _repr_html_(self) -> str:
        rows = [(seed, value) for seed, value in enumerate(self.values)]
        title = f"{self.what}: {summary(self.values)}"
        return table(title, ("seed", "value"), rows, (*self.failures, *self.notes))

    def magnitude(self) -> "Measurement":
        """The mean size of the array's entries, whatever their sign."""
        return self._over("mean size of", np.abs(self.values).mean)

    def mean(self) -> "Measurement":
        """The mean of the array's entries."""
        return self._over("mean", self.values.mean)

    def least(self) -> "Measurement":
        """The least of the array's entries."""
        return self._over("least", self.values.min)

    def _over(self, words: str, reduce: Callable[..., np.ndarray]) -> "Measurement":
        name, colon, what = self.what.rpartition(": ")
        axes = tuple(range(1, self.values.ndim))
        return Measurement(f"{name}{colon}{words} {what}", reduce(axis=axes), self.failures)

    def above(self, bound: float, *, paper: float | None = None) -> Evidence:
        """Is it above the bound?"""
        return self._decide(self.values - bound, f"{self.what} is above {bound:g}", paper)

    def below(self, bound: float, *, paper: float | None = None) -> Evidence:
        """Is it below the bound?"""
        return self._decide(bound - self.values, f"{self.what} is below {bound:g}", paper)

    def exceeds(
        self, other: "Measurement", *, by: float = 0.0, paper: float | None = None
    ) -> Evidence:
        """Is it larger than the other, seed by seed, by more than this?"""
        # paired by seed: what a seed makes harder for both cancels
        gap = Measurement(self.what, self.values - other.values, self.failures + other.failures)
        text = f"{self.what} exceeds {other.what}" + (f" by {by:g}" if by else "")
        return gap._decide(gap.values - by, text, paper)

    def agrees(
        self, other: "Measurement", *, within: float, paper: float | None = None
    ) -> Evidence:
        """Is it equal to the other, seed by seed, up to a tolerance?"""
        gap = Measurement(self.what, self.values - other.values, self.failures + other.failures)
        weighed = gap.near(0.0, within=within, paper=paper)
        return replace(weighed, text=f"{self.what} agrees with {other.what} ± {within:g}")

    def near(self, value: float, *, within: float, paper: float | None = None) -> Evidence:
        """Is it equal to the value, up to a tolerance? Only an interval inside decides yes."""
        # an equivalence test: a wide interval around the value is no support
        low, high = interval(self.values)
        if low > value - within and high < value + within:
            outcome = Outcome.SUPPORTED
        elif low > value + within or high < value - within:
            outcome = Outcome.CONTRADICTED
        else:
            outcome = Outcome.UNDECIDED
        return self._evidence(f"{self.what} is {value:g} ± {within:g}", outcome, paper)

    def within_factor(self, value: float, factor: float, *, paper: float | None = None) -> Evidence:
        """Is it the value, up to a factor? Means and intervals are of its logarithm."""
        # so twice and half count as equally far; back through exp, `ours` is a geometric mean
        logs = replace(self, values=_log(self.values)).near(
            float(np.log(value)), within=float(np.log(factor)), paper=paper
        )
        text = f"{self.what} is {value:g} within a factor of {factor:g}"
        ours, low, high = (float(np.exp(each)) for each in (logs.ours, logs.low, logs.high))
        each = tuple(float(np.exp(value)) for value in logs.each)
        return replace(logs, text=text, ours=ours, low=low, high=high, each=each)

    def beside(self, paper: float | None, *, series: str, x: float) -> Evidence:
        """A point of a curve, next to the paper's: reported, and decides nothing."""
        noted = self._evidence(f"{series} at {x:g}", Outcome.NOTED, paper)
        return replace(noted, outcome=Outcome.NOTED, series=series, x=x)

    def _decide(self, margin: np.ndarray, text: str, paper: float | None) -> Evidence:
        low, high = interval(margin)
        outcome = (
            Outcome.SUPPORTED
            if low > 0
            else Outcome.CONTRADICTED
            if high < 0
            else Outcome.UNDECIDED
        )
        return self._evidence(text, outcome, paper)

    def _evidence(self, text: str, outcome: Outcome, paper: float | None) -> Evidence:
        if self.values.ndim != 1:
            raise ConfigError(
                f"{self.what} has shape {self.values.shape[1:]} per seed: index it first"
            )
        n = len(self.values)
        low, high = interval(self.values)
        note = "; ".join(self.notes)
        if not np.isfinite(self.values).all():
            outcome, note = Outcome.UNDECIDED, "; ".join(self.failures) or "not a number in a seed"
        elif n < 2:
            outcome, note = Outcome.UNDECIDED, "one seed decides nothing"
        # then the interval is a point, and decides: the reader is told why it is so narrow
        elif np.ptp(self.values) == 0:
            note = "; ".join((*self.notes, f"identical in all {n} seeds"))
        each = tuple(map(float, self.values))
        ours = float(np.mean(self.values))
        return Evidence(text, outcome, ours, low, high, paper, n, note, each=each)


def falls_below(curve: Mapping[Any, Measurement], level: float) -> Measurement:
    """Where along a sweep a measurement first falls below a level, seed by seed.

    Between two points of the sweep the crossing is interpolated, on a logarithmic axis. A seed that
    never falls is counted as twice the largest, though it may be more, and a note says so.
    """
    xs = np.array(sorted(curve), float)
    rows = np.stack([curve[x].values for x in sorted(curve)], axis=1)
    found = np.array([_crossing(xs, row, level) for row in rows])
    never = int(np.isnan(found).sum())
    counted = np.where(np.isnan(found), 2 * xs[-1], found)
    run, _, what = curve[min(curve)].what.rpartition(": ")
    name = run.rpartition(" ")[0]  # what is left if the point's own name goes
    note = (f"{never} of {len(rows)} never do by {xs[-1]:g}: counted as {2 * xs[-1]:g}",)
    failures = tuple(text for each in curve.values() for text in each.failures)
    text = f"{name}{': ' if name else ''}where {what} falls below {level:g}"
    return Measurement(text, counted, failures, note if never else ())


def prediction(value: float, like: Measurement) -> Measurement:
    """A number of theory, once for each seed of a measurement."""
    return Measurement("", np.full(len(like.values), float(value)))


def exponent(points: Sequence[tuple[float, Measurement]]) -> Measurement:
    """The power with which a measurement grows along a sweep, fitted seed by seed in logarithms."""
    xs = np.log(np.array([x for x, _ in points], float))
    rows = _log(np.stack([each.values for _, each in points], axis=1))
    away = xs - xs.mean()
    slopes = rows @ away / (away @ away)
    failures = tuple(text for _, each in points for text in each.failures)
    notes = tuple(dict.fromkeys(text for _, each in points for text in each.notes))
    what = points[0][1].what.rpartition(": ")[2]
    return Measurement(f"exponent of {what}", slopes, failures, notes)


def _log(values: np.ndarray) -> np.ndarray:
    """The logarithm; not a number where there is none."""
    # not -inf: a number that is not finite leaves the evidence undecided
    return np.log(np.where(values > 0, values, np.nan))


def _crossing(xs: np.ndarray, values: np.ndarray, level: float) -> float:
    below = np.flatnonzero(values < level)
    if not len(below):
        return float("nan")
    # the first time, even if the curve rises again
    after = int(below[0])
    if after == 0:
        return float(xs[0])
    high, low = values[after - 1], values[after]
    fraction = (high - level) / (high - low)
    # on a logarithmic axis, as sweeps over sizes are spaced
    return float(np.exp((1 - fraction) * np.log(xs[after - 1]) + fraction * np.log(xs[after])))


def interval(values: np.ndarray) -> tuple[float, float]:
    """Student's interval for the mean over seeds: honest about how few there are."""
    n, mean = len(values), float(np.mean(values))
    if n < 2 or not np.isfinite(values).all():
        return float("nan"), float("nan")
    half = quantile(n - 1) * float(np.std(values, ddof=1)) / n**0.5
    return mean - half, mean + half


@cache
def quantile(freedom: int) -> float:
    """Student's, for the confidence that decides."""
    # here: only judging needs scipy
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def summary(values: np.ndarray) -> str:
    """The mean over seeds and its interval, or the shape where there is an array per seed."""
    if values.ndim > 1:
        return f"array of shape {values.shape[1:]}"
    return _with_interval(float(np.mean(values)), *interval(values))


def _with_interval(mean: float, low: float, high: float) -> str:
    return (
        f"{mean:.4g} [{low:.4g}, {high:.4g}]" if np.isfinite([low, high]).all() else f"{mean:.4g}"
    )
