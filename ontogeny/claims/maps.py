"""Where is it true? A claim judged all over the settings that its paper leaves open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import words
from ..core.decision import share_interval
from ..core.evidence import Outcome
from ..core.notebook import frame, table
from .landscape import Boundary, Explained, boundary, explained, explained_together, nearest
from .region import OneOf, Point, Region, Setting, Theory, point_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENOUGH = 8  # decided cells, without which a map says nothing of a claim
MOST = 0.8  # of the cells that train: in so many a finding holds in most of the region
FEW = 0.1  # of them: in so many it holds, or fails, in a part of it


class Found(StrEnum):
    """What came of a cell."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"
    UNTRAINED = "did not train"  # says nothing of the finding


class Cell(NamedTuple):
    """One setting of everything that is open, and what came of it."""

    point: Point
    found: Found
    numbers: tuple[float, ...] = ()  # ours, of each piece of evidence that decides
    note: str = ""
    margin: float | None = None  # theory's: positive where it predicts that the finding holds

    @property
    def decided(self) -> bool:
        """Whether the finding holds or fails there."""
        return self.found in (Found.HOLDS, Found.FAILS)


class Matters(NamedTuple):
    """A setting, and how much of the variation it explains."""

    setting: Setting
    explained: Explained


class Together(NamedTuple):
    """Two settings, and how much of the variation they explain together."""

    one: Setting
    other: Setting
    explained: Explained


