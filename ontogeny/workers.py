"""Where units of work run: in this process, or in one pinned single-threaded process per core.

Two such processes beat one process with two threads by 1.4 to 1.9 times on small models.
"""

import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

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
        self.early: dict[int, _Person] = {}

    def prepare(self, lanes: int) -> None:
        """Starts processes: to import what they need takes them a second."""
        for place in range(min(self.workers, lanes)):
            if place not in self.early:
                self.early[place] = _Person(place)

    def dismiss(self) -> None:
        """Ends processes that were started and not needed."""
        for person in self.early.values():
            person.process.terminate()
            person.leave()
        self.early = {}

    def run(self, units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        """Runs units as processes become free."""
        early, self.early = self.early, {}
        return _Local(units, store, early).work(self.workers, progress)


class _Local(Crew):
    """Worker processes of this machine, one to a core."""

    unready = (
        "workers die before they begin. They import the script that asks for them: it must be a "
        'file, and ask under `if __name__ == "__main__":`. Without `workers=` all is done in one '
        "process"
    )

    def __init__(
        self, units: Sequence[Unit], store: Store | None, early: dict[int, "_Person"]
    ) -> None:
        super().__init__(units, store)
        self.early = early
        self.people: dict[int, _Person] = {}

    def hire(self, place: int) -> None:
        person = self.early.pop(place, None) or _Person(place)
        self.people[place] = person
        with suppress(OSError):
            person.line.send((self.store,))

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
        people = [*self.people.values(), *self.early.values()]
        for person in people:
            with suppress(OSError):
                person.line.send(None)
        for person in people:
            person.leave()


class _Person:
    """A worker process and the line to it."""

    line: Connection
    process: SpawnProcess

    def __init__(self, place: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(place, theirs), daemon=True)
        with _uninterrupted():
            self.process.start()
        theirs.close()

    def leave(self) -> None:
        """Waits for it to end, and ends it if it does not."""
        self.process.join(timeout=10)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()
        self.line.close()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A process that is started here does not hear an interrupt, not even while it imports."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    resource_tracker.ensure_running()  # which would hear it again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(core: int, line: Connection) -> None:
    """What a worker does: takes units until there are none, with news at every look."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides when to stop
    settle(core)

    def asked() -> str:
        try:
            return (line.recv() or "stop") if line.poll() else ""
        except EOFError:  # whoever gave the work is gone: keep it
            return "stop"

    try:
        if (first := line.recv()) is None:
            return
        (store,) = first
        line.send(("ready",))
        while (unit := line.recv()) is not None:
            if unit != "share":  # of what has been done meanwhile
                _see_through(unit, store, asked, line)
    except Interrupted:
        return
    except (BrokenPipeError, EOFError):  # whoever gave the work is gone
        sys.exit(0)


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
