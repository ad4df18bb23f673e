"""Where units of work run: in this process, or in one pinned single-threaded process per core.

Two such processes beat one process with two threads by 1.4 to 1.9 times on small models.
"""

import multiprocessing
import os
import signal
import sys
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import jax

from .fields import Invalid
from .perform import Interrupted, Look, Unit, perform
from .store import Record, Store

Done = Generator[tuple[Unit, list[Record]], None, None]


class Progress:
    """Who wants to know how the work goes; this one does not."""

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        """All that is to be done."""

    def looked(self, unit: Unit, look: Look) -> None:
        """A unit came to a look."""

    def finished(self, unit: Unit) -> None:
        """A unit is done."""


class Pool(ABC):
    """Somewhere to run units."""

    workers: int  # units at once
    memory: float  # bytes that each may use

    @abstractmethod
    def run(self, units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        """Runs units, in any order, and hands each out as it ends."""


class WorkerError(RuntimeError):
    """A worker failed, or died again and again on the same unit."""


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


def follow(
    looks: Generator[Look, None, list[Record]], tell: Callable[[Look], None]
) -> list[Record]:
    """Sees a unit through to its end, passing on its news."""
    while True:
        try:
            look = next(looks)
        except StopIteration as end:
            records: list[Record] = end.value
            return records
        tell(look)


class Processes(Pool):
    """Units in processes of their own, each on a core of its own."""

    def __init__(self, workers: int) -> None:
        self.workers, self.memory = workers, _memory() / workers

    def run(self, units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        """Runs units as processes become free."""
        return _Local(units, store).work(self.workers, progress)


class Crew(ABC):
    """Workers by their place, the units that wait, and who is at what.

    A worker says ("ready",), then is given units: of each it says ("look", …) now and then and
    ("done", records, grown) or ("failed", error) in the end; grown, it is replaced by a new one.
    One that is no more has ("died", why) said of it.
    """

    unready = "workers die before they begin"

    def __init__(self, units: Sequence[Unit], store: Store | None) -> None:
        self.store = store
        self.units = units
        self.waiting = list(reversed(units))
        self.busy: dict[int, Unit] = {}
        self.idle: set[int] = set()
        self.stillborn: Counter[int] = Counter()  # by place: how many died before they began
        self.losses: dict[int, tuple[int, int]] = {}  # by unit: deaths at a step, and the step
        self.reached: Counter[int] = Counter()  # by unit: the farthest step seen

    @abstractmethod
    def hire(self, place: int) -> None:
        """Puts a new worker in a place."""

    @abstractmethod
    def send(self, place: int, unit: Unit) -> None:
        """Gives a worker a unit."""

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
            for place in range(min(workers, len(self.units))):
                self.hire(place)
            while self.waiting or self.busy:
                for place, message in self.news():
                    match message:
                        case ("ready",):
                            self.stillborn[place] = 0
                            self._give(place)
                        case ("look", look):
                            unit = self.busy[place]
                            self.reached[id(unit)] = max(self.reached[id(unit)], look.step)
                            progress.looked(unit, look)
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

    def _give(self, place: int) -> None:
        if self.waiting:
            self.busy[place] = self.waiting.pop()
            self.send(place, self.busy[place])
        else:
            self.idle.add(place)  # others may die, and leave work

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


class _Local(Crew):
    """Worker processes of this machine, one to a core."""

    unready = (
        "workers die before they begin. They import the script that asks for them: it must be a "
        'file, and ask under `if __name__ == "__main__":`. Without `workers=` all is done in one '
        "process"
    )

    def __init__(self, units: Sequence[Unit], store: Store | None) -> None:
        super().__init__(units, store)
        self.context = multiprocessing.get_context("spawn")
        self.lines: dict[int, Connection] = {}
        self.people: dict[int, SpawnProcess] = {}

    def hire(self, place: int) -> None:
        ours, theirs = self.context.Pipe()
        person = self.context.Process(target=_work, args=(place, theirs, self.store), daemon=True)
        person.start()
        theirs.close()
        self.lines[place], self.people[place] = ours, person

    def send(self, place: int, unit: Unit) -> None:
        with suppress(OSError):  # if it died, news() will tell
            self.lines[place].send(unit)

    def news(self) -> Iterator[tuple[int, Any]]:
        places = {line: place for place, line in self.lines.items()}
        for line in wait(list(places)):
            assert isinstance(line, Connection)
            try:
                message = line.recv()
            except (EOFError, OSError):
                message = ("died", "")
                self.retire(places[line])
            yield places[line], message

    def retire(self, place: int) -> None:
        self.lines.pop(place).close()
        self.people.pop(place).join()

    def dismiss(self) -> None:
        for line in self.lines.values():
            with suppress(OSError):
                line.send(None)
        for person in self.people.values():
            person.join(timeout=10)
            if person.is_alive():
                person.terminate()
                person.join()
        for line in self.lines.values():
            line.close()


def _work(core: int, line: Connection, store: Store | None) -> None:
    """What a worker does: takes units until there are none, with news at every look."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides when to stop
    settle()
    pin(core)
    try:
        line.send(("ready",))
        while (unit := line.recv()) is not None:
            looks = perform(unit, store, stop=line.poll)
            try:
                records = follow(looks, lambda look: line.send(("look", look)))
                line.send(("done", records, grown()))
            except Interrupted:
                return
            except (BrokenPipeError, EOFError):
                raise
            except Invalid as error:
                line.send(("failed", error))
            except Exception:
                line.send(("failed", WorkerError(traceback.format_exc())))
    except (BrokenPipeError, EOFError):  # whoever gave the work is gone
        sys.exit(0)


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
