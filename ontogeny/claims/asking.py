"""Claims from Python: judged, swept and listed as the commands do, with objects for an answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, overload

from ..core import words
from ..core.fields import ConfigError, did_you_mean
from ..core.notebook import frame, table
from ..engine.display import shown
from ..engine.execute import execute, recall
from ..engine.schedule import Pool, Progress
from ..engine.store import Store, usual_folder
from . import sweep as sweeping
from . import verdict as judging
from .changes import parse_change
from .claim import Claim
from .find import find, find_one
from .maps import Map
from .region import parse_setting
from .scale import Scale, scale_of
from .status import remember, remember_map, standing_of, status, with_maps
from .survey import CELLS, SEEDS, region_of, survey
from .sweep import Sweep
from .verdict import Verdict

Asked: TypeAlias = str | Claim | Callable[..., Any]  # a name, part of one, a paper, a file; itself
Place: TypeAlias = Store | str | Path | None
Row = TypeVar("Row")


class _Rows(Sequence[Row], ABC):
    """Records by number, or by the name of a claim or an unambiguous part of it."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, which: int | str) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[Row]: ...
    def __getitem__(self, which: int | str | slice) -> Row | Sequence[Row]:
        if not isinstance(which, str):
            return self._rows[which]
        names = [self._name(row) for row in self._rows]
        found = [which] if which in names else [name for name in names if which in name]
        if len(found) != 1:
            several = f"could be any of {', '.join(found)}" if found else did_you_mean(which, names)
            raise KeyError(f"{which!r}: {several}")
        return self._rows[names.index(found[0])]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return "\n".join(str(row) for row in self._rows) or f"no {type(self).__name__.lower()}"

    @abstractmethod
    def _name(self, row: Row) -> str:
        """The name that a record goes by."""


class Verdicts(_Rows[Verdict]):
    """Verdicts on claims, in the order in which these were asked for."""

    def to_frame(self) -> Any:
        """A pandas data frame: a row per claim."""
        return frame(
            {
                "claim": each.claim.name,
                "outcome": str(each.outcome),
                "scale": str(each.scale),
                "seeds": each.seeds,
                "seconds": each.seconds,
            }
            | {str(kind): number for kind, number in each.numbers.items()}
            for each in self
        )

    def _name(self, row: Verdict) -> str:
        return row.claim.name

    def _repr_html_(self) -> str:
        if len(self) == 1:
            return self[0]._repr_html_()
        rows = [(words.verdict(v.as_json()), v.claim.name, v.claim.says, v.seeds) for v in self]
        return table(f"{len(self)} verdicts", ("outcome", "claim", "says", "seeds"), rows)


@dataclass(frozen=True)
class Listed:
    """A claim, and the last verdict on it that a store has."""

    claim: Claim
    outcome: str  # empty if it was never judged
    scale: str = ""
    stale: bool = False  # whether the claim or its code has changed since

    @property
    def name(self) -> str:
        """The claim's."""
        return self.claim.name

    @property
    def standing(self) -> str:
        """One word for what is known of it: an outcome, that it is stale, or that it has none."""
        return standing_of({"stale": self.stale, "outcome": self.outcome})

    def __str__(self) -> str:
        return f"{self.standing:12} {self.name}"


class Listing(_Rows[Listed]):
    """Claims with what is known of them."""

    def to_frame(self) -> Any:
        """A pandas data frame: a row per claim."""
        return frame(
            {
                "claim": each.name,
                "says": each.claim.says,
                "paper": each.claim.paper.key,
                "where": each.claim.where,
                "headline": each.claim.headline,
                "outcome": each.outcome,
                "scale": each.scale,
                "stale": each.stale,
            }
            for each in self
        )

    def _name(self, row: Listed) -> str:
        return row.name

    def _repr_html_(self) -> str:
        rows = [(each.standing, each.name, each.claim.says, each.claim.paper.key) for each in self]
        return table(f"{len(self)} claims", ("last verdict", "claim", "says", "paper"), rows)


