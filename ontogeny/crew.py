"""Who does units of work, and how they share it.

Here is what holds wherever workers are: units are given to whoever is free, what a dead worker was
at goes to another, and nobody is idle while another could give half of what it has.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from .perform import Look, Shared, Unit
from .store import Record, Store

Done = Generator[tuple[Unit, list[Record]], None, None]

# Operations that are worth sending to an idle worker, which may have to load a program: a second's.
WORTH_SENDING = 5e10


class Progress:
    """Who wants to know how the work goes; this one does not."""

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        """All that is to be done."""

    def looked(self, unit: Unit, look: Look) -> None:
        """A unit came to a look."""

    def shared(self, unit: Unit, parts: Sequence[Unit]) -> None:
        """A unit goes on as several."""

    def finished(self, unit: Unit) -> None:
        """A unit is done."""


class Pool(ABC):
    """Somewhere to run units."""

    workers: int  # units at once
    memory: float  # bytes that each may use

    def prepare(self) -> None:  # noqa: B027
        """Gets ready, while units are being planned."""

    @abstractmethod
    def run(self, units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        """Runs units, in any order, and hands each out as it ends."""


class WorkerError(RuntimeError):
    """A worker failed, or died again and again on the same unit."""


def follow(
    looks: Generator[Look | Shared, None, list[Record]], tell: Callable[[Any], None]
) -> list[Record]:
    """Sees a unit through to its end, passing on its news."""
    while True:
        try:
            news = next(looks)
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

    def __init__(self, units: Sequence[Unit], store: Store | None) -> None:
        self.store = store
        self.units = list(units)
        self.waiting = list(reversed(units))
        self.busy: dict[int, Unit] = {}
        self.idle: set[int] = set()
        self.stillborn: Counter[int] = Counter()  # by place: how many died before they began
        self.losses: dict[int, tuple[int, int]] = {}  # by unit: deaths at a step, and the step
        self.reached: Counter[int] = Counter()  # by unit: the farthest step seen
        self.left: dict[int, float] = {}  # by unit that runs: operations to be done
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
                            self._hear(place, news, progress)
                        case ("done", records, grown):
                            unit = self.busy.pop(place)
                            if grown:
                                self._replace(place)
                            else:
                                self._give(place)
                            progress.finished(unit)
                            yield unit, records
                        case ("failed", error):
                            del self.busy[place]
                            raise error
                        case ("died", why):
                            self._mourn(place, why)
        finally:
            self.dismiss()

    def _hear(self, place: int, news: Look | Shared, progress: Progress) -> None:
        unit = self.busy[place]
        if isinstance(news, Shared):
            progress.shared(unit, news)
            self._divide(place, *news)
            return
        self.reached[id(unit)] = max(self.reached[id(unit)], news.step)
        self.left[id(unit)] = unit.cost * (1 - news.step / max(news.steps, 1))
        progress.looked(unit, news)
        self._perhaps_share()

    def _give(self, place: int) -> None:
        if self.waiting:
            self.busy[place] = self.waiting.pop()
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
        self.hire(place)
        if self.waiting and self.idle:
            self._give(self.idle.pop())

    def _lose(self, unit: Unit, why: str) -> None:
        deaths, step = self.losses.get(id(unit), (0, -1))
        reached = self.reached[id(unit)]
        deaths = deaths + 1 if reached <= step else 1
        self.losses[id(unit)] = deaths, reached
        if deaths > 2:
            raise WorkerError(
                f"workers died three times on {unit.label} and got no farther than step {reached} "
                f"(out of memory?){why and f': {why}'}"
            )
        self.waiting.append(unit)
