"""The process in which a user's module is imported, checked and trained. It may end in any way, so
it reports as it goes: a line of JSON for what it is about to do, and for each result.
"""

import json
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ...core.errors import one_line
from ...core.fields import ConfigError
from ...core.process import die_with_parent, exit_at_once
from ...engine.execute import execute
from ...engine.pools.cluster import Cluster
from ...engine.pools.here import Here
from ...engine.pools.limits import Limits
from ...engine.pools.processes import Processes
from ...engine.runs import RunSpec, specs
from ...engine.schedule import Pool, Progress
from ...engine.store import Record, Store
from ...engine.units import News, Unit
from ..battery import battery
from ..evaluate import Candidate, experiments, label
from ..load import PREFIX, source_of

CLOSED = 86  # the exit code when the module has closed the pipes


class Channel:
    """The pipes to the parent: what this process was given as standard input and output.

    A module that reads standard input finds it empty; what it prints goes to standard error.
    """

    def __init__(self) -> None:
        self.own, self.lock = os.getpid(), threading.Lock()
        self.requests, self.out = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)

    def request(self) -> dict[str, Any]:
        """What to do; from now on this process ends when its parent does."""
        text = b""
        while not text.endswith(b"\n"):
            if not (piece := os.read(self.requests, 1 << 16)):
                exit_at_once(1)
            text += piece
        found: dict[str, Any] = json.loads(text)
        die_with_parent(found["parent"])
        threading.Thread(target=self._wait_for_parent, daemon=True).start()
        return found

    def _wait_for_parent(self) -> None:
        while os.read(self.requests, 1):
            pass
        exit_at_once(1)

    def send(self, **message: Any) -> None:
        """Sends a message. If the module has forked, only the original process goes on."""
        if os.getpid() != self.own:
            exit_at_once(0)
        text = json.dumps(message).encode() + b"\n"
        with self.lock:
            while text:
                try:
                    text = text[os.write(self.out, text) :]
                except OSError:  # the module has closed the pipe
                    exit_at_once(CLOSED)

    def doing(self, what: str) -> None:
        """Reports what is about to be done with the module."""
        self.send(doing=what)


class _Relay(Progress):
    """Sends progress to the parent, which shows it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.units: list[Unit] = []  # by their number
        self.sent: set[str] = set()  # runs whose answers the parent has

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        self.channel.send(planned=self._described(units), workers=workers)

    def began(self, unit: Unit) -> None:
        self.channel.send(began=self._number(unit))

    def evaluated(self, unit: Unit, news: News) -> None:
        self.channel.send(evaluated=self._number(unit), news=list(news))

    def paused(self, unit: Unit) -> None:
        self.channel.send(paused=self._number(unit))

    def failed(self, unit: Unit, why: str) -> None:
        self.channel.send(failed=self._number(unit), why=why)

    def finished(self, unit: Unit) -> None:
        self.channel.send(finished=self._number(unit))

    def answered(self, spec: RunSpec, record: Record) -> None:
        self.sent.add(spec.name)
        answers = {
            name: {"dtype": str(values.dtype), "values": values.tolist()}
            for name, values in record.answers.items()
        }
        about = {"failure": record.failure, "environment": record.environment}
        self.channel.send(answered=spec.name, answers=answers, **about)

    def _described(self, units: Sequence[Unit]) -> list[dict[str, Any]]:
        self.units += units
        return [
            {
                "number": self._number(unit),
                "runs": [[spec.label, spec.seed, spec.name] for spec in unit.specs],
                "cost": unit.cost,
                "first": unit.first,
            }
            for unit in units
        ]

    def _number(self, unit: Unit) -> int:
        return next(n for n, known in enumerate(self.units) if known is unit)


def _pool(request: dict[str, Any]) -> Pool:
    workers, on = request["workers"], request["on"]
    if on:
        return Cluster(None if on == "ray" else on, workers)
    limits = Limits(request["seconds"], request["memory"])
    return Processes(workers, limits) if workers else Here()


def _examine(request: dict[str, Any], channel: Channel) -> None:
    pool = _pool(request)
    pool.prepare()  # before the module can have changed anything here
    channel.doing("the module was being imported")
    source = source_of(request["model"])
    candidate = Candidate(request["name"] or source.name, source, channel.doing)
    if type(candidate.model).__module__.startswith(PREFIX) and not request["on"]:
        pool = Here()  # workers could not import its class
    channel.doing("its training was being planned")
    learning_rate, seeds = request["learning_rate"], request["seeds"]
    ready, steps, failures = [], {}, {}
    for benchmark in battery(request["battery"]):
        if benchmark.name in request["benchmarks"]:
            try:
                steps[benchmark.name] = candidate.operations(benchmark, learning_rate)
                ready.append(benchmark)
            except Exception as error:
                failures[label(candidate, benchmark)] = (
                    f"it could not be planned: {one_line(error)}"
                )
    planned = experiments(candidate, tuple(ready), learning_rate)
    runs = {name: specs(name, each, range(seeds)) for name, each in planned.items()}
    channel.send(
        info=candidate.info(steps).as_json(),
        runs={name: [spec.name for spec in some] for name, some in runs.items()},
        clocks={name: each.evaluated_at for name, each in planned.items()},
        failures=failures,
        here=isinstance(pool, Here),
    )
    store = Store(request["store"]) if request["store"] else None
    relay = _Relay(channel)
    execute(planned, seeds, on=pool, store=store, progress=relay, failures={})
    for spec in (spec for some in runs.values() for spec in some if spec.name not in relay.sent):
        if record := store.load(spec.name) if store else None:  # it was kept before
            relay.answered(spec, record)
    if isinstance(pool, Cluster):
        with suppress(Exception):
            pool.ray.shutdown()


def main() -> None:
    """Serves one request, then exits at once: nothing of the module's is waited for."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent decides
    channel = Channel()
    request = channel.request()
    try:
        _examine(request, channel)
        channel.send(done="ok")
    except BaseException as error:  # a module may raise anything
        if type(error) is ConfigError:
            channel.send(done="invalid", why=str(error))
        else:
            channel.send(done="raised", why=f"it raised {one_line(error)}")
    exit_at_once(0)


if __name__ == "__main__":
    main()
