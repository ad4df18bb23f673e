"""Units of work: batches of runs, each run from evaluation to evaluation.

Between evaluations a unit can be saved, stopped, and taken up again by anybody.
"""

import math
import os
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..core.external import External
from .environment import environment
from .machine import grown, remembers_programs
from .runs import RunBatch, RunSpec, batch_of, confirm
from .store import Checkpoint, Record, log


def checkpoint_seconds() -> float:
    """How many seconds a unit waits until it saves itself: what a power cut may cost."""
    return float(os.environ.get("ONTOGENY_CHECKPOINT_SECONDS", "20"))


@dataclass(frozen=True, eq=False)  # a unit is itself alone, and may be a key
class Unit:
    """Runs of one structure, equally far, that are run together."""

    specs: tuple[RunSpec, ...]
    cost: float  # what is left when it is planned, in seconds of one core, about
    width: int = 1  # how many runs its program takes at once
    ahead: tuple[tuple[int, float], ...] = ()  # evaluations to come, seconds of each; () if alike
    first: bool = True  # of its structure: it compiles, others find its programs on disk

    @property
    def label(self) -> str:
        """What runs, for people."""
        first, *others = dict.fromkeys(spec.label for spec in self.specs)
        more = f" and {len(others)} more" if others else ""
        runs = "1 run" if len(self.specs) == 1 else f"{len(self.specs)} runs"
        return f"{first}{more} ({runs})"

    def done(self, evaluations: int) -> float:
        """How much of its work is done after so many evaluations, as a fraction."""
        everything = len(self.specs[0].experiment.evaluated_at)
        ahead = [each for often, each in self.ahead or ((everything, 1.0),) for _ in range(often)]
        to_come = everything - evaluations
        left = sum(ahead[-to_come:]) if to_come else 0.0
        return 1 - left / sum(ahead) if left else 1.0


def outgrown(unit: Unit) -> bool:
    """Whether the process that ran a unit is to make way for a new one. What is external compiles
    nothing, and the next of its kind finds the model loaded: 20 s saved for each run of one."""
    return grown() and not isinstance(unit.specs[0].experiment, External)


class News(NamedTuple):
    """How far a unit is, and its loss."""

    step: int
    steps: int
    loss: float
    done: float  # how much of the work, as a fraction


@runtime_checkable
class Keeper(Protocol):
    """What keeps runs: a store, or whoever passes them on to one."""

    def checkpoint(self, name: str) -> Checkpoint | None:
        """The newest checkpoint of a run."""

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint."""

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Keeps a finished run."""


Wish = Literal["stop", "pause"] | None
"""What may be asked of a unit that runs: to be left off, or only if that costs nothing."""


class Interrupted(Exception):  # noqa: N818
    """A unit was left off as asked; its checkpoints hold what it did."""


def train(
    unit: Unit,
    store: Keeper | None = None,
    asked: Callable[[], Wish] = lambda: None,
    every: float | None = None,
    see: Callable[[RunBatch], None] = lambda _: None,
) -> Generator[News, None, list[Record]]:
    """Runs a unit to its end, with news at every evaluation; goes on from its checkpoints if it
    has any. Asked to stop, or to pause, it saves and raises `Interrupted`. Its runs are shown to
    `see` as they are at each evaluation, and where they were taken up again."""
    if not unit.specs[0].unknown:
        confirm(unit.specs[0])  # all of a unit have the same code
    seconds = checkpoint_seconds() if every is None else every
    return (yield from _Training(unit, store, seconds).run(asked, see))


def follow(news: Generator[News, None, list[Record]], tell: Callable[[News], None]) -> list[Record]:
    """Sees a unit through to its end, passing on its news."""
    while True:
        try:
            tell(next(news))
        except StopIteration as end:
            records: list[Record] = end.value
            return records


class _Training:
    """A unit under way."""

    def __init__(self, unit: Unit, store: Keeper | None, every: float) -> None:
        self.unit, self.store, self.every = unit, store, every
        self.batch: RunBatch = batch_of(unit.specs, unit.width)
        self.since = time.monotonic()
        self.due = self.since + every  # when to save next
        self.spent = 0.0  # seconds for each run, up to `since`
        if store:
            self._restore(store)

    def run(
        self, asked: Callable[[], Wish], see: Callable[[RunBatch], None]
    ) -> Generator[News, None, list[Record]]:
        if remembers_programs():
            self.batch.compile()
        resumed = bool(self.batch.answers)
        if not resumed:
            self.batch.begin()
        see(self.batch)
        if not resumed:
            yield self._news()
        while not self.batch.done:
            wish = asked()
            saved = self._save() if wish or time.monotonic() > self.due else False
            if wish == "stop" or (wish == "pause" and saved):
                raise Interrupted
            self.batch.advance()
            see(self.batch)
            yield self._news()
        return self._seal()

    def _news(self) -> News:
        now = time.monotonic()
        self.spent += (now - self.since) / len(self.unit.specs)
        self.since = now
        last = self.batch.answers[-1]
        names = [name for name in ("train loss", *last) if "loss" in name and name in last]
        loss = float(np.mean(last[names[0]])) if names else math.nan
        done = self.unit.done(len(self.batch.answers))
        return News(self.batch.step, self.batch.evaluated_at[-1], loss, done)

    def _save(self) -> bool:
        """Whether all runs could be saved; before the first step there is nothing to save."""
        if not self.store or not self.batch.step:
            return False
        began, saved = time.monotonic(), True
        checkpoints = self.batch.checkpoints(self.spent)
        for spec, checkpoint in zip(self.unit.specs, checkpoints, strict=True):
            try:
                self.store.save(spec.name, checkpoint)
            except OSError as error:  # a full disk costs the checkpoint, not the run
                log.warning("no checkpoint of %s: %s", spec.label, error)
                saved = False
        # what takes long to save (a large model) is saved more rarely
        now = time.monotonic()
        self.due = now + max(self.every, 20 * (now - began))
        return saved

    def _restore(self, store: Keeper) -> None:
        found = [store.checkpoint(spec.name) for spec in self.unit.specs]
        known = [checkpoint for checkpoint in found if checkpoint is not None]
        if len(known) < len(found) or len({each.evaluations for each in known}) > 1:
            return  # nothing that all runs have in common: start from the top
        self.spent = max(each.notes["seconds"] for each in known)
        self.batch.restore(known)

    def _seal(self) -> list[Record]:
        records = []
        for place, spec in enumerate(self.unit.specs):
            around = environment() | {
                "seed": spec.seed,
                "seconds": self.spent,
                "failure": self.batch.failures[place],
                "ended": self.batch.ended[place],
            }
            done = Record(self.batch.curves(place), self.batch.failures[place], around)
            records.append(done)
            if self.store:
                try:
                    self.store.seal(spec.name, spec.record, done)
                except OSError as error:
                    log.warning("%s is not kept: %s", spec.label, error)
        return records
