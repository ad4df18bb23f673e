"""Who runs units of work, and in which order.

Here is what holds wherever workers are: units wait in one queue for whoever is free, what a dead
worker was at goes to another, and near the end units take turns, so that all workers end together.
"""

import heapq
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from ..core.errors import one_line
from ..core.fields import ConfigError
from .runs import RunSpec
from .store import Record, Store
from .units import News, Unit

Done = Generator[tuple[Unit, list[Record]], None, None]
Failures = dict[str, str]  # by the label of an experiment: why it has no answers

# Seconds of work that are worth handing from one worker to another, which has to read a checkpoint
# and may have to load a program.
WORTH_SENDING = 1.0


class OutOfTime(Exception):  # noqa: N818 nothing is wrong
    """The time that there was for some work is over. What has been done is kept."""


class Progress:
    """Who wants to know how the work goes; this one does not."""

    deadline: float | None = None  # of `time.monotonic`: after it the work ends

    def said(self, text: str) -> None:
        """Something to know before the work begins."""

    def planning(self, done: int, programs: int) -> None:
        """It has been counted what so many of all programs take."""

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        """All that is to be done."""

    def began(self, unit: Unit) -> None:
        """A worker has been given a unit, perhaps not the first."""

    def evaluated(self, unit: Unit, news: News) -> None:
        """A unit came to an evaluation."""

    def paused(self, unit: Unit) -> None:
        """A unit waits again."""

    def finished(self, unit: Unit) -> None:
        """A unit is done, or given up."""

    def failed(self, unit: Unit, why: str) -> None:
        """A unit is about to be given up."""

    def answered(self, spec: RunSpec, record: Record) -> None:
        """A run is there: it has ended, or was kept before."""


class Pool(ABC):
    """Somewhere to run units."""

    workers: int  # units at once
    memory: float  # bytes that each may use

    def prepare(self) -> None:  # noqa: B027
        """Gets ready, while units are being planned."""

    @abstractmethod
    def run(
        self,
        units: Sequence[Unit],
        store: Store | None,
        progress: Progress,
        failures: Failures | None = None,
    ) -> Done:
        """Runs units, in any order, and hands each out as it ends. Where failures are noted, one
        that fails is, with the reason, and the others go on; else it ends the work."""


class WorkerError(RuntimeError):
    """A worker failed, or died again and again on the same unit."""

    brief: str = ""  # the same in one line

    @classmethod
    def of(cls, error: BaseException) -> "WorkerError":
        """What came up in a worker, as it is sent to the one who asked."""
        made = cls("".join(traceback.format_exception(error)))
        made.brief = one_line(error)
        return made


def note(failures: Failures, unit: Unit, why: str) -> str:
    """Notes why a unit failed: under the label of each experiment in it, with the seeds."""
    for label in dict.fromkeys(spec.label for spec in unit.specs):
        seeds = [str(spec.seed) for spec in unit.specs if spec.label == label]
        which = f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
        failures.setdefault(label, f"{which}: {why}")
    return why


def given_up(unit: Unit, failures: Failures) -> bool:
    """Whether all that a unit would tell of has failed with other seeds."""
    return all(spec.label in failures for spec in unit.specs)


