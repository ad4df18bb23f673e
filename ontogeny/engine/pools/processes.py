"""Units of work in processes of their own: one to a core, pinned and single-threaded.

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

from ...core.errors import ended
from ...core.fields import ConfigError
from ...core.process import die_with_parent, exit_at_once
from ..machine import memory, settle
from ..schedule import Done, Failures, Pool, Progress, Scheduler, WorkerError
from ..store import Store
from ..units import Interrupted, Unit, Wish, follow, outgrown, train
from . import children, forkserver
from .limits import Limits, Pace, too_large, too_slow
from .parcel import pack, unpack

_FAREWELL = 3.0  # seconds in which a worker may save and leave
_WATCH = 0.2  # seconds from one look at what workers take to the next


class Processes(Pool):
    """Units in processes of their own, each on a core of its own."""

    def __init__(self, workers: int, limits: Limits | None = None) -> None:
        self.workers, self.limits = workers, limits
        self.memory = min(memory(), limits.memory / 2 if limits else math.inf) / workers

    def prepare(self) -> None:
        """To import what processes need takes a second."""
        forkserver.start()

    def run(
        self,
        units: Sequence[Unit],
        store: Store | None,
        progress: Progress,
        failures: Failures | None = None,
    ) -> Done:
        """Runs units as processes become free."""
        return _LocalScheduler(units, store, failures, self.limits).run(self.workers, progress)


class _LocalScheduler(Scheduler):
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
        self.processes: dict[int, _WorkerProcess] = {}
        self.limits = limits
        self.paces: dict[int, Pace] = {}  # by worker
        self.watched = 0.0  # when memory was last looked at

    def spawn(self, worker: int) -> None:
        self.processes[worker] = _WorkerProcess(worker, self.store)

    def send(self, worker: int, unit: Unit) -> None:
        if self.limits:
            evaluations = max(1, len(unit.specs[0].experiment.evaluated_at) - 1)
            self.paces[worker] = Pace(self.limits.seconds, unit.cost / evaluations)
        parcel = pack(unit)
        with suppress(OSError):  # if it died, messages() will tell
            self.processes[worker].pipe.send(parcel)

    def pause(self, worker: int) -> None:
        with suppress(OSError):
            self.processes[worker].pipe.send("pause")

    def messages(self) -> Iterator[tuple[int, Any]]:
        workers = {process.pipe: worker for worker, process in self.processes.items()}
        for pipe in wait(list(workers), _WATCH if self.limits else None):
            assert isinstance(pipe, Connection)
            worker = workers[pipe]
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                message = ("died", self._release(worker))
            if message[0] == "news" and worker in self.paces:
                self.paces[worker].heard()
            yield worker, message
        if self.limits:
            yield from self._beyond(self.limits)

    def _beyond(self, limits: Limits) -> Iterator[tuple[int, Any]]:
        """Ends whoever takes too long, or most of too much memory."""
        for worker in list(self.busy):
            if worker in self.processes and self.paces[worker].overdue:
                yield self._kill(worker, too_slow(self.paces[worker].allowed))
        now = time.monotonic()
        if now - self.watched > _WATCH:
            self.watched = now
            held = children.held(children.family(os.getpid()), limits.memory)
            if held > limits.memory and self.busy:
                yield self._kill(max(self.busy, key=self._held), too_large(limits.memory))

    def _held(self, worker: int) -> float:
        return children.held(children.family(self.processes[worker].process.pid or 0))

    def _kill(self, worker: int, why: str) -> tuple[int, Any]:
        process = self.processes[worker].process
        children.end(process.pid or 0, seconds=1.0)
        process.kill()
        error = WorkerError(why)
        error.brief = why
        return worker, ("failed", error)

    def retire(self, worker: int) -> None:
        self._release(worker)

    def _release(self, worker: int) -> str:
        """Lets a worker go, and says how it ended."""
        process = self.processes.pop(worker)
        self.paces.pop(worker, None)
        return process.join()

    def shutdown(self) -> None:
        for process in self.processes.values():
            with suppress(OSError):
                process.pipe.send(None)
        for process in self.processes.values():
            process.join(saving=True)


class _WorkerProcess:
    """A worker process, and the pipe to it."""

    pipe: Connection
    process: BaseProcess

    def __init__(self, core: int, store: Store | None) -> None:
        context = forkserver.context()
        self.pipe, theirs = context.Pipe()
        given = (core, theirs, store, dict(os.environ), forkserver.pid())
        self.process = context.Process(target=_work, args=given, daemon=True)
        with forkserver.uninterrupted():
            self.process.start()
        theirs.close()

    def join(self, saving: bool = False) -> str:
        """Waits for it to end, and ends it if it does not; says how it ended."""
        if not saving:  # one that waits for work leaves when the pipe is closed
            self.pipe.close()
        self.process.join(timeout=_FAREWELL)
        how = ended(self.process.exitcode)
        if self.process.is_alive():  # it may not listen to anything less
            self.process.kill()
            self.process.join()
        self.pipe.close()
        return how


class _Gone(Exception):  # noqa: N818
    """The driver, who gave the work, is no more."""


class _Driver:
    """The driver, as a worker sees it: the other end of the pipe."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe, self.own = pipe, os.getpid()

    def tell(self, *message: Any) -> None:
        """Says something."""
        self._alone()
        try:
            self.pipe.send(message)
        except OSError:
            raise _Gone from None

    def next(self) -> Unit | None:
        """Waits for a unit; none if there is no more to do."""
        while True:
            try:
                parcel = self.pipe.recv()
            except (EOFError, OSError):
                raise _Gone from None
            if parcel is None:
                return None
            if parcel != "pause":  # it was about a unit that is done
                try:
                    return unpack(parcel)[0]
                except Exception as error:  # what it is made of is not to be had here
                    self.tell("failed", WorkerError.of(error))

    def asked(self) -> Wish:
        """What is wanted of one who is at work; if nobody is there, that it stops."""
        self._alone()
        try:
            return (self.pipe.recv() or "stop") if self.pipe.poll() else None
        except (EOFError, OSError):
            return "stop"

    def _alone(self) -> None:
        """If what ran has forked, one of the two goes on."""
        if os.getpid() != self.own:
            exit_at_once(0)


def _work(
    core: int,
    pipe: Connection,
    store: Store | None,
    environment: dict[str, str],
    parent: int | None,
) -> None:
    """What a worker does: takes units until there are none, with news at every evaluation."""
    forkserver.close_inherited_pipes()
    die_with_parent(parent)  # whatever a unit is at: a checkpoint holds what it did before
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides when to stop
    os.environ.clear()  # what it was forked from may have known another
    os.environ.update(environment)
    settle(core)
    driver = _Driver(pipe)
    with suppress(_Stopped, _Gone):
        driver.tell("ready")
        while (unit := driver.next()) is not None:
            _see_through(unit, store, driver)
    exit_at_once(0)


class _Stopped(Exception):  # noqa: N818
    """The driver wants no more."""


def _see_through(unit: Unit, store: Store | None, driver: _Driver) -> None:
    wish: Wish = None

    def asked() -> Wish:
        nonlocal wish
        wish = driver.asked()
        return wish

    try:
        records = follow(train(unit, store, asked), partial(driver.tell, "news"))
        driver.tell("done", records, outgrown(unit))
    except Interrupted:
        if wish == "stop":
            raise _Stopped from None
        driver.tell("paused")
    except _Gone:
        raise
    except BaseException as error:  # somebody's module may even ask to exit
        driver.tell("failed", error if type(error) is ConfigError else WorkerError.of(error))
