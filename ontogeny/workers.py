"""Where units of work run: in this process, or in one pinned single-threaded process per core.

Two such processes beat one process with two threads by 1.4 to 1.9 times on small models.
"""

import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from . import nursery
from .crew import Crew, Done, Pool, Progress, WorkerError, follow
from .fields import Invalid
from .machine import grown, memory, settle
from .perform import Interrupted, Unit, perform
from .store import Store


class Here(Pool):
    """One unit after the other in this process."""

    def __init__(self) -> None:
        self.workers, self.memory = 1, memory()

    def run(self, units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        """Runs units in their order."""
        progress.planned(units, 1)
        for unit in units:
            records = follow(perform(unit, store), partial(progress.looked, unit))
            progress.finished(unit)
            yield unit, records


class Processes(Pool):
    """Units in processes of their own, each on a core of its own."""

    def __init__(self, workers: int) -> None:
        self.workers, self.memory = workers, memory() / workers

    def prepare(self) -> None:
        """To import what processes need takes a second."""
        nursery.get_ready()

    def run(self, units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        """Runs units as processes become free."""
        return _Local(units, store).work(self.workers, progress)


class _Local(Crew):
    """Worker processes of this machine, one to a core."""

    unready = (
        "workers die before they begin. They import the script that asks for them: it must be a "
        'file, and ask under `if __name__ == "__main__":`. Without `workers=` all is done in one '
        "process"
    )

    def __init__(self, units: Sequence[Unit], store: Store | None) -> None:
        super().__init__(units, store)
        self.people: dict[int, _Person] = {}

    def hire(self, place: int) -> None:
        self.people[place] = _Person(place, self.store)

    def send(self, place: int, unit: Unit) -> None:
        with suppress(OSError):  # if it died, news() will tell
            self.people[place].line.send(unit)

    def ask_to_share(self, place: int) -> None:
        with suppress(OSError):
            self.people[place].line.send("share")

    def news(self) -> Iterator[tuple[int, Any]]:
        places = {person.line: place for place, person in self.people.items()}
        for line in wait(list(places)):
            assert isinstance(line, Connection)
            try:
                message = line.recv()
            except (EOFError, OSError):
                message = ("died", "")
                self.retire(places[line])
            yield places[line], message

    def retire(self, place: int) -> None:
        person = self.people.pop(place)
        person.line.close()
        person.process.join()

    def dismiss(self) -> None:
        for person in self.people.values():
            with suppress(OSError):
                person.line.send(None)
        for person in self.people.values():
            person.leave()


class _Person:
    """A worker process and the line to it."""

    line: Connection
    process: BaseProcess

    def __init__(self, place: int, store: Store | None) -> None:
        context = nursery.context()
        self.line, theirs = context.Pipe()
        told = (place, theirs, store, dict(os.environ))
        self.process = context.Process(target=_work, args=told, daemon=True)
        with nursery.uninterrupted():
            self.process.start()
        theirs.close()

    def leave(self) -> None:
        """Waits for it to end, and ends it if it does not."""
        self.process.join(timeout=10)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()
        self.line.close()


def _work(core: int, line: Connection, store: Store | None, environment: dict[str, str]) -> None:
    """What a worker does: takes units until there are none, with news at every look."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides when to stop
    os.environ.clear()  # what it was forked from may have known another
    os.environ.update(environment)
    settle(core)

    def asked() -> str:
        try:
            return (line.recv() or "stop") if line.poll() else ""
        except EOFError:  # whoever gave the work is gone: keep it
            return "stop"

    try:
        line.send(("ready",))
        while (unit := line.recv()) is not None:
            if unit != "share":  # of what has been done meanwhile
                _see_through(unit, store, asked, line)
    except (Interrupted, BrokenPipeError, EOFError):  # or whoever gave the work is gone
        pass
    os._exit(0)  # all is told: to take the process apart would take half a second


def _see_through(
    unit: Unit, store: Store | None, asked: Callable[[], str], line: Connection
) -> None:
    try:
        looks = perform(unit, store, asked)
        records = follow(looks, lambda news: line.send(("news", news)))
        line.send(("done", records, grown()))
    except (Interrupted, BrokenPipeError, EOFError):
        raise
    except Invalid as error:
        line.send(("failed", error))
    except Exception:
        line.send(("failed", WorkerError(traceback.format_exc())))
