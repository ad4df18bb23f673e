"""Units of work on Ray: the cores of one machine or of many.

A worker far away has no store. It is sent the checkpoints of its unit and sends back whatever is
to be kept; the one who asked writes it down, so that all results land in one store.
"""

import logging
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from ...core.fields import ConfigError
from ..environment import commit, missing
from ..machine import settle
from ..schedule import Done, Failures, Pool, Progress, Scheduler, WorkerError
from ..store import Checkpoint, Record, Store, log
from ..units import Interrupted, Unit, Wish, checkpoint_seconds, follow, outgrown, train
from .parcel import pack, unpack

_AHEAD = 64  # messages that a worker may have ready: it waits while nobody fetches them
_FAREWELL = 20.0  # seconds in which those at work may save
_TRIES = 3  # to be let in


class Cluster(Pool):
    """The cores of a Ray cluster: the one at an address, else the one that this machine is part
    of, else Ray processes of its own.

    The package is sent along, and so are `modules` with components of one's own: every node runs
    the same code. Packages like jax must be there.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        modules: Sequence[ModuleType] = (),
    ) -> None:
        if lacking := missing("cluster"):
            raise ConfigError(f"for Ray {lacking}")
        self.ray = _connected(address, modules)
        found, wait = self.ray.cluster_resources(), time.monotonic() + 30
        while not found.get("CPU") and time.monotonic() < wait:  # it has just begun
            time.sleep(0.5)
            found = self.ray.cluster_resources()
        if not found.get("CPU"):
            raise ConfigError(f"the Ray cluster {address or ''} has no core to offer")
        cores = int(found["CPU"])
        self.workers = cores if workers is None else max(1, min(workers, cores))
        self.memory = found["memory"] / cores

    def run(
        self,
        units: Sequence[Unit],
        store: Store | None,
        progress: Progress,
        failures: Failures | None = None,
    ) -> Done:
        """Runs units as workers become free."""
        return _RayScheduler(units, store, self.ray, failures).run(self.workers, progress)


def _connected(address: str | None, modules: Sequence[ModuleType]) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    import ray

    if ray.is_initialized():
        if modules:
            raise ConfigError("Ray is connected already: modules are sent when it connects")
        return ray
    before = signal.getsignal(signal.SIGTERM)
    code = {
        "py_modules": [str(_home(module)) for module in (sys.modules["ontogeny"], *modules)],
        "env_vars": {"ONTOGENY_COMMIT": commit()},
    }
    for left in reversed(range(_TRIES)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that Ray forks while JAX has threads: it execs
                ray.init(
                    address,
                    include_dashboard=None if address else False,
                    logging_level=logging.ERROR,
                    log_to_driver=False,
                    runtime_env=code,
                )
            break
        except (ConnectionError, ValueError, RuntimeError) as error:
            if not left or "Starting Ray client server failed" not in str(error):
                where = address or "this machine"
                raise ConfigError(f"no Ray cluster at {where}: {error}") from None
            time.sleep(2)  # its head forked beside gRPC's threads and aborted: by chance
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)  # Ray would have us exit without a word
    return ray


def _home(module: ModuleType) -> Path:
    """The file of a module, or the folder of a package."""
    file = Path(module.__file__ or "")
    return file.parent if file.name == "__init__.py" else file


class _RayScheduler(Scheduler):
    """Workers that are actors of Ray, one to a core, wherever it has one."""

    unready = "workers die before they begin: every node needs the same Python packages"

    def __init__(
        self,
        units: Sequence[Unit],
        store: Store | None,
        ray: Any,
        failures: Failures | None = None,
    ) -> None:
        super().__init__(units, store, failures)
        self.ray = ray
        self.remote_worker = ray.remote(num_cpus=1, max_concurrency=3)(_Worker)
        self.actors: dict[int, Any] = {}  # by worker
        self.requests: dict[Any, int] = {}  # for news, and of which worker

    def spawn(self, worker: int) -> None:
        self.actors[worker] = self.remote_worker.remote()
        self._ask(worker)

    def send(self, worker: int, unit: Unit) -> None:
        found = {spec.name: self.store and self.store.checkpoint(spec.name) for spec in unit.specs}
        kept = found if self.store else None
        self.actors[worker].take.remote(pack(unit, (kept, checkpoint_seconds())))

    def pause(self, worker: int) -> None:
        self.actors[worker].pause.remote()

    def retire(self, worker: int) -> None:
        self.requests = {request: at for request, at in self.requests.items() if at != worker}
        self.ray.kill(self.actors[worker])

    def messages(self) -> Iterator[tuple[int, Any]]:
        return self._listen(None)

    def _listen(self, seconds: float | None) -> Iterator[tuple[int, Any]]:
        """In turns: who is asked again comes last."""
        try:
            answered, _ = self.ray.wait(list(self.requests), timeout=seconds)
        except ConnectionError as error:
            raise WorkerError(f"the cluster is gone; what was done is kept ({error})") from None
        for request in answered:
            worker = self.requests.pop(request)
            try:
                messages = self.ray.get(request)
            except self.ray.exceptions.RayActorError as error:
                messages = [("died", str(error).strip().splitlines()[-1])]
            else:
                self._ask(worker)
            for message in messages:
                if message[0] in ("save", "seal"):
                    self._keep(*message)
                else:
                    yield worker, message

    def shutdown(self) -> None:
        """Fetches what those at work save when they are told to stop."""
        leaving, until = set(self.busy), time.monotonic() + _FAREWELL
        with suppress(Exception):  # a cluster that is gone has nothing more to say
            for worker in leaving:
                self.actors[worker].leave.remote()
            while leaving and (left := until - time.monotonic()) > 0:
                leaving -= {worker for worker, (word, *_) in self._listen(left) if word != "news"}
        for actor in self.actors.values():
            with suppress(Exception):
                self.ray.kill(actor)

    def _ask(self, worker: int) -> None:
        self.requests[self.actors[worker].news.remote()] = worker

    def _keep(self, how: str, name: str, *what: Any) -> None:
        try:
            getattr(self.store, how)(name, *what)
        except OSError as error:  # a full disk costs the record, not the run
            log.warning("%s is not kept: %s", name, error)


class _Worker:
    """One core far away."""

    def __init__(self) -> None:
        settle()
        self.outbox: queue.Queue[Any] = queue.Queue(_AHEAD)
        self.leaving, self.pausing = threading.Event(), threading.Event()
        self.outbox.put(("ready",))

    def news(self) -> list[Any]:
        """What there is to say, as soon as there is something."""
        found = [self.outbox.get()]
        with suppress(queue.Empty):
            while True:
                found.append(self.outbox.get_nowait())
        return found

    def take(self, packed: bytes) -> None:
        """Runs a unit; it is unpacked here, so that what cannot be is said like all else."""
        tell = self.outbox.put
        try:
            unit, (checkpoints, seconds) = unpack(packed)
            self.pausing.clear()  # it was about the unit before
            keeper = None if checkpoints is None else _Outbox(self.outbox, checkpoints)
            news = train(unit, keeper, self._asked, seconds)
            records = follow(news, lambda news: tell(("news", news)))
            tell(("done", records, outgrown(unit)))
        except Interrupted:
            tell(("paused",))
        except ConfigError as error:
            tell(("failed", error))
        except Exception as error:
            tell(("failed", WorkerError.of(error)))

    def leave(self) -> None:
        """Has it save and stop at the next evaluation."""
        self.leaving.set()

    def pause(self) -> None:
        """Has it save at the next evaluation, and wait for another unit."""
        self.pausing.set()

    def _asked(self) -> Wish:
        if self.leaving.is_set():
            return "stop"
        wanted = self.pausing.is_set()
        self.pausing.clear()
        return "pause" if wanted else None


class _Outbox:
    """Keeps runs by sending them to the driver, which has the store."""

    def __init__(self, outbox: queue.Queue[Any], found: dict[str, Checkpoint | None]) -> None:
        self.outbox, self.found = outbox, found

    def checkpoint(self, name: str) -> Checkpoint | None:
        """The newest checkpoint of a run, as it was when the unit was sent."""
        return self.found.get(name)

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Sends a checkpoint."""
        self.outbox.put(("save", name, checkpoint))

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Sends a finished run."""
        self.outbox.put(("seal", name, experiment, record))
