"""Evidence as data: what was measured, what is said of it, our numbers seed by seed, the paper's.

What decides is in `decision`, the words for it are in `words`. A piece of evidence says two things
apart from one another: whether the relation holds (the *finding*), and, where the paper reports a
number, whether ours agrees with it (the *number*).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from . import decision, words
from .notebook import table
from .quantity import ABSOLUTE, Quantity, Range, combined


class Outcome(StrEnum):
    """What the evidence says of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    DEPENDS = "depends"  # on a setting that the paper leaves open: there is a map
    UNDECIDED = "undecided"
    UNTESTED = "untested"
    NOTED = "noted"  # of a piece of evidence that is reported and decides nothing


class Relation(StrEnum):
    """What is said of a quantity."""

    ABOVE = "above"
    BELOW = "below"
    EXCEEDS = "exceeds"  # the other quantity, by more than the bound
    NEAR = "near"  # the bound, up to the tolerance
    AGREES = "agrees"  # with the other quantity, up to the tolerance
    WITHIN_FACTOR = "within factor"  # of the bound or the other; the tolerance is the factor
    RISES = "rises"  # from each point of a sweep to the next
    FALLS = "falls"
    REPORTED = "reported"  # nothing: it stands beside the paper's number
    POINT = "point"  # nothing: it is a point of a curve


class Agreement(StrEnum):
    """Whether our number is the paper's, up to the tolerance."""

    AGREES = "agrees"  # the whole interval is inside
    DIFFERS = "differs"  # all of it is outside
    OPEN = "open"
    FITTED = "fitted"  # a setting was chosen for this number: to agree says nothing


@dataclass(frozen=True)
class Reported:
    """A number that a paper reports, and how near to it is near: fractions, cosines and losses
    within 0.05 and all else within a factor of 1.5, unless said otherwise."""

    value: float
    within: float | None = None
    factor: float | None = None
    fitted: str = ""  # which setting was chosen by looking at this number

    def range(self, unit: str) -> tuple[float, float]:
        """What agrees with it, for a quantity measured in this."""
        if self.factor is None and (self.within is not None or unit in ABSOLUTE or not self.value):
            within = WITHIN if self.within is None else self.within
            return self.value - within, self.value + within
        factor = FACTOR if self.factor is None else self.factor
        ends = self.value / factor, self.value * factor
        return min(ends), max(ends)


WITHIN, FACTOR = 0.05, 1.5
DECIDES = {"yes": Outcome.SUPPORTED, "no": Outcome.CONTRADICTED, "open": Outcome.UNDECIDED}
NOTHING = (Relation.REPORTED, Relation.POINT)


