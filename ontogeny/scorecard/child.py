"""The process in which somebody's module is imported, checked and trained. It may end in any way:
what it was at, and what came of it, it tells as it goes, a line of JSON for each piece of news.
"""

import json
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..core.errors import told
from ..core.fields import ConfigError
from ..engine.batch import Lane, lanes
from ..engine.cluster import Cluster
from ..engine.execute import execute
from ..engine.limits import Limits
from ..engine.machine import die_with_parent
from ..engine.pools import Here, Processes
from ..engine.schedule import Pool, Progress
from ..engine.store import Record, Store
from ..engine.unit import Look, Unit
from .battery import battery
from .bring import source_of
from .sit import Entrant, label, wanted

CLOSED = 86  # the exit code of one whose files were closed by the module


class Line:
    """The way to whoever asked: what this process was given as its standard input and output.

    A module that reads finds nothing there, and what it prints goes where errors go.
    """

    def __init__(self) -> None:
        self.own, self.lock = os.getpid(), threading.Lock()
        self.asked, self.out = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def request(self) -> dict[str, Any]:
        """What is wanted of this process; from now on it ends when the one who asked does."""
        text = b""
        while not text.endswith(b"\n"):
            if not (piece := os.read(self.asked, 1 << 16)):
                os._exit(1)
            text += piece
        found: dict[str, Any] = json.loads(text)
        die_with_parent(found["parent"])
        threading.Thread(target=self._attend, daemon=True).start()
        return found

    def _attend(self) -> None:
        while os.read(self.asked, 1):
            pass
        os._exit(1)

    def say(self, **message: Any) -> None:
        """Sends news. If the module has forked, one of the two goes on."""
        if os.getpid() != self.own:
            os._exit(0)
        text = json.dumps(message).encode() + b"\n"
        with self.lock:
            while text:
                try:
                    text = text[os.write(self.out, text) :]
                except OSError:  # it cannot even say so
                    os._exit(CLOSED)

    def doing(self, what: str) -> None:
        """Says what is about to be done with the module: `it failed while …`."""
        self.say(doing=what)


class _Relay(Progress):
    """Tells how the work goes to whoever shows it."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.units: list[Unit] = []  # by their number

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        self.line.say(planned=self._told(units), workers=workers)

    def began(self, unit: Unit) -> None:
        self.line.say(began=self._number(unit))

    def looked(self, unit: Unit, look: Look) -> None:
        self.line.say(looked=self._number(unit), look=list(look))

    def shared(self, unit: Unit, parts: Sequence[Unit]) -> None:
        self.line.say(shared=self._number(unit), parts=self._told(parts))

    def failed(self, unit: Unit, why: str) -> None:
        self.line.say(failed=self._number(unit), why=why)

    def finished(self, unit: Unit) -> None:
        self.line.say(finished=self._number(unit))

    def answered(self, lane: Lane, record: Record) -> None:
        answers = {
            name: {"dtype": str(values.dtype), "values": values.tolist()}
            for name, values in record.answers.items()
        }
        about = {"failure": record.failure, "environment": record.environment}
        self.line.say(answered=lane.name, answers=answers, **about)

    def _told(self, units: Sequence[Unit]) -> list[dict[str, Any]]:
        self.units += units
        return [
            {
                "number": self._number(unit),
                "lanes": [[lane.label, lane.seed, lane.name] for lane in unit.lanes],
                "cost": unit.cost,
                "turn": unit.turn,
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


def _examine(request: dict[str, Any], line: Line) -> None:
    pool = _pool(request)
    pool.prepare()  # before anything of this process can have been changed
    line.doing("the module was being imported")
    source = source_of(request["model"])
    entrant = Entrant(request["name"] or source.name, source, line.doing)
    if type(entrant.model).__module__.startswith("brought_") and not request["on"]:
        pool = Here()  # workers could not import what it is made of
    line.doing("its training was being planned")
    learning_rate, seeds = request["learning_rate"], request["seeds"]
    able, steps, unable = [], {}, {}
    for exam in battery(request["battery"]):
        if exam.name in request["exams"]:
            try:
                steps[exam.name] = entrant.operations(exam, learning_rate)
                able.append(exam)
            except Exception as error:
                unable[label(entrant, exam)] = f"it could not be planned: {told(error)}"
    experiments = wanted(entrant, tuple(able), learning_rate)
    rows = {name: lanes(name, each, range(seeds)) for name, each in experiments.items()}
    line.say(
        account=entrant.account(steps).as_json(),
        rows={name: [lane.name for lane in row] for name, row in rows.items()},
        clocks={name: each.evaluated_at for name, each in experiments.items()},
        unable=unable,
        here=isinstance(pool, Here),
    )
    store = Store(request["store"]) if request["store"] else None
    execute(experiments, seeds, on=pool, store=store, progress=_Relay(line), failures={})
    if isinstance(pool, Cluster):
        with suppress(Exception):
            pool.ray.shutdown()


def main() -> None:
    """Does what it is asked to, and leaves at once: nothing of the module's is waited for."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the one who asked decides
    line = Line()
    request = line.request()
    try:
        _examine(request, line)
        line.say(over="done")
    except BaseException as error:  # a module may raise anything
        if type(error) is ConfigError:
            line.say(over="invalid", why=str(error))
        else:
            line.say(over="raised", why=f"it raised {told(error)}")
    os._exit(0)


if __name__ == "__main__":
    main()
