"""Regions: the settings that a paper leaves open and what is plausible for each, declared before a
map is run; and designs, which spread cells over a region."""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.external import AnyExperiment
from ..core.fields import ConfigError
from .changes import parse_change, places

SpacedBy = Literal["linear", "log", "times"]
DIGITS = 3  # of a value: a cell can be typed again
STRATUM = 4  # cells that share the settings that are no floats, and so a program


@dataclass(frozen=True)
class Between:
    """A number that may be anything from `low` to `high`: on a linear or a logarithmic scale, or
    `times` what stands in the claim."""

    path: str
    low: float
    high: float
    why: str = ""  # why this range is plausible
    spaced: SpacedBy = "linear"

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ConfigError(f"{self.path}: from {self.low:g} to {self.high:g} is no range")
        if self.spaced != "linear" and self.low <= 0:
            raise ConfigError(f"{self.path}: a {self.spaced} range begins above 0")

    def typed(self, share: float) -> str:
        """The value so far along the range, as `--set` takes it."""
        if self.spaced == "linear":
            value = self.low + share * (self.high - self.low)
        else:
            value = self.low * (self.high / self.low) ** share
        return f"{'x' * (self.spaced == 'times')}{float(f'{value:.{DIGITS}g}'):g}"

    def share(self, typed: str) -> float:
        """How far along the range a value is: beyond 0 or 1 if it is outside, not a number if it is
        none."""
        if not typed:
            return math.nan
        value = float(typed.removeprefix("x"))
        if self.spaced == "linear":
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return -math.inf
        return math.log(value / self.low) / math.log(self.high / self.low)

    def __str__(self) -> str:
        words = {"linear": "", "log": ", log-spaced", "times": " times what stands there"}
        return f"{self.path} from {self.low:g} to {self.high:g}{words[self.spaced]}"


@dataclass(frozen=True, init=False)
class OneOf:
    """A choice among values; of a number perhaps `x2`, twice what stands in the claim."""

    path: str
    values: tuple[str, ...]
    why: str = ""

    def __init__(self, path: str, *values: Any, why: str = "") -> None:
        if len(set(map(str, values))) < max(2, len(values)):
            raise ConfigError(f"{path}: a choice is among two or more values that differ")
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "values", tuple(map(_text, values)))
        object.__setattr__(self, "why", why)

    def typed(self, share: float) -> str:
        """The value that has this share of the range to itself and its like."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def share(self, typed: str) -> float:
        """The middle of a value's share; not a number for a value that is none of these."""
        if typed not in self.values:
            return math.nan
        return (self.values.index(typed) + 0.5) / len(self.values)

    def __str__(self) -> str:
        return f"{self.path}: {', '.join(self.values)}"


Setting = Between | OneOf


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Fit:
    """When a run has fitted its training data: a probe ends above or below a level."""

    probe: str
    above: float | None = None
    below: float | None = None
    of: str = ""  # the argument of the claim whose runs must; all that have the probe

    def trained(self, values: np.ndarray) -> bool:
        """Whether most seeds have fitted it; of a probe that answers with many numbers, on average
        over them."""
        values = values.reshape(len(values), -1).mean(axis=1)
        low = -math.inf if self.above is None else self.above
        high = math.inf if self.below is None else self.below
        return float(np.mean((values > low) & (values < high))) > 0.5

    def __str__(self) -> str:
        side = f"above {self.above:g}" if self.above is not None else f"below {self.below:g}"
        return f"{self.probe}{f' of {self.of}' * bool(self.of)} ends {side}"


@dataclass(frozen=True)
class Predicted:
    """A boundary that theory predicts: the claim holds where `margin` of a cell's experiments is
    positive."""

    says: str
    margin: Callable[[Mapping[str, Any]], float] | None  # None of a map that was read from a file


class Theory(NamedTuple):
    """Theory's margin over two settings, the others as claimed: positive where it has the finding
    hold. Rows go up, columns across; both ranges from end to end."""

    across: str
    up: str
    margin: list[list[float | None]]