class Scheduler(ABC):
    """Workers by number, the queue of units, and who runs which.

    A worker says ("ready",), then is given units. Of each it says ("news", …) at every evaluation,
    and in the end ("done", records, grown), ("failed", error) or ("paused",); grown, it is replaced
    by a new one. Of one that is no more, ("died", why) is said.
    """

    unready = "workers die before they begin"

    def __init__(
        self, units: Sequence[Unit], store: Store | None, failures: Failures | None = None
    ) -> None:
        self.store, self.failures = store, failures
        self.progress = Progress()
        self.queue = list(units)  # in the order in which they are given out
        self.left = {unit: unit.cost for unit in units}  # seconds to be done, about
        self.reached: Counter[Unit] = Counter()  # the farthest step seen
        self.deaths: dict[Unit, tuple[int, int]] = {}  # how many workers died at which step
        self.busy: dict[int, Unit] = {}
        self.idle: set[int] = set()
        self.pausing: set[int] = set()  # workers that were asked to
        self.failed_starts: Counter[int] = Counter()

    @abstractmethod
    def spawn(self, worker: int) -> None:
        """Starts a worker."""

    @abstractmethod
    def send(self, worker: int, unit: Unit) -> None:
        """Gives a worker a unit."""

    @abstractmethod
    def pause(self, worker: int) -> None:
        """Asks a worker to save its unit at the next evaluation, and to take another."""

    @abstractmethod
    def retire(self, worker: int) -> None:
        """Ends a worker that runs nothing."""

    @abstractmethod
    def messages(self) -> Iterator[tuple[int, Any]]:
        """Waits until some worker has something to say."""

    @abstractmethod
    def shutdown(self) -> None:
        """Asks those at work to save and stop, and ends those that do not."""

    def run(self, workers: int, progress: Progress) -> Done:
        """Has all units run; what a dead worker was at goes to another."""
        self.progress = progress
        progress.planned(self.queue, workers)
        try:
            for worker in range(min(workers, len(self.queue))):
                self.spawn(worker)
            while self.queue or self.busy:
                for worker, message in self.messages():
                    if message[0] == "done":
                        yield self._on_done(worker, *message[1:])
                    else:
                        self._on_message(worker, message)
        finally:
            self.shutdown()

    def _on_message(self, worker: int, message: Any) -> None:
        match message:
            case ("ready",):
                self.failed_starts[worker] = 0
                self._give(worker)
            case ("news", news):
                self._on_news(worker, news)
            case ("paused",):
                unit = self._take_back(worker)
                self.queue = sorted([*self.queue, unit], key=lambda each: -self.left[each])
                self.progress.paused(unit)
                self._give(worker)
            case ("failed", error):
                self._give_up(self._take_back(worker), error)
                self._replace(worker)  # who knows what it has become
            case ("died", why):
                self._on_death(worker, why)

    def _on_done(
        self, worker: int, records: list[Record], grown: bool
    ) -> tuple[Unit, list[Record]]:
        unit = self._take_back(worker)
        if grown:
            self._replace(worker)
        else:
            self._give(worker)
        self.progress.finished(unit)
        return unit, records

    def _give(self, worker: int) -> None:
        if not self.queue:
            self.idle.add(worker)  # others may die, and leave work
            return
        unit = self.queue.pop(0)
        self.busy[worker] = unit
        self.progress.began(unit)
        try:
            self.send(worker, unit)
        except ConfigError as error:  # it cannot be sent
            self._give_up(self._take_back(worker), error)
            self._give(worker)

    def _take_back(self, worker: int) -> Unit:
        self.pausing.discard(worker)
        return self.busy.pop(worker)

    def _on_news(self, worker: int, news: News) -> None:
        unit = self.busy[worker]
        self.reached[unit] = max(self.reached[unit], news.step)
        self.left[unit] = unit.cost * (1 - news.done)
        self.progress.evaluated(unit, news)
        if self._should_pause(unit) and not self.pausing:
            self.pausing.add(worker)
            self.pause(worker)

    def _should_pause(self, unit: Unit) -> bool:
        """Whether a unit should make way for one that waits, so that all workers end together:
        three runs on two cores take one and a half times as long as one run, not twice as long.

        If units ran on until they end, the last worker would end at `last`; with all of them busy
        throughout, at `ideal`. To come near that, one of those that wait (the longest) has to begin
        before the others are done: in the place of one that has little left by comparison.
        """
        if not self.store or not self.queue or len(self.queue) >= len(self.busy):
            return False  # without a store there are no checkpoints; with many units no need
        ends = [self.left[running] for running in self.busy.values()]
        waiting = sorted((self.left[each] for each in self.queue), reverse=True)
        ideal = max(sum(ends + waiting) / len(ends), *ends, *waiting)
        heapq.heapify(ends)
        for each in waiting:
            heapq.heapreplace(ends, ends[0] + each)
        last = max(ends)
        share = 1 - 1 / len(self.busy)
        return last - ideal > WORTH_SENDING and self.left[unit] <= share * waiting[0]

    def _replace(self, worker: int) -> None:
        self.retire(worker)
        if self.queue:
            self.spawn(worker)

    def _on_death(self, worker: int, why: str) -> None:
        """Puts a dead worker's unit first in line, to go on from its checkpoint."""
        if worker in self.idle:
            self.idle.remove(worker)
            return
        if worker in self.busy:
            self._lose(self._take_back(worker), why)
        else:
            self.failed_starts[worker] += 1
            if self.failed_starts[worker] > 1:
                raise WorkerError(f"{self.unready}{why and f': {why}'}")
        if self.queue:
            self.spawn(worker)
            if self.idle:
                self._give(self.idle.pop())

    def _lose(self, unit: Unit, why: str) -> None:
        """A unit that kills worker after worker without getting any farther is given up."""
        deaths, step = self.deaths.get(unit, (0, -1))
        reached = self.reached[unit]
        deaths = deaths + 1 if reached <= step else 1
        self.deaths[unit] = deaths, reached
        if deaths <= (2 if self.failures is None else 1):
            self.queue.insert(0, unit)
            return
        error = WorkerError(
            f"workers died three times on {unit.label} and got no farther than step {reached} "
            f"(out of memory?){why and f': {why}'}"
        )
        error.brief = why
        self._give_up(unit, error)

    def _give_up(self, unit: Unit, error: Exception) -> None:
        """Goes on without a unit, and without what else would tell of the same, if one may."""
        if self.failures is None:
            raise error
        brief = error.brief if isinstance(error, WorkerError) else str(error)
        after = f" (after step {self.reached[unit]})" if self.reached[unit] else ""
        self.progress.failed(unit, note(self.failures, unit, f"{brief}{after}"))
        self.progress.finished(unit)
        hopeless = [other for other in self.queue if given_up(other, self.failures)]
        for other in hopeless:
            self.queue.remove(other)
            self.progress.finished(other)
