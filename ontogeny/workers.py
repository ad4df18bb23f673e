"""Where units of work run: in this process, or in one pinned single-threaded process per core.

Two such processes beat one process with two threads by 1.4 to 1.9 times on small models.
"""

import multiprocessing
import os
import signal
import sys
import traceback
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


Pool = Callable[[Sequence[Unit], Store | None, Progress], Done]


class WorkerError(RuntimeError):
    """A worker failed, or died again and again on the same unit."""


def here() -> Pool:
    """Runs units one after the other in this process."""

    def pool(units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        progress.planned(units, 1)
        for unit in units:
            records = follow(perform(unit, store), partial(progress.looked, unit))
            progress.finished(unit)
            yield unit, records

    return pool


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


def processes(workers: int) -> Pool:
    """Runs units in processes of their own, each on a core of its own."""

    def pool(units: Sequence[Unit], store: Store | None, progress: Progress) -> Done:
        progress.planned(units, workers)
        crew = _Crew(store, units)
        try:
            for core in range(min(workers, len(units))):
                crew.hire(core)
            while crew.busy:
                for core, unit, message in crew.news():
                    match message:
                        case ("ready",):
                            crew.ready = True
                        case ("look", look):
                            progress.looked(unit, look)
                        case ("done", records):
                            crew.give(core)
                            progress.finished(unit)
                            yield unit, records
                        case ("failed", error):
                            raise error
                        case _:
                            crew.replace(core)
        finally:
            crew.dismiss()

    return pool


UNREADY = (
    "workers die before they begin. They import the script that asks for them: it must be a file, "
    'and ask under `if __name__ == "__main__":`. Without `workers=` all is done in one process'
)


class _Crew:
    """The worker processes, by the core they are on, and the units that wait."""

    def __init__(self, store: Store | None, units: Sequence[Unit]) -> None:
        self.store = store
        self.waiting = list(reversed(units))
        self.context = multiprocessing.get_context("spawn")
        self.busy: dict[int, Unit] = {}
        self.lines: dict[int, Connection] = {}
        self.people: dict[int, SpawnProcess] = {}
        self.deaths: Counter[int] = Counter()
        self.ready = False  # whether any of them ever began

    def hire(self, core: int) -> None:
        """Puts a new worker on a core and gives it the next unit."""
        ours, theirs = self.context.Pipe()
        person = self.context.Process(target=_work, args=(core, theirs, self.store), daemon=True)
        person.start()
        theirs.close()
        self.lines[core], self.people[core] = ours, person
        self.give(core)

    def give(self, core: int) -> None:
        """Gives a worker the next unit, or tells it that there is none."""
        self.busy.pop(core, None)
        unit = self.waiting.pop() if self.waiting else None
        if unit is not None:
            self.busy[core] = unit
        self._send(core, unit)

    def news(self) -> Iterator[tuple[int, Unit, Any]]:
        """What those at work have to say; one that died says so."""
        lines = {line: core for core, line in self.lines.items() if core in self.busy}
        for line in wait(list(lines)):
            assert isinstance(line, Connection)
            core = lines[line]
            try:
                message = line.recv()
            except (EOFError, OSError):
                message = ("died",)
            yield core, self.busy[core], message

    def replace(self, core: int) -> None:
        """Puts a dead worker's unit first in line, to go on from its checkpoint, and hires anew."""
        unit = self.busy[core]
        self.deaths[id(unit)] += 1
        if self.deaths[id(unit)] > 1 and not self.ready:
            raise WorkerError(UNREADY)
        if self.deaths[id(unit)] > 2:
            raise WorkerError(f"a worker died three times on {unit.label} (out of memory?)")
        self.waiting.append(unit)
        self.hire(core)

    def dismiss(self) -> None:
        """Asks those at work to save and stop, and ends those that do not."""
        for core in self.people:
            self._send(core, None)
        for person in self.people.values():
            person.join(timeout=10)
            if person.is_alive():
                person.terminate()
                person.join()

    def _send(self, core: int, unit: Unit | None) -> None:
        with suppress(OSError):  # if it died, news() will tell
            self.lines[core].send(unit)


def _work(core: int, line: Connection, store: Store | None) -> None:
    """What a worker does: takes units until there are none, with news at every look."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides when to stop
    settle(core)
    try:
        line.send(("ready",))
        while (unit := line.recv()) is not None:
            looks = perform(unit, store, stop=line.poll)
            try:
                line.send(("done", follow(looks, lambda look: line.send(("look", look)))))
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


def settle(core: int) -> None:
    """Pins this process to a core and keeps XLA to one thread and its cache on disk."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[core % len(cores)]})
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    remember_programs()


def remember_programs() -> None:
    """Keeps compiled programs in the user's cache folder, so that a second start is quick."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    jax.config.update("jax_compilation_cache_dir", os.path.join(home, "ontogeny", "compiled"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def cores() -> int:
    """How many processes may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
