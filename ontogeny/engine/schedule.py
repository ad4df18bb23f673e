"""Who does units of work, and how they share it.

Here is what holds wherever workers are: units are given to whoever is free, what a dead worker was
at goes to another, and nobody is idle while another could give half of what it has.
"""

import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from ..core.errors import told
from .batch import Lane
from .store import Record, Store
from .unit import Look, Shared, Unit

Done = Generator[tuple[Unit, list[Record]], None, None]
Failures = dict[str, str]  # by the label of an experiment: why it has no answers

# Seconds of work that are worth sending to an idle worker, which may have to load a program.
WORTH_SENDING = 1.0


class Progress:
    """Who wants to know how the work goes; this one does not."""

    def planning(self, done: int, programs: int) -> None:
        """It has been counted what so many of all programs take."""

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        """All that is to be done."""

    def began(self, unit: Unit) -> None:
        """Somebody has been given a unit."""

    def looked(self, unit: Unit, look: Look) -> None:
        """A unit came to a look."""

    def shared(self, unit: Unit, parts: Sequence[Unit]) -> None:
        """A unit goes on as several."""

    def finished(self, unit: Unit) -> None:
        """A unit is done, or given up."""

    def failed(self, unit: Unit, why: str) -> None:
        """A unit is about to be given up."""

    def answered(self, lane: Lane, record: Record) -> None:
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
        made.brief = told(error)
        return made


def note(failures: Failures, unit: Unit, why: str) -> str:
    """Notes why a unit failed: under the label of each experiment in it, with the seeds."""
    for label in dict.fromkeys(lane.label for lane in unit.lanes):
        seeds = [str(lane.seed) for lane in unit.lanes if lane.label == label]
        which = f"seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
        failures.setdefault(label, f"{which}: {why}")
    return why


def given_up(unit: Unit, failures: Failures) -> bool:
    """Whether all that a unit would tell of has failed with other seeds."""
    return all(lane.label in failures for lane in unit.lanes)


def follow(
    evaluations: Generator[Look | Shared, None, list[Record]], tell: Callable[[Any], None]
) -> list[Record]:
    """Sees a unit through to its end, passing on its news."""
    while True:
        try:
            news = next(evaluations)
        except StopIteration as end:
            records: list[Record] = end.value
            return records
        tell(news)


