"""A unit of work, seen through.

A *unit* is some rows of lanes of one structure, which advance from look to look. Between looks a
unit can be saved, stopped and taken up again, or give some of its rows away.
"""

import math
import os
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .batch import Lane, Position, Row, row_of
from .environment import environment
from .machine import remembers_programs
from .store import Checkpoint, Record, log


def patience() -> float:
    """How many seconds a unit waits until it saves itself: what a power cut may cost."""
    return float(os.environ.get("ONTOGENY_CHECKPOINT_SECONDS", "20"))


@dataclass(frozen=True)
class Unit:
    """Lanes of one structure, at the same position."""

    lanes: tuple[Lane, ...]
    position: Position
    cost: float  # what is left, in seconds of one core, about
    abreast: int = 1  # how many lanes stand in a row
    turn: int = 0  # which of the units of this structure it is: each compiles something else first
    course: tuple[tuple[int, float], ...] = ()  # looks ahead, seconds for each; () if all alike

    @property
    def label(self) -> str:
        """What runs, for people."""
        first, *others = dict.fromkeys(lane.label for lane in self.lanes)
        more = f" and {len(others)} more" if others else ""
        runs = "1 run" if len(self.lanes) == 1 else f"{len(self.lanes)} runs"
        return f"{first}{more} ({runs})"

    @property
    def rows(self) -> int:
        """How many rows its lanes make."""
        return math.ceil(len(self.lanes) / self.abreast)

    def done(self, evaluations: int) -> float:
        """How much of its work is done once a lane was looked at so often, as a fraction."""
        alike = ((len(self.lanes[0].experiment.evaluated_at), 1.0),)
        ahead = [seconds for often, seconds in self.course or alike for _ in range(often)]
        to_come = alike[0][0] - evaluations
        left = sum(ahead[-to_come:]) if to_come else 0.0
        return 1 - left / sum(ahead) if left else 1.0

    def part(self, lanes: Sequence[Lane]) -> "Unit":
        """Some of its lanes, with their share of the cost."""
        return replace(self, lanes=tuple(lanes), cost=self.cost * len(lanes) / len(self.lanes))


class Look(NamedTuple):
    """News of a unit that runs: how far it is and what it last saw."""

    step: int
    steps: int
    loss: float
    done: float  # how much of the work, as a fraction


class Shared(NamedTuple):
    """News of a unit that has given rows away: what it keeps, and what another may go on with."""

    kept: Unit
    given: Unit


@runtime_checkable
class Keeper(Protocol):
    """What keeps runs: a store, or whoever passes them on to one."""

    def checkpoint(self, name: str) -> Checkpoint | None:
        """The newest checkpoint of a run."""

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint."""

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Keeps a finished run."""


def perform(
    unit: Unit,
    store: Keeper | None = None,
    asked: Callable[[], str] = lambda: "",
    checkpoint_seconds: float | None = None,
) -> Generator[Look | Shared, None, list[Record]]:
    """Runs a unit to its end, with news at every look; goes on from its checkpoints if it has any.

    Asked to "stop", it writes a checkpoint and leaves it at that (Interrupted); asked to "share",
    it saves half of its rows for another to go on with.
    """
    seconds = patience() if checkpoint_seconds is None else checkpoint_seconds
    return (yield from _Performance(unit, store, asked, seconds).run())


class Interrupted(Exception):  # noqa: N818
    """A unit was asked to stop; its checkpoints hold what it did."""


