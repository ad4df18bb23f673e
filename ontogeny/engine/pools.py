"""Where units of work run: in this process, or in one pinned single-threaded process per core.

Two such processes beat one process with two threads by 1.4 to 1.9 times on small models.
"""

import math
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from ..core.errors import ended, told
from ..core.fields import ConfigError
from . import children as offspring
from . import forkserver as nursery
from .batch import confirm
from .limits import Limits, Pace, too_large, too_slow
from .machine import die_with_parent, grown, memory, settle
from .schedule import Crew, Done, Failures, Pool, Progress, WorkerError, follow, given_up, note
from .store import Record, Store
from .unit import Interrupted, Unit, perform

_FAREWELL = 3.0  # seconds in which a worker may save and leave
_WATCH = 0.2  # seconds from one look at what workers take to the next


class Here(Pool):
    """One unit after the other in this process."""

    def __init__(self) -> None:
        self.workers, self.memory = 1, memory()

    def run(
        self,
        units: Sequence[Unit],
        store: Store | None,
        progress: Progress,
        failures: Failures | None = None,
    ) -> Done:
        """Runs units in their order."""
        progress.planned(units, 1)
        for unit in units:
            records: list[Record] | None = None
            if failures is None or not given_up(unit, failures):
                progress.began(unit)
                try:
                    records = follow(perform(unit, store), partial(progress.looked, unit))
                except (Exception, SystemExit) as error:
                    if failures is None:
                        raise
                    brief = str(error) if isinstance(error, ConfigError) else told(error)
                    progress.failed(unit, note(failures, unit, brief))
            progress.finished(unit)
            if records is not None:
                yield unit, records


class Processes(Pool):
    """Units in processes of their own, each on a core of its own."""

    def __init__(self, workers: int, limits: Limits | None = None) -> None:
        self.workers, self.limits = workers, limits
        self.memory = min(memory(), limits.memory / 2 if limits else math.inf) / workers

    def prepare(self) -> None:
        """To import what processes need takes a second."""
        nursery.get_ready()

    def run(
        self,
        units: Sequence[Unit],
        store: Store | None,
        progress: Progress,
        failures: Failures | None = None,
    ) -> Done:
        """Runs units as processes become free."""
        return _Local(units, store, failures, self.limits).work(self.workers, progress)