class Crew(ABC):
    """Workers by their place, the units that wait, and who is at what.

    A worker says ("ready",), then is given units: of each it says ("news", …) now and then and
    ("done", records, grown) or ("failed", error) in the end; grown, it is replaced by a new one.
    One that is no more has ("died", why) said of it. When nothing waits and someone is idle, the
    one with most left to do is asked to share.
    """

    unready = "workers die before they begin"

    def __init__(
        self, units: Sequence[Unit], store: Store | None, failures: Failures | None = None
    ) -> None:
        self.store, self.failures = store, failures
        self.progress = Progress()
        self.units = list(units)
        self.waiting = list(reversed(units))
        self.busy: dict[int, Unit] = {}
        self.idle: set[int] = set()
        self.stillborn: Counter[int] = Counter()  # by place: how many died before they began
        self.losses: dict[int, tuple[int, int]] = {}  # by unit: deaths at a step, and the step
        self.reached: Counter[int] = Counter()  # by unit: the farthest step seen
        self.left: dict[int, float] = {}  # by unit that runs: seconds to be done
        self.asked: set[int] = set()  # units that were asked to share

    @abstractmethod
    def hire(self, place: int) -> None:
        """Puts a new worker in a place."""

    @abstractmethod
    def send(self, place: int, unit: Unit) -> None:
        """Gives a worker a unit."""

    @abstractmethod
    def ask_to_share(self, place: int) -> None:
        """Asks a worker to give away half of what it is at."""

    @abstractmethod
    def retire(self, place: int) -> None:
        """Ends a worker that has nothing to do."""

    @abstractmethod
    def news(self) -> Iterator[tuple[int, Any]]:
        """Waits until someone has something to say."""

    @abstractmethod
    def dismiss(self) -> None:
        """Asks those at work to save and stop, and ends those that do not."""

    def work(self, workers: int, progress: Progress) -> Done:
        """Has all units run; what a dead worker was at goes to another."""
        self.progress = progress
        progress.planned(self.units, workers)
        try:
            for place in range(min(workers, sum(unit.rows for unit in self.units))):
                self.hire(place)
            while self.waiting or self.busy:
                for place, message in self.news():
                    match message:
                        case ("ready",):
                            self.stillborn[place] = 0
                            self._give(place)
                        case ("news", news):
                            self._hear(place, news)
                        case ("done", records, grown):
                            unit = self.busy.pop(place)
                            if grown:
                                self._replace(place)
                            else:
                                self._give(place)
                            progress.finished(unit)
                            yield unit, records
                        case ("failed", error):
                            self._give_up(self.busy.pop(place), error)
                            self._replace(place)  # who knows what it has become
                        case ("died", why):
                            self._mourn(place, why)
        finally:
            self.dismiss()

    def _give_up(self, unit: Unit, error: Exception) -> None:
        """Goes on without a unit, and without what else would tell of the same, if one may."""
        if self.failures is None:
            raise error
        brief = error.brief if isinstance(error, WorkerError) else str(error)
        after = f" (after step {self.reached[id(unit)]})" if self.reached[id(unit)] else ""
        self.progress.failed(unit, note(self.failures, unit, f"{brief}{after}"))
        self.progress.finished(unit)
        waiting, self.waiting = self.waiting, []
        for other in waiting:
            if given_up(other, self.failures):
                self.progress.finished(other)
            else:
                self.waiting.append(other)

    def _hear(self, place: int, news: Look | Shared) -> None:
        unit, progress = self.busy[place], self.progress
        if isinstance(news, Shared):
            progress.shared(unit, news)
            self._divide(place, *news)
            return
        self.reached[id(unit)] = max(self.reached[id(unit)], news.step)
        self.left[id(unit)] = unit.cost * (1 - news.done)
        progress.looked(unit, news)
        self._perhaps_share()

    def _give(self, place: int) -> None:
        if self.waiting:
            self.busy[place] = self.waiting.pop()
            self.progress.began(self.busy[place])
            self.send(place, self.busy[place])
        else:
            self.idle.add(place)  # others may die, and leave work
            self._perhaps_share()

    def _perhaps_share(self) -> None:
        """Asks for as many halves as there are idle hands; what is nearly done is left alone."""
        if not self.store or len(self.idle) <= len(self.asked & set(map(id, self.busy.values()))):
            return
        fit = {
            place: self.left.get(id(unit), 0.0)
            for place, unit in self.busy.items()
            if unit.rows > 1 and id(unit) not in self.asked
        }
        most = max(fit, key=lambda place: fit[place], default=None)
        if most is not None and fit[most] > WORTH_SENDING:
            self.asked.add(id(self.busy[most]))
            self.ask_to_share(most)

    def _divide(self, place: int, kept: Unit, given: Unit) -> None:
        before = self.busy[place]
        self.units += [kept, given]  # they are known by their id: it must not come again
        for part in (kept, given):
            self.reached[id(part)] = self.reached[id(before)]
            self.left[id(part)] = self.left[id(before)] * part.cost / before.cost
        self.busy[place] = kept
        self.waiting.append(given)
        if self.idle:
            self._give(self.idle.pop())

    def _replace(self, place: int) -> None:
        self.retire(place)
        if self.waiting:
            self.hire(place)

    def _mourn(self, place: int, why: str) -> None:
        """Puts a dead worker's unit first in line, to go on from its checkpoint, and hires anew."""
        if place in self.idle:
            self.idle.remove(place)
            return
        unit = self.busy.pop(place, None)
        if unit is None:
            self.stillborn[place] += 1
            if self.stillborn[place] > 1:
                raise WorkerError(f"{self.unready}{why and f': {why}'}")
        else:
            self._lose(unit, why)
        if self.waiting:
            self.hire(place)
            if self.idle:
                self._give(self.idle.pop())

    def _lose(self, unit: Unit, why: str) -> None:
        deaths, step = self.losses.get(id(unit), (0, -1))
        reached = self.reached[id(unit)]
        deaths = deaths + 1 if reached <= step else 1
        self.losses[id(unit)] = deaths, reached
        if deaths <= (2 if self.failures is None else 1):
            self.waiting.append(unit)
            return
        error = WorkerError(
            f"workers died three times on {unit.label} and got no farther than step {reached} "
            f"(out of memory?){why and f': {why}'}"
        )
        error.brief = why
        self._give_up(unit, error)
