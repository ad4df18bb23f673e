"""Numbers per seed, and what one may ask of them: each question yields a piece of evidence.

A number of which only a bound is known (a level that was never reached, a curve below it from its
first point on) has a range, and what does not follow from the range is not decided.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from .decision import interval
from .evidence import Evidence, Relation, Reported
from .fields import ConfigError
from .notebook import table
from .quantity import ANYTHING, SIZE, Quantity, Range
from .words import counted, with_interval

Values = Float[np.ndarray, "seed ..."]


@dataclass(frozen=True, repr=False)
class Measurement:
    """One number (or array) per seed; index it to reach into the array."""

    quantity: Quantity
    values: Values
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    # where less is known than a number: what it is at least, and at most
    least_values: Values | None = field(default=None, repr=False)
    most_values: Values | None = field(default=None, repr=False)
    averaged: bool = False
    theory: bool = False  # predicted, not measured

    @classmethod
    def of(cls, name: str, values: Any, **fields: Any) -> "Measurement":
        """Numbers under a name of one's own."""
        return cls(Quantity(name), np.asarray(values, float), **fields)

    @property
    def at_least(self) -> Values:
        """What each number is at least."""
        return self.values if self.least_values is None else self.least_values

    @property
    def at_most(self) -> Values:
        """What each number is at most."""
        return self.values if self.most_values is None else self.most_values

    def __getitem__(self, index: Any) -> "Measurement":
        indices = index if isinstance(index, tuple) else (index,)
        quantity = replace(self.quantity, index=(*self.quantity.index, *indices))
        return self._with(quantity, lambda values: values[(slice(None), *indices)])

    def __len__(self) -> int:
        return int(self.values.shape[1])

    def __str__(self) -> str:
        return f"{self.quantity}: {summary(self.values, self.quantity.range)}"

    def __repr__(self) -> str:
        return f"Measurement({self}, {counted(len(self.values), 'seed')})"

    def _repr_html_(self) -> str:
        rows = [(seed, value) for seed, value in enumerate(self.values)]
        return table(str(self), ("seed", "value"), rows, (*self.failures, *self.notes))

    # ------------------------------------------------------------------- from numbers to numbers

    def magnitude(self) -> "Measurement":
        """The mean size of the array's entries, whatever their sign."""
        sizes = self._over("mean size of", lambda values: np.abs(values).mean(axis=_within(values)))
        # without a unit; one that there is decides how near to a paper's number is near
        unit = self.quantity.unit or SIZE
        return replace(sizes, quantity=replace(sizes.quantity, unit=unit))

    def mean(self) -> "Measurement":
        """The mean of the array's entries."""
        return self._over("mean of", lambda values: values.mean(axis=_within(values)))

    def least(self) -> "Measurement":
        """The least of the array's entries."""
        return self._over("least", lambda values: values.min(axis=_within(values)))

    def most(self) -> "Measurement":
        """The largest of the array's entries."""
        return self._over("largest", lambda values: values.max(axis=_within(values)))

    def named(self, name: str, unit: str = "") -> "Measurement":
        """The same numbers under another name, of the same run."""
        return replace(self, quantity=Quantity(name, self.quantity.run, unit=unit))

    def of_run(self, run: str) -> "Measurement":
        """The same numbers, of a run by this name."""
        return replace(self, quantity=replace(self.quantity, run=run))

    def map(self, function: Callable[[Values], Values], name: str, unit: str = "") -> "Measurement":
        """A function of the numbers, which rises with each of them, under a name of its own."""
        return self._with(Quantity(name, self.quantity.run, unit=unit), function)

    def on_average(self) -> "Measurement":
        """To be judged by its mean over seeds: what holds on average, not in most seeds."""
        return replace(self, averaged=True)

    def __add__(self, other: "Measurement") -> "Measurement":
        least, most = self.at_least + other.at_least, self.at_most + other.at_most
        return self._joined("+", other, self.values + other.values, least, most)

    def __sub__(self, other: "Measurement") -> "Measurement":
        with np.errstate(invalid="ignore"):  # of two that are only known to be large
            least, most = self.at_least - other.at_most, self.at_most - other.at_least
        return self._joined("−", other, self.values - other.values, least, most)

    def __truediv__(self, other: "Measurement") -> "Measurement":
        # nothing over nothing is not a number, and decides nothing
        with np.errstate(divide="ignore", invalid="ignore"):
            least, most = self.at_least / other.at_most, self.at_most / other.at_least
            return self._joined("/", other, self.values / other.values, least, most)

    def _joined(
        self, sign: str, other: "Measurement", values: Values, least: Values, most: Values
    ) -> "Measurement":
        known = self.least_values is None and other.least_values is None
        return Measurement(
            self.quantity.with_(sign, other.quantity),
            values,
            tuple(dict.fromkeys(self.failures + other.failures)),
            tuple(dict.fromkeys(self.notes + other.notes)),
            None if known else least,
            None if known else most,
            self.averaged or other.averaged,
        )

    def _over(self, words: str, reduce: Callable[[Values], Values]) -> "Measurement":
        return self._with(self.quantity.reduced(words), reduce)

    def _with(self, quantity: Quantity, change: Callable[[Values], Values]) -> "Measurement":
        least, most = self.least_values, self.most_values
        return replace(
            self,
            quantity=quantity,
            values=change(self.values),
            least_values=None if least is None else change(least),
            most_values=None if most is None else change(most),
        )

    # ------------------------------------------------------------------ from numbers to evidence

    def above(self, bound: float, *, paper: float | Reported | None = None) -> Evidence:
        """Is it above the bound?"""
        holds = surely(self.at_least > bound, self.at_most > bound)
        return self.evidence(Relation.ABOVE, holds, paper, bound=bound)

    def below(self, bound: float, *, paper: float | Reported | None = None) -> Evidence:
        """Is it below the bound?"""
        holds = surely(self.at_most < bound, self.at_least < bound)
        return self.evidence(Relation.BELOW, holds, paper, bound=bound)

    def exceeds(
        self, other: "Measurement", *, by: float = 0.0, paper: float | Reported | None = None
    ) -> Evidence:
        """Is it larger than the other, seed by seed, by more than this?"""
        # paired by seed: what a seed makes harder for both cancels
        gap = self - other
        holds = surely(gap.at_least > by, ~(gap.at_most <= by))
        return self.evidence(Relation.EXCEEDS, holds, paper, other, bound=by)

    def near(
        self, value: float, *, within: float, paper: float | Reported | None = None
    ) -> Evidence:
        """Is it equal to the value, up to a tolerance?"""
        holds = _inside(self.at_least, self.at_most, value - within, value + within)
        paper = _reported(paper, within=within)
        return self.evidence(Relation.NEAR, holds, paper, bound=value, tolerance=within)

    def agrees(
        self, other: "Measurement", *, within: float, paper: float | Reported | None = None
    ) -> Evidence:
        """Is it equal to the other, seed by seed, up to a tolerance?"""
        gap = self - other
        holds = _inside(gap.at_least, gap.at_most, -within, within)
        paper = _reported(paper, within=within)
        return self.evidence(Relation.AGREES, holds, paper, other, tolerance=within)

    def within_factor(
        self,
        of: "float | Measurement",
        factor: float,
        *,
        paper: float | Reported | None = None,
    ) -> Evidence:
        """Is it the value, or the other seed by seed, up to a factor? Means are geometric."""
        other = of if isinstance(of, Measurement) else None
        least, most = (of, of) if other is None else (other.at_least, other.at_most)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = self.at_least / most, self.at_most / least
        holds = _inside(low, high, 1 / factor, factor)
        bound = None if isinstance(of, Measurement) else of
        paper, relation = _reported(paper, factor=factor), Relation.WITHIN_FACTOR
        return self.evidence(relation, holds, paper, other, bound=bound, tolerance=factor)

    def reported(
        self,
        value: float,
        *,
        within: float | None = None,
        factor: float | None = None,
        fitted: str = "",
    ) -> Evidence:
        """A number of the paper's beside ours, which decides nothing of the finding."""
        paper = Reported(value, within, factor, fitted)
        return self.evidence(Relation.REPORTED, (), paper)

    def beside(self, paper: float | Reported | None, *, series: str, x: float) -> Evidence:
        """A point of a curve, next to the paper's: reported, and decides nothing."""
        point = self.evidence(Relation.POINT, (), paper)
        return replace(point, series=series, x=float(x), theory=self.theory)

    def evidence(
        self,
        relation: Relation,
        holds: Sequence[bool | None],
        paper: float | Reported | None,
        other: "Measurement | None" = None,
        **fields: Any,
    ) -> Evidence:
        """What is said of it, seed by seed, as a piece of evidence."""
        both = (self,) if other is None else (self, other)
        for each in both:
            if each.values.ndim != 1:
                shape = each.values.shape[1:]
                raise ConfigError(f"{each.quantity} has shape {shape} per seed: index it first")
        return Evidence(
            self.quantity,
            relation,
            tuple(map(float, self.values)),
            tuple(holds),
            other=None if other is None else other.quantity,
            others=() if other is None else tuple(map(float, other.values)),
            tested="mean" if any(each.averaged for each in both) else "seeds",
            reported=_reported(paper),
            failures=tuple(dict.fromkeys(text for each in both for text in each.failures)),
            notes=tuple(dict.fromkeys(text for each in both for text in each.notes)),
            bounded=any(each.least_values is not None for each in both),
            **fields,
        )