def judge(
    claims: Asked | Sequence[Asked] | None = None,
    *,
    scale: str | Scale = Scale.LAPTOP,
    seeds: int | None = None,
    workers: int = 0,
    on: Pool | None = None,
    store: Place = None,
    progress: Progress | bool | None = None,
) -> Verdicts:
    """Runs the experiments of claims and returns a verdict on each, as `ontogeny judge` does:
    without a name, on the headline claim of each paper.

    Claims are named as on the command line (a name, a part of one, a paper, `FILE.py:claim`), or
    given themselves. Runs and verdicts are kept in the store: by default the one of the command
    line, `$ONTOGENY_STORE` or `.ontogeny`. With `workers=0` all happens in this process.
    """
    found = find([]) if claims is None else _found(claims)
    size, kept = scale_of(scale), _kept(store)
    with shown(progress, kept) as watch:
        runner = partial(execute, workers=workers, on=on, store=kept, progress=watch)
        verdicts = judging.judge(found, runner, size, seeds, partial(recall, store=kept))
    for each in verdicts:
        remember(kept, each)
    return Verdicts(with_maps(verdicts, kept))


def sweep(
    claim: Asked,
    sweeps: Mapping[str, Sequence[Any]] | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    scale: str | Scale = Scale.LAPTOP,
    seeds: int | None = None,
    workers: int = 0,
    on: Pool | None = None,
    store: Place = None,
    progress: Progress | bool | None = None,
) -> Sweep:
    """Judges a claim at every point of one or two sweeps, with settings changed, as `ontogeny
    sweep` does: `sweep("attention_stays_balanced", {"task.ratio": [1, 2, 4]})`."""
    (chosen,), size, kept = _found(claim, one=True), scale_of(scale), _kept(store)
    changed = [parse_change(f"{path}={_text(x)}") for path, x in (changes or {}).items()]
    grid = sweeping.parse_sweeps(
        f"{path}={','.join(_text(x) for x in values)}" for path, values in (sweeps or {}).items()
    )
    with shown(progress, kept) as watch:
        runner = partial(execute, workers=workers, on=on, store=kept, progress=watch)
        found = sweeping.sweep(chosen, runner, changed, grid, size, seeds)
    if grid:
        sweeping.remember(kept, found, changed, size)
    return found


def map(
    claim: Asked,
    *,
    cells: int = CELLS,
    over: Mapping[str, str] | None = None,
    scale: str | Scale = Scale.LAPTOP,
    seeds: int = SEEDS,
    workers: int = 0,
    on: Pool | None = None,
    store: Place = None,
    progress: Progress | bool | None = None,
) -> Map:
    """Judges a claim in cells all over the settings that its paper leaves open, as `ontogeny map`
    does; or over a region of your own: `over={"model.width": "64,128", "task.ratio": "1..8:log"}`.
    """
    (chosen,), size, kept = _found(claim, one=True), scale_of(scale), _kept(store)
    own = [parse_setting(f"{path}={values}") for path, values in (over or {}).items()]
    region = region_of(chosen, own)
    with shown(progress, kept) as watch:
        runner = partial(execute, workers=workers, on=on, store=kept, progress=watch)
        found = survey(chosen, runner, region, size, cells, seeds, partial(recall, store=kept))
    if not own:
        remember_map(kept, found)
    return found


def list(
    claims: Asked | Sequence[Asked] = "all",
    *,
    scale: str | Scale | None = None,
    store: Place = None,
) -> Listing:
    """The claims, each with the last verdict on it that the store has, as `ontogeny list` has
    them."""
    size, kept = None if scale is None else scale_of(scale), _kept(store)
    found = [(claim, status(claim, kept, size)) for claim in _found(claims)]
    return Listing(
        [Listed(claim, row["outcome"], row["scale"], row["stale"]) for claim, row in found]
    )


def _found(asked: Asked | Sequence[Asked], one: bool = False) -> Sequence[Claim]:
    several: Sequence[Asked] = asked if isinstance(asked, Sequence) else [asked]
    several = [asked] if isinstance(asked, str) else several
    found: dict[str, Claim] = {}
    for each in several:
        if isinstance(each, Claim):
            found[each.name] = each
            continue
        name = each if isinstance(each, str) else getattr(each, "__name__", "")
        if not isinstance(name, str) or not (isinstance(each, str) or callable(each)):
            raise ConfigError(f"a claim is named, or given itself, not {each!r}")
        found |= {claim.name: claim for claim in ([find_one(name)] if one else find([name]))}
    return tuple(found.values())


def _kept(store: Place) -> Store:
    if isinstance(store, Store):
        return store
    return Store(store or usual_folder())


def _text(value: Any) -> str:
    """A value as one would type it."""
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return "+".join(str(x) for x in value)
    return str(value)