@dataclass(frozen=True, repr=False)
class Map:
    """A claim all over a region: its cells, and what they tell."""

    claim: str
    scale: str
    seeds: int
    region: Region
    cells: tuple[Cell, ...]
    own: Cell | None = None  # the claim's own setting, if that was judged
    evidence: tuple[str, ...] = ()  # the sentences that decide in a cell
    refused: Mapping[str, int] | None = None  # cells that no experiment can be made of, by why
    left: int = 0  # cells for which there was no time
    theory: Theory | None = None  # over the two settings that explain most together
    digest: str = ""

    # -------------------------------------------------------------------------------- the answer

    def count(self, found: Found) -> int:
        """How many cells are so."""
        return sum(cell.found == found for cell in self.cells)

    def share(self, found: Found) -> tuple[float, float, float]:
        """The share of the region that is so, with its exact 95 % interval."""
        count, whole = self.count(found), len(self.cells)
        low, high = share_interval(count, whole, 0.025) if whole else (0.0, 1.0)
        return count / max(whole, 1), low, high

    @property
    def outcome(self) -> Outcome:
        """What the map says of the claim: that it holds in most of the region where training
        succeeds, fails in most of it, or depends on the setting."""
        holds, fails = self.count(Found.HOLDS), self.count(Found.FAILS)
        trained = holds + fails + self.count(Found.OPEN)
        if holds + fails < ENOUGH or self.left > len(self.cells):
            return Outcome.UNDECIDED
        if holds >= MOST * trained:
            return Outcome.SUPPORTED
        if fails >= MOST * trained:
            return Outcome.CONTRADICTED
        both = min(holds, fails) >= max(2, FEW * trained)
        return Outcome.DEPENDS if both else Outcome.UNDECIDED

    @property
    def decided(self) -> tuple[Cell, ...]:
        """The cells where it holds or fails."""
        return tuple(cell for cell in self.cells if cell.decided)

    @property
    def points(self) -> np.ndarray:
        """The decided cells as points of the unit cube."""
        return np.array([cell.point.shares for cell in self.decided])

    @property
    def holds(self) -> np.ndarray:
        """In which of them it holds."""
        return np.array([cell.found == Found.HOLDS for cell in self.decided], bool)

    # kept: each takes thousands of resamplings, and every line, table and picture asks again
    @cached_property
    def matters(self) -> list[Matters]:
        """The settings by how much of the variation each explains."""
        found = [
            Matters(each, explained(self.points[:, n], self.holds, _choices(each)))
            for n, each in enumerate(self.region.settings)
            if len(self.decided) >= ENOUGH
        ]
        return sorted(found, key=lambda each: -each.explained.share)

    @cached_property
    def pair(self) -> Together | None:
        """The two settings that explain most together, the one that explains more of it first; None
        of a single setting or of too few cells."""
        ranked = [each.setting for each in self.matters]
        if len(ranked) < 2:
            return None
        place = self.region.settings.index
        found = (
            Together(
                one,
                other,
                explained_together(
                    self.points[:, place(one)],
                    self.points[:, place(other)],
                    self.holds,
                    (_choices(one), _choices(other)),
                ),
            )
            for one, other in combinations(ranked, 2)
        )
        return max(found, key=lambda each: each.explained.share)

    def boundary(self, setting: Setting) -> Boundary | None:
        """Where along a setting the finding flips; None for a choice, or if it does not."""
        if isinstance(setting, OneOf) or len(self.decided) < ENOUGH:
            return None
        return boundary(self.points[:, self.region.settings.index(setting)], self.holds)

    def nearest_flip(self) -> Cell | None:
        """The cell nearest to the claim's own setting where it comes out the other way."""
        if not (self.own and self.own.decided and self.decided):
            return None
        own = np.array(self.own.point.shares)
        points = self.points
        for n, each in enumerate(self.region.settings):
            if isinstance(each, OneOf):  # another choice is as far away as the range is wide
                points[:, n] = np.where(np.isclose(points[:, n], own[n]), own[n], own[n] + 1)
        place = nearest(own, points, self.holds != (self.own.found == Found.HOLDS))
        return None if place is None else self.decided[place]

    def agreement(self) -> tuple[int, int] | None:
        """In how many decided cells theory says what was found, of how many it speaks of."""
        told = [cell for cell in self.decided if cell.margin is not None]
        right = sum((cell.margin > 0) == (cell.found == Found.HOLDS) for cell in told)  # type: ignore[operator]
        return (right, len(told)) if told else None

    # -------------------------------------------------------------------------------- in words

    def answer(self) -> list[str]:
        """What the map says, in a few lines."""
        lines = [self._first_line(), self._shares_line()]
        lines += self._own_lines()
        if (found := self.agreement()) and self.region.theory:
            low, high = share_interval(*found, 0.025)
            lines.append(
                f"theory ({self.region.theory.says}) is right in {found[0]} of {found[1]} cells "
                f"[{100 * low:.0f} %, {100 * high:.0f} %]"
            )
        for why, count in (self.refused or {}).items():
            lines.append(f"{words.counted(count, 'cell')} refused: {why}")
        if self.left:
            lines.append(
                f"{words.counted(self.left, 'cell')} not run in time: the same command goes on"
            )
        return lines

    def _first_line(self) -> str:
        decided = len(self.decided)
        if self.outcome == Outcome.UNDECIDED and decided < ENOUGH:
            return f"undecided: {words.counted(decided, 'cell')} decided, {ENOUGH} are the least"
        if self.outcome != Outcome.DEPENDS:
            return str(self.outcome)
        first = self.matters[0]
        if first.explained.certain:
            return f"depends on {first.setting.path}: {self.along(first.setting)}"
        pair = self.pair
        if pair and pair.explained.certain:
            both = f"{pair.one.path} and {pair.other.path}"
            return f"depends on {both} together: they explain {_percent(pair.explained)}"
        most = _percent(first.explained)
        return f"depends on no one or two of the settings: the most that one explains is {most}"

    def along(self, setting: Setting) -> str:
        """Where along a setting it holds."""
        if isinstance(setting, OneOf):
            return ", ".join(
                f"holds in {sum(some)} of {len(some)} at {value}"
                for value, some in self._by_value(setting)
                if some
            )
        found = self.boundary(setting)
        if found is None:
            return "it does not flip"
        at, low, high = (setting.typed(each) for each in (found.at, found.low, found.high))
        side = "below" if found.holds_below else "above"
        return f"holds {side} {at} [{low}, {high}], right for {found.right:.0%} of cells"

    def _by_value(self, setting: OneOf) -> Iterator[tuple[str, list[bool]]]:
        place = self.region.settings.index(setting)
        for value in setting.values:
            cells = (cell for cell in self.decided if cell.point.typed[place] == value)
            yield value, [cell.found == Found.HOLDS for cell in cells]

    def _shares_line(self) -> str:
        told = []
        for found in Found:
            share, low, high = self.share(found)
            if share:
                told.append(f"{found} {share:.0%} [{100 * low:.0f}, {100 * high:.0f}]")
        size = f"{words.counted(len(self.cells), 'cell')}, {words.counted(self.seeds, 'seed')} each"
        return f"{', '.join(told)} ({size})" if told else f"no cell was judged ({size})"

    def _own_lines(self) -> Iterator[str]:
        if not self.own:
            return
        yield f"at the claim's own setting: {self.own.found}"
        if flip := self.nearest_flip():
            typed = zip(self.region.settings, flip.point.typed, self.own.point.typed, strict=True)
            changes = [f"{each.path}={value}" for each, value, own in typed if value != own]
            yield f"nearest to it, it {flip.found} at {' '.join(changes)}"

    def __repr__(self) -> str:
        return f"Map of {self.claim}: {self.answer()[0]}"

    def _repr_html_(self) -> str:
        rows = [(each.path, _percent(found), self.along(each)) for each, found in self.matters]
        return table(repr(self), ("setting", "explains", ""), rows, self.answer()[1:])

    def to_frame(self) -> Any:
        """A pandas data frame: a row per cell."""
        return frame(self.rows())

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row per cell: its settings, what came of it, and the numbers that decide."""
        for cell in self.cells:
            named = zip(self.region.settings, cell.point.typed, strict=True)
            found = zip(self.evidence, cell.numbers, strict=False)
            yield (
                {each.path: value for each, value in named}
                | {"found": str(cell.found), "note": cell.note, "theory": cell.margin}
                | {text: dict(found).get(text) for text in self.evidence}
            )

    def plot(self) -> "Figure":
        """A figure: the phase diagram over the two settings that matter most, and how much each
        setting explains."""
        figure: Figure = import_module("ontogeny.report.map_figures").map_figure(self)
        return figure

    def as_json(self) -> dict[str, Any]:
        """The map as a store and results/ keep it."""
        cells = [self.own, *self.cells] if self.own else list(self.cells)
        return {
            "claim": self.claim,
            "scale": self.scale,
            "seeds": self.seeds,
            "region": self.region.as_json(),
            "evidence": list(self.evidence),
            "own": bool(self.own),
            "cells": [_cell_json(cell) for cell in cells],
            "refused": dict(self.refused or {}),
            "left": self.left,
            "theory": self.theory and self.theory._asdict(),
            "outcome": str(self.outcome),
            "says": self.answer(),
            "digest": self.digest,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Map":
        """From what `as_json` gives. Theory's rule is code: its margins are kept cell by cell."""
        region = Region.from_json(data["region"])
        cells = [_cell_of(region.settings, each) for each in data["cells"]]
        own = cells.pop(0) if data["own"] else None
        return cls(
            claim=data["claim"],
            scale=data["scale"],
            seeds=data["seeds"],
            region=region,
            cells=tuple(cells),
            own=own,
            evidence=tuple(data["evidence"]),
            refused=data["refused"],
            left=data["left"],
            theory=Theory(**data["theory"]) if data["theory"] else None,
            digest=data["digest"],
        )


def _percent(explained: Explained) -> str:
    share, low, high = (100 * x for x in explained)
    return f"{share:.0f} % [{low:.0f}, {high:.0f}]"


def _choices(setting: Setting) -> int:
    return len(setting.values) if isinstance(setting, OneOf) else 0


def _cell_json(cell: Cell) -> dict[str, Any]:
    plain = [float(f"{x:.4g}") if np.isfinite(x) else None for x in cell.numbers]
    known = {"at": list(cell.point.typed), "found": str(cell.found), "numbers": plain}
    known |= {"note": cell.note} if cell.note else {}
    return known | ({} if cell.margin is None else {"theory": float(f"{cell.margin:.4g}")})


def _cell_of(settings: Sequence[Setting], data: Mapping[str, Any]) -> Cell:
    numbers = tuple(float("nan") if x is None else x for x in data["numbers"])
    point = point_of(settings, data["at"])
    return Cell(point, Found(data["found"]), numbers, data.get("note", ""), data.get("theory"))