class _Local(Crew):
    """Worker processes of this machine, one to a core."""

    unready = (
        "workers die before they begin. They import the script that asks for them: it must be a "
        'file, and ask under `if __name__ == "__main__":`. Without `workers=` all is done in one '
        "process"
    )

    def __init__(
        self,
        units: Sequence[Unit],
        store: Store | None,
        failures: Failures | None = None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(units, store, failures)
        self.people: dict[int, _Person] = {}
        self.limits = limits
        self.paces: dict[int, Pace] = {}  # by place
        self.watched = 0.0  # when memory was last looked at

    def hire(self, place: int) -> None:
        self.people[place] = _Person(place, self.store)

    def send(self, place: int, unit: Unit) -> None:
        if self.limits:
            evaluations = max(1, len(unit.lanes[0].experiment.evaluated_at) - 1)
            self.paces[place] = Pace(self.limits.seconds, unit.cost / evaluations)
        with suppress(OSError):  # if it died, news() will tell
            self.people[place].line.send(unit)

    def ask_to_share(self, place: int) -> None:
        with suppress(OSError):
            self.people[place].line.send("share")

    def news(self) -> Iterator[tuple[int, Any]]:
        places = {person.line: place for place, person in self.people.items()}
        for line in wait(list(places), _WATCH if self.limits else None):
            assert isinstance(line, Connection)
            place = places[line]
            try:
                message = line.recv()
            except (EOFError, OSError):
                message = ("died", self._release(place))
            if message[0] == "news" and place in self.paces:
                self.paces[place].heard()
            yield place, message
        if self.limits:
            yield from self._beyond(self.limits)

    def _beyond(self, limits: Limits) -> Iterator[tuple[int, Any]]:
        """Ends whoever takes too long, or most of too much memory."""
        for place in list(self.busy):
            if place in self.people and self.paces[place].overdue:
                yield self._stop(place, too_slow(self.paces[place].allowed))
        now = time.monotonic()
        if now - self.watched > _WATCH:
            self.watched = now
            held = offspring.held(offspring.family(os.getpid()), limits.memory)
            if held > limits.memory and self.busy:
                yield self._stop(max(self.busy, key=self._held), too_large(limits.memory))

    def _held(self, place: int) -> float:
        return offspring.held(offspring.family(self.people[place].process.pid or 0))

    def _stop(self, place: int, why: str) -> tuple[int, Any]:
        process = self.people[place].process
        offspring.end(process.pid or 0, seconds=1.0)
        process.kill()
        error = WorkerError(why)
        error.brief = why
        return place, ("failed", error)

    def retire(self, place: int) -> None:
        self._release(place)

    def _release(self, place: int) -> str:
        """Lets a worker go, and says how it ended."""
        person = self.people.pop(place)
        self.paces.pop(place, None)
        return person.leave()

    def dismiss(self) -> None:
        for person in self.people.values():
            with suppress(OSError):
                person.line.send(None)
        for person in self.people.values():
            person.leave(saving=True)


class _Person:
    """A worker process and the line to it."""

    line: Connection
    process: BaseProcess

    def __init__(self, place: int, store: Store | None) -> None:
        context = nursery.context()
        self.line, theirs = context.Pipe()
        told = (place, theirs, store, dict(os.environ), nursery.parent())
        self.process = context.Process(target=_work, args=told, daemon=True)
        with nursery.uninterrupted():
            self.process.start()
        theirs.close()

    def leave(self, saving: bool = False) -> str:
        """Waits for it to end, and ends it if it does not; says how it ended."""
        if not saving:  # one who waits for work leaves when the line is closed
            self.line.close()
        self.process.join(timeout=_FAREWELL)
        how = ended(self.process.exitcode)
        if self.process.is_alive():  # it may not listen to anything less
            self.process.kill()
            self.process.join()
        self.line.close()
        return how


class _Gone(Exception):  # noqa: N818
    """Whoever gave the work is no more."""


class _Asker:
    """The other end of the line: whoever gives the work."""

    def __init__(self, line: Connection) -> None:
        self.line, self.own = line, os.getpid()

    def tell(self, *message: Any) -> None:
        """Says something."""
        self._alone()
        try:
            self.line.send(message)
        except OSError:
            raise _Gone from None

    def next(self) -> Unit | None:
        """Waits for a unit; none if there is no more to do."""
        while True:
            try:
                unit = self.line.recv()
            except (EOFError, OSError):
                raise _Gone from None
            except Exception as error:  # what it is made of is not to be had here
                self.tell("failed", WorkerError.of(error))
                continue
            if unit != "share":  # of what has been done meanwhile
                wanted: Unit | None = unit
                return wanted

    def asked(self) -> str:
        """What is wanted of one who is at work; if nobody is there, that it is kept."""
        self._alone()
        try:
            return (self.line.recv() or "stop") if self.line.poll() else ""
        except (EOFError, OSError):
            return "stop"

    def _alone(self) -> None:
        """If what ran has forked, one of the two goes on."""
        if os.getpid() != self.own:
            os._exit(0)


def _work(
    core: int,
    line: Connection,
    store: Store | None,
    environment: dict[str, str],
    parent: int | None,
) -> None:
    """What a worker does: takes units until there are none, with news at every look."""
    nursery.let_go()
    die_with_parent(parent)  # whatever a unit is at: a checkpoint holds what it did before
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides when to stop
    os.environ.clear()  # what it was forked from may have known another
    os.environ.update(environment)
    settle(core)
    asker = _Asker(line)
    with suppress(Interrupted, _Gone):
        asker.tell("ready")
        while (unit := asker.next()) is not None:
            _see_through(unit, store, asker)
    os._exit(0)  # all is told: to take the process apart would take half a second


def _see_through(unit: Unit, store: Store | None, asker: _Asker) -> None:
    try:
        if not unit.lanes[0].unknown:
            confirm(unit.lanes[0])  # all of a unit have the same code
        evaluations = perform(unit, store, asker.asked)
        records = follow(evaluations, partial(asker.tell, "news"))
        asker.tell("done", records, grown())
    except (Interrupted, _Gone):
        raise
    except BaseException as error:  # somebody's module may even ask to exit
        asker.tell("failed", error if type(error) is ConfigError else WorkerError.of(error))