@dataclass(frozen=True)
class Region:
    """What a paper leaves open, and when a run in it counts as trained."""

    settings: tuple[Setting, ...]
    trained: tuple[Fit, ...] = ()
    theory: Predicted | None = None

    def __post_init__(self) -> None:
        paths = [setting.path for setting in self.settings]
        if len(set(paths)) < len(paths):
            raise ConfigError(f"a region has each setting once: {', '.join(paths)}")

    def __str__(self) -> str:
        parts = [*map(str, self.settings), *map(str, self.trained)]
        return "; ".join(parts + ([self.theory.says] if self.theory else []))

    def as_json(self) -> dict[str, Any]:
        """The region as plain data."""
        return {
            "settings": [asdict(each) for each in self.settings],
            "trained": [asdict(each) for each in self.trained],
            "theory": self.theory.says if self.theory else "",
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Region":
        """The region again; of theory what it says, for its rule is code."""
        theory = Predicted(data["theory"], None) if data["theory"] else None
        fits = tuple(Fit(**each) for each in data["trained"])
        return cls(tuple(map(_setting, data["settings"])), fits, theory)


def _setting(data: Mapping[str, Any]) -> Setting:
    if "values" in data:
        return OneOf(data["path"], *data["values"], why=data["why"])
    return Between(**data)


def parse_setting(text: str) -> Setting:
    """Reads `PATH=LOW..HIGH`, `PATH=LOW..HIGH:log`, `PATH=xLOW..xHIGH` or `PATH=a,b,c`."""
    change = parse_change(text)  # whatever is wrong with its form
    path, value = change.path, change.value
    number = r"x?[-+]?\d[\d.]*(?:[eE][-+]?\d+)?"
    if ends := re.fullmatch(rf"({number})\.\.({number})(:log|:linear)?", value):
        low, high, spaced = ends.groups()
        times = low.startswith("x"), high.startswith("x")
        if any(times) and (not all(times) or spaced):
            raise ConfigError(f"{text!r}: both ends are factors (x0.5..x2), or neither is")
        kind: SpacedBy = "times" if all(times) else "log" if spaced == ":log" else "linear"
        least, most = (float(end.removeprefix("x")) for end in (low, high))
        return Between(path, least, most, spaced=kind)
    if ".." in value or "," not in value:
        raise ConfigError(f"{text!r} is not PATH=LOW..HIGH (or :log after it), or PATH=a,b,c")
    return OneOf(path, *(each.strip() for each in value.split(",")))


class Point(NamedTuple):
    """A cell of a design: how far along each setting's range it is, and what to type for it."""

    shares: tuple[float, ...]
    typed: tuple[str, ...]


def design(settings: Sequence[Setting], cells: int) -> list[Point]:
    """Cells that fill a region evenly: a scrambled Sobol sequence for the numbers; choices, each
    combination of which is a program of its own, by a Latin hypercube of a few combinations.

    It is the same for the same settings, so that claims with one experiment share their cells.
    """
    from scipy.stats import qmc

    numbers = [n for n, each in enumerate(settings) if isinstance(each, Between)]
    choices = [n for n, each in enumerate(settings) if isinstance(each, OneOf)]
    combinations = _combinations([len(settings[n].values) for n in choices], cells, qmc)  # type: ignore[union-attr]
    if not numbers:
        cells = min(cells, len(combinations))
    shares = np.zeros((cells, len(settings)))
    if numbers:
        with warnings.catch_warnings():
            # a number of cells that is no power of two: the sequence is then less balanced
            warnings.simplefilter("ignore", UserWarning)
            shares[:, numbers] = qmc.Sobol(len(numbers), seed=_chance()).random(cells)
    # in blocks: neighbours of a Sobol sequence fill the whole range of every number
    which = np.arange(cells) * len(combinations) // cells
    shares[:, choices] = combinations[which]
    return [_point(settings, row) for row in shares]


def point_of(settings: Sequence[Setting], typed: Sequence[str]) -> Point:
    """The point with these values."""
    shares = (each.share(value) for each, value in zip(settings, typed, strict=True))
    return Point(tuple(shares), tuple(typed))


def _point(settings: Sequence[Setting], shares: np.ndarray) -> Point:
    typed = tuple(each.typed(float(s)) for each, s in zip(settings, shares, strict=True))
    return point_of(settings, typed)  # where the rounded values are


def _combinations(sizes: Sequence[int], cells: int, qmc: Any) -> np.ndarray:
    """Shares of the choices, a row for each combination: all of them, or as many as cells can be
    cut into strata, every value of every choice about equally often."""
    every = math.prod(sizes)
    few = max(1, cells // STRATUM)
    if not sizes:
        return np.zeros((1, 0))
    if every <= max(few, min(cells, max(sizes))):
        grids = np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")
        picked = np.stack([grid.ravel() for grid in grids], axis=1)
    else:
        drawn = qmc.LatinHypercube(len(sizes), seed=_chance()).random(max(few, *sizes))
        picked = np.unique((drawn * np.array(sizes)).astype(int), axis=0)
    # in a mixed order: the first of them, which is all that a short map runs, are no corner
    middles: np.ndarray = (_chance().permutation(picked) + 0.5) / np.array(sizes)
    return middles


def _chance() -> np.random.Generator:
    return np.random.default_rng(2024)


def named_settings(region: Region, experiments: Mapping[str, AnyExperiment]) -> tuple[Setting, ...]:
    """Those settings of a region that a claim's experiments have."""
    return tuple(each for each in region.settings if places(experiments, each.path))