@dataclass(frozen=True, repr=False)
class Evidence:
    """What our numbers say of a quantity, with the paper's number beside them."""

    quantity: Quantity
    relation: Relation
    each: tuple[float, ...]  # our number, seed by seed
    holds: tuple[bool | None, ...] = ()  # the relation, seed by seed; None is not known
    other: Quantity | None = None
    others: tuple[float, ...] = ()  # its number, seed by seed
    bound: float | None = None
    tolerance: float | None = None
    along: tuple[tuple[str, float], ...] = ()  # the points of a sweep, with their means
    tested: decision.Test = "seeds"
    # the numbers of seeds at which it was judged, each with its share of the error; () is now
    stops: tuple[tuple[int, float], ...] = ()
    exact: str = ""  # why one seed is all there is to see
    reported: Reported | None = None
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    bounded: bool = False  # whether of some number only a bound is known
    series: str = ""  # the curve it is a point of
    x: float | None = None  # and where on it
    theory: bool = False  # whether it is predicted, not measured

    # ------------------------------------------------------------------------------- the finding

    @cached_property
    def outcome(self) -> Outcome:
        """Whether the relation holds."""
        if self.relation in NOTHING:
            return Outcome.NOTED
        if not self.finite or (len(self.each) < 2 and not self.exact):
            return Outcome.UNDECIDED
        if self.exact:
            return Outcome.SUPPORTED if all(self.holds) else Outcome.CONTRADICTED
        # what was decided at one stop stays decided: there it might have ended
        sides = (self._decided(n, error) for n, error in self.stops or ((self.n, decision.ERROR),))
        return DECIDES[next((side for side in sides if side != "open"), "open")]

    def _decided(self, n: int, error: float) -> decision.Side:
        """What the first n seeds say."""
        if self.tested == "seeds":
            return decision.by_seeds(self.holds[:n], error)
        low, high = self._margins
        return "open" if self.bounded else decision.by_mean(low[:n], high[:n], error)

    @property
    def seeds_to_decide(self) -> int | None:
        """About how many seeds in all would decide it; None if too many to be had."""
        if self.tested == "seeds" or self.bounded:
            return decision.seeds_to_decide(self.holds)
        return decision.means_to_decide(*self._margins)

    @property
    def decides(self) -> bool:
        """Whether the finding rests on it."""
        return self.relation not in NOTHING

    @property
    def finite(self) -> bool:
        """Whether every number is one."""
        return bool(np.isfinite(self.each).all() and np.isfinite(self.others).all())

    @property
    def held(self) -> int:
        """In how many seeds the relation holds."""
        return sum(each is True for each in self.holds)

    @property
    def n(self) -> int:
        """How many seeds there are."""
        return len(self.each)

    @property
    def _margins(self) -> tuple[np.ndarray, np.ndarray]:
        """How far each seed is from either end of what is allowed."""
        bound, tolerance = self.bound or 0.0, self.tolerance or 0.0
        numbers = self.compared
        match self.relation:
            case Relation.ABOVE | Relation.EXCEEDS:
                return numbers - bound, numbers - bound
            case Relation.BELOW:
                return bound - numbers, bound - numbers
            case Relation.NEAR:
                return numbers - bound + tolerance, bound + tolerance - numbers
            case Relation.AGREES:
                return numbers + tolerance, tolerance - numbers
            case Relation.WITHIN_FACTOR:
                logs = np.log(numbers) - (0.0 if self.other else np.log(bound))
                return logs + np.log(tolerance), np.log(tolerance) - logs
        return numbers, numbers  # the least step of a monotone sweep

    # -------------------------------------------------------------------------------- the numbers

    @property
    def ratio(self) -> bool:
        """Whether it is a ratio that is compared."""
        return self.relation == Relation.WITHIN_FACTOR

    @cached_property
    def compared(self) -> np.ndarray:
        """What is compared, seed by seed: our number, or its difference from the other's, or its
        ratio."""
        ours, others = np.array(self.each), np.array(self.others)
        if self.other is None:
            return ours
        with np.errstate(divide="ignore", invalid="ignore"):
            found: np.ndarray = ours / others if self.ratio else ours - others
        return found

    @property
    def ours(self) -> float:
        """The mean over seeds of what is compared: a geometric one if that is a ratio."""
        return float(self._back(np.mean(self._scaled)))

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""
        return self._end(0)

    @property
    def high(self) -> float:
        """The upper end."""
        return self._end(1)

    def _end(self, side: int) -> float:
        if self.ratio:  # of logarithms: it stays above zero by itself
            return float(self._back(decision.interval(self._scaled)[side]))
        return decision.interval(self.compared, self._possible)[side]

    @property
    def _possible(self) -> Range:
        """What that which is compared can be; the least step of a sweep is a difference."""
        ours = self.quantity.range
        if self.relation in (Relation.RISES, Relation.FALLS):
            return combined("−", ours, ours)
        return ours if self.other is None else combined("−", ours, self.other.range)

    @property
    def _scaled(self) -> np.ndarray:
        if not self.ratio:
            return self.compared
        with np.errstate(divide="ignore", invalid="ignore"):
            logs: np.ndarray = np.log(self.compared)
        return logs

    def _back(self, value: Any) -> Any:
        return np.exp(value) if self.ratio else value

    @property
    def paper(self) -> float | None:
        """The paper's number, if it has one."""
        return None if self.reported is None else self.reported.value

    @property
    def agreement(self) -> Agreement | None:
        """Whether it is the paper's number; None if the paper has none."""
        if self.reported is None:
            return None
        if self.reported.fitted:
            return Agreement.FITTED
        least, most = self.reported.range(self.quantity.unit)
        low, high = (self.ours, self.ours) if self.exact else (self.low, self.high)
        if self.bounded or not np.isfinite([low, high]).all():
            return Agreement.OPEN
        if least <= low and high <= most:
            return Agreement.AGREES
        return Agreement.DIFFERS if high < least or low > most else Agreement.OPEN

    # ---------------------------------------------------------------------- in words, and as JSON

    @property
    def text(self) -> str:
        """What is said."""
        return words.sentence(self)

    @property
    def note(self) -> str:
        """What a reader has to know besides."""
        if not self.finite:
            return "; ".join(self.failures) or "not a number in a seed"
        if self.n < 2 and not self.exact and self.decides:
            return "one seed decides nothing"
        return "; ".join(self.notes)

    def __str__(self) -> str:
        paper = "" if self.paper is None else f", paper {self.paper:g}"
        return f"{self.outcome}: {self.text} ({words.value(self)}{paper}, n = {self.n})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        row = (self.outcome, words.value(self), words.held(self), words.paper(self), self.note)
        return table(self.text, words.HEADER, [row])

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data, with what follows from it."""
        data = asdict(self)
        data["outcome"], data["text"], data["note"] = str(self.outcome), self.text, self.note
        data |= {"ours": self.ours, "low": self.low, "high": self.high, "n": self.n}
        data["paper"] = self.paper
        data["agreement"] = None if self.agreement is None else str(self.agreement)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Evidence":
        """From what `as_json` gives; what follows from it follows again."""
        return cls(
            quantity=Quantity.from_json(data["quantity"]),
            relation=Relation(data["relation"]),
            each=_numbers(data["each"]),
            holds=tuple(data["holds"]),
            other=Quantity.from_json(data["other"]) if data["other"] else None,
            others=_numbers(data["others"]),
            along=tuple((str(x), float(mean)) for x, mean in data["along"]),
            reported=Reported(**data["reported"]) if data["reported"] else None,
            stops=tuple((int(n), float(error)) for n, error in data["stops"]),
            failures=tuple(data["failures"]),
            notes=tuple(data["notes"]),
            **{name: data[name] for name in _PLAIN},
        )

    def judged(self, stops: tuple[tuple[int, float], ...], exact: str = "") -> "Evidence":
        """The same, decided at these stops, or known to be exact."""
        return replace(self, stops=stops, exact=exact)


_PLAIN = ("bound", "tolerance", "tested", "exact", "bounded", "series", "x", "theory")


def _numbers(values: Any) -> tuple[float, ...]:
    """JSON has no NaN: a number that is none is null there."""
    return tuple(float("nan") if value is None else float(value) for value in values)
