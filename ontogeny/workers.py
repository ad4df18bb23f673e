"""Where units of work run: in this process, or in one pinned single-threaded process per core.

Two such processes beat one process with two threads by 1.4 to 1.9 times on small models.
"""

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import jax

from .crew import Crew, Done, Pool, Progress, WorkerError, follow
from .fields import Invalid
from .heap import hold_one
from .perform import Interrupted, Unit, perform
from .store import Store


class Here(Pool):
    """One unit after the other in this process."""

    def __init__(self) -> None:
        self.workers, self.memory = 1, _memory()

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
        self.workers, self.memory = workers, _memory() / workers
        self.early: dict[int, _Person] = {}

    def prepare(self, lanes: int) -> None:
        """Starts processes: to import what they need takes them a second."""
        self.early = {place: _Person(place) for place in range(min(self.workers, lanes))}

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
        self.process.start()
        theirs.close()

    def leave(self) -> None:
        """Waits for it to end, and ends it if it does not."""
        self.process.join(timeout=10)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()
        self.line.close()


def _work(core: int, line: Connection) -> None:
    """What a worker does: takes units until there are none, with news at every look."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides when to stop
    settle()
    pin(core)

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


# Every program that is compiled leaves some 20 MB behind, whatever is cleared: a worker that has
# come to this many bytes makes way for a new one.
_GROWN = 2**30


def grown() -> bool:
    """Whether this process has become large."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") > _GROWN
    except (OSError, ValueError):  # not on Linux
        return False


def settle() -> None:
    """Keeps XLA to one thread in this process, and its programs on disk."""
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    hold_one()
    remember_programs()


def pin(core: int) -> None:
    """Keeps this process on one core."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})


def remember_programs() -> None:
    """Keeps compiled programs in the user's cache folder, so that a second start is quick."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    jax.config.update("jax_compilation_cache_dir", os.path.join(home, "ontogeny", "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def cores() -> int:
    """How many processes may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> float:
    """Bytes that all workers of this machine may use: half of what it has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    except (ValueError, OSError, AttributeError):
        return 4 * 2**30