class _Performance:
    """A unit under way."""

    def __init__(
        self, unit: Unit, store: Keeper | None, asked: Callable[[], str], checkpoint_seconds: float
    ) -> None:
        self.unit, self.store, self.asked = unit, store, asked
        self.checkpoint_seconds = checkpoint_seconds
        self.experiment = unit.lanes[0].experiment
        starts = range(0, len(unit.lanes), unit.abreast)
        self.rows = [row_of(unit.lanes[n : n + unit.abreast], unit.abreast) for n in starts]
        self.since = time.monotonic()
        self.due = self.since + checkpoint_seconds  # when to save next
        self.spent = 0.0  # seconds for each lane, up to `since`
        self.position = (0, 0)
        if store:
            self._restore(store)

    def run(self) -> Generator[Look | Shared, None, list[Record]]:
        if remembers_programs():
            self.rows[0].compile(self.position[0], self.unit.turn)
        if not self.rows[0].answers:
            for row in self.rows:
                row.begin()
            yield self._news()
        while not self.experiment.over(self.position[0]):
            if shared := self._hear():
                yield shared
            for row in self.rows:
                row.advance(*self.position)
            self.position = self.experiment.after(*self.position)
            yield self._news()
        return self._seal()

    def _news(self) -> Look:
        now = time.monotonic()
        self.spent += (now - self.since) / len(self.unit.lanes)
        self.since = now
        last = [row.answers[-1] for row in self.rows]
        losses = ["train loss", *(name for name in last[0] if "loss" in name)]
        name = next((name for name in losses if name in last[0]), "")
        loss = np.mean(np.concatenate([each[name] for each in last])) if name else math.nan
        first = self.rows[0]
        done = self.unit.done(len(first.answers))
        return Look(first.step, first.evaluated_at[-1], float(loss), done)

    def _hear(self) -> Shared | None:
        """Saves if it is time, and does what it is asked to."""
        asked = self.asked()
        late = time.monotonic() > self.due and self.rows[0].step > 0
        if self.store and (late or (asked == "stop" and self.rows[0].step > 0)):
            self._save(self.store, self.rows)
        if asked == "stop":
            raise Interrupted
        return self._share(self.store) if asked == "share" and self.store else None

    def _share(self, store: Keeper) -> Shared | None:
        middle = math.ceil(len(self.rows) / 2)
        kept, given = self.rows[:middle], self.rows[middle:]
        if not given or not self._save(store, given):
            return None
        ours, theirs = ([lane for row in rows for lane in row.lanes] for rows in (kept, given))
        shared = Shared(self.unit.part(ours), replace(self.unit.part(theirs), turn=0))
        self.rows, self.unit = kept, shared.kept
        return shared

    def _save(self, store: Keeper, rows: Sequence[Row]) -> bool:
        began = time.monotonic()
        saved = True
        for row in rows:
            checkpoints = row.checkpoints(self.position, self.spent)
            for lane, checkpoint in zip(row.lanes, checkpoints, strict=True):
                try:
                    store.save(lane.name, checkpoint)
                except OSError as error:  # a full disk costs the checkpoint, not the run
                    log.warning("no checkpoint of %s: %s", lane.label, error)
                    saved = False
        # what takes long to save (a large model) is saved more rarely
        now = time.monotonic()
        self.due = now + max(self.checkpoint_seconds, 20 * (now - began))
        return saved

    def _restore(self, store: Keeper) -> None:
        found = [[store.checkpoint(lane.name) for lane in row.lanes] for row in self.rows]
        rows = [[c for c in row if c is not None] for row in found]
        known = [c for row in rows for c in row]
        positions = {c.position for c in known}
        if len(known) < len(self.unit.lanes) or len(positions) > 1:
            return  # nothing that all lanes have in common: start from the top
        self.position = known[0].position
        self.spent = max(c.notes["seconds"] for c in known)
        for row, checkpoints in zip(self.rows, rows, strict=True):
            row.restore(checkpoints)

    def _seal(self) -> list[Record]:
        records = []
        for row in self.rows:
            for place, lane in enumerate(row.lanes):
                around = environment() | {
                    "seed": lane.seed,
                    "seconds": self.spent,
                    "failure": row.failures[place],
                    "ended": row.ended[place],
                }
                done = Record(row.curves(place), row.failures[place], around)
                records.append(done)
                if self.store:
                    try:
                        self.store.seal(lane.name, lane.record, done)
                    except OSError as error:
                        log.warning("%s is not kept: %s", lane.label, error)
        return records