def _reported(
    paper: float | Reported | None, within: float | None = None, factor: float | None = None
) -> Reported | None:
    """A paper's number; as near as the sentence says, where it says so."""
    if isinstance(paper, float | int):
        return Reported(float(paper), within, factor)
    return paper


def _within(values: Values) -> tuple[int, ...]:
    return tuple(range(1, values.ndim))


def surely(always: np.ndarray, ever: np.ndarray) -> tuple[bool | None, ...]:
    """Seed by seed: yes if it holds all over what a number may be, no if nowhere, else unknown."""
    pairs = zip(always.ravel(), ever.ravel(), strict=True)
    return tuple(True if yes else None if maybe else False for yes, maybe in pairs)


def _inside(
    least: np.ndarray, most: np.ndarray, low: float, high: float
) -> tuple[bool | None, ...]:
    """Whether what a number may be is inside a range, or may be."""
    with np.errstate(invalid="ignore"):
        # nan: nothing is known of it
        return surely((least > low) & (most < high), ~((most <= low) | (least >= high)))


def summary(values: np.ndarray, possible: Range = ANYTHING) -> str:
    """The mean over seeds and its interval, or the shape where there is an array per seed."""
    if values.ndim > 1:
        return f"array of shape {values.shape[1:]}"
    return with_interval(float(np.mean(values)), *interval(values, possible))
