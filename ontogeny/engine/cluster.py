"""Where units of work run, continued: on Ray, the cores of one machine or of many.

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

from ..core.fields import ConfigError
from .environment import commit, missing
from .machine import grown, settle
from .schedule import Crew, Done, Failures, Pool, Progress, WorkerError, follow
from .store import Checkpoint, Record, Store, log
from .unit import Interrupted, Unit, patience, perform

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
        return _Far(units, store, self.ray, failures).work(self.workers, progress)


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


class _Far(Crew):
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
        self.actor = ray.remote(num_cpus=1, max_concurrency=3)(_Worker)
        self.people: dict[int, Any] = {}
        self.letters: dict[Any, int] = {}  # what was asked of which place

    def hire(self, place: int) -> None:
        self.people[place] = self.actor.remote()
        self._ask(place)

    def send(self, place: int, unit: Unit) -> None:
        found = {lane.name: self.store and self.store.checkpoint(lane.name) for lane in unit.lanes}
        kept = found if self.store else None
        packed = self.ray.cloudpickle.dumps((unit, kept, patience()))
        self.people[place].take.remote(packed)

    def ask_to_share(self, place: int) -> None:
        self.people[place].share.remote()

    def retire(self, place: int) -> None:
        self.letters = {letter: at for letter, at in self.letters.items() if at != place}
        self.ray.kill(self.people[place])

    def news(self) -> Iterator[tuple[int, Any]]:
        return self._listen(None)

    def _listen(self, seconds: float | None) -> Iterator[tuple[int, Any]]:
        """In turns: who is asked again comes last."""
        try:
            answered, _ = self.ray.wait(list(self.letters), timeout=seconds)
        except ConnectionError as error:
            raise WorkerError(f"the cluster is gone; what was done is kept ({error})") from None
        for letter in answered:
            place = self.letters.pop(letter)
            try:
                messages = self.ray.get(letter)
            except self.ray.exceptions.RayActorError as error:
                messages = [("died", str(error).strip().splitlines()[-1])]
            else:
                self._ask(place)
            for message in messages:
                if message[0] in ("save", "seal"):
                    self._keep(*message)
                else:
                    yield place, message

    def dismiss(self) -> None:
        """Fetches what those at work save when they are told to stop."""
        leaving, until = set(self.busy), time.monotonic() + _FAREWELL
        with suppress(Exception):  # a cluster that is gone has nothing more to say
            for place in leaving:
                self.people[place].leave.remote()
            while leaving and (left := until - time.monotonic()) > 0:
                leaving -= {place for place, (word, *_) in self._listen(left) if word != "news"}
        for person in self.people.values():
            with suppress(Exception):
                self.ray.kill(person)

    def _ask(self, place: int) -> None:
        self.letters[self.people[place].news.remote()] = place

    def _keep(self, how: str, name: str, *what: Any) -> None:
        try:
            getattr(self.store, how)(name, *what)
        except OSError as error:  # a full disk costs the record, not the run
            log.warning("%s is not kept: %s", name, error)


class _Worker:
    """One core far away."""

    def __init__(self) -> None:
        settle()
        self.letters: queue.Queue[Any] = queue.Queue(_AHEAD)
        self.leaving, self.sharing = threading.Event(), threading.Event()
        self.letters.put(("ready",))

    def news(self) -> list[Any]:
        """What there is to say, as soon as there is something."""
        found = [self.letters.get()]
        with suppress(queue.Empty):
            while True:
                found.append(self.letters.get_nowait())
        return found

    def take(self, packed: bytes) -> None:
        """Does a unit; it is unpacked here, so that what cannot be is said like all else."""
        from ray import cloudpickle

        tell = self.letters.put
        try:
            unit, checkpoints, seconds = cloudpickle.loads(packed)
            self.sharing.clear()  # it was about the unit before
            keeper = None if checkpoints is None else _Post(self.letters, checkpoints)
            evaluations = perform(unit, keeper, self._asked, seconds)
            records = follow(evaluations, lambda news: tell(("news", news)))
            tell(("done", records, grown()))
        except Interrupted:
            tell(("left",))
        except ConfigError as error:
            tell(("failed", error))
        except Exception as error:
            tell(("failed", WorkerError.of(error)))

    def leave(self) -> None:
        """Has it save and stop at the next look."""
        self.leaving.set()

    def share(self) -> None:
        """Has it give half of its rows away at the next look."""
        self.sharing.set()

    def _asked(self) -> str:
        if self.leaving.is_set():
            return "stop"
        wanted = self.sharing.is_set()
        self.sharing.clear()
        return "share" if wanted else ""


class _Post:
    """Keeps runs by sending them to who asked for them."""

    def __init__(self, letters: queue.Queue[Any], found: dict[str, Checkpoint | None]) -> None:
        self.letters, self.found = letters, found

    def checkpoint(self, name: str) -> Checkpoint | None:
        """The newest checkpoint of a run, as it was when the unit was sent."""
        return self.found.get(name)

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Sends a checkpoint."""
        self.letters.put(("save", name, checkpoint))

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Sends a finished run."""
        self.letters.put(("seal", name, experiment, record))
