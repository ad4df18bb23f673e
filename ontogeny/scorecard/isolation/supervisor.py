"""The parent's side: it runs none of the user's code, but follows what the child reports.

It ends the child, with everything that it started, when it takes too long or too much memory.
"""

import queue
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.errors import ended
from ...core.external import External, Trainer
from ...core.fields import ConfigError, count
from ...core.run import Run
from ...engine.machine import cores
from ...engine.pools import children
from ...engine.pools.limits import Pace, evaluation_seconds, loading_seconds, too_large, too_slow
from ...engine.runs import RunSpec
from ...engine.schedule import Failures, Progress, note
from ...engine.store import Record
from ...engine.units import News, Unit
from ..evaluate import CandidateInfo
from .child import CLOSED
from .process import Process

_TICK = 0.1  # seconds between checks of the process
_FAMILY = 0.5  # seconds between counts of what it has started
_BEGINNING = 300.0  # seconds in which it must have begun
_LAST = 3.0  # seconds in which the last messages of an ended process must have come
_OVER = 5.0  # seconds that workers may be too large: the pool that leads them acts first
_FAR_OVER = 1.5  # times too large: no waiting


class RemoteExperiment(External):
    """An experiment of which only the steps are known in this process."""

    steps: int = count()
    evaluations: int = count()

    @property
    def operations(self) -> float:
        return 0.0

    def begin(self, seed: int) -> Trainer:
        raise ConfigError("this experiment runs in another process")


@dataclass
class Report:
    """What the child reported."""

    info: CandidateInfo | None = None
    names: dict[str, list[str]] = field(default_factory=dict)  # by label: names of runs
    clocks: dict[str, list[int]] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)  # by name of run
    failures: Failures = field(default_factory=dict)
    failure: str = ""  # why it ended early
    invalid: bool = False  # a check refused the module

    @property
    def runs(self) -> dict[str, Run]:
        """The benchmarks that were finished with all seeds."""
        return {
            label: _gathered(label, self.clocks[label], [self.records[name] for name in names])
            for label, names in self.names.items()
            if label not in self.failures and all(name in self.records for name in names)
        }


def _gathered(label: str, clock: list[int], records: list[Record]) -> Run:
    return Run(
        name=label,
        steps=np.array(clock),
        answers={k: np.stack([r.answers[k] for r in records]) for k in records[0].answers},
        seeds=tuple(range(len(records))),
        failures=tuple(r.failure for r in records if r.failure),
        seconds=sum(r.environment["seconds"] for r in records),
    )


def supervise(
    child: Process,
    request: Mapping[str, Any],
    *,
    memory: float,
    minutes: float | None = None,
    progress: Progress | None = None,
) -> Report:
    """Follows the child to its end; whatever becomes of it, there is a report.

    `memory` is in bytes, for that process and all that it starts.
    """
    child.ask({**request, "memory": memory, "seconds": evaluation_seconds()})
    try:
        return _Supervisor(child, memory, minutes, progress or Progress()).report()
    except KeyboardInterrupt:
        child.interrupt()
        raise


def _ended(code: int) -> str:
    return "it closed the files by which it reports" if code == CLOSED else ended(code)


class _Supervisor:
    """Receives the child's messages, and checks its time and memory."""

    def __init__(
        self, child: Process, memory: float, minutes: float | None, progress: Progress
    ) -> None:
        self.child, self.memory, self.progress = child, memory, progress
        self.seconds = None if minutes is None else 60 * minutes
        self.found = Report()
        self.done = False
        self.doing = ""  # what it is doing, if it has begun
        self.now = 0.0  # seconds; those in which this process was stopped do not count
        self.began = 0.0  # when it began with the module
        self.units: dict[int, Unit] = {}
        self.running: dict[int, int] = {}  # by number of unit: the step that it has come to
        self.here = True  # it trains by itself: no pool supervises it
        self.pace: Pace | None = None
        self.family: set[int] = set()
        self.counted = -_FAMILY
        self.large = 0.0  # since when it has been too large

    def report(self) -> Report:
        """Supervises until it has ended."""
        then = time.monotonic()
        while not self.done:
            self._receive()
            now = time.monotonic()
            self.now, then = self.now + min(now - then, 10 * _TICK), now
            if not self.done and (wrong := self._ended() or self._too_slow() or self._too_large()):
                self._give_up(wrong)
        return self.found

    def _give_up(self, wrong: str) -> None:
        self.done = True
        self.found.failure = f"{wrong} while {self._at()}"
        for number in self.running:
            after = f" (after step {self.running[number]})" if self.running[number] else ""
            note(self.found.failures, self.units[number], f"{wrong}{after}")

    def _at(self) -> str:
        """What it is at."""
        if not self.running:
            return self.doing or "it had not begun"
        number, step = next(iter(self.running.items()))
        specs = self.units[number].specs
        label = specs[0].label.partition(": ")[2]
        seeds = ", ".join(sorted({str(spec.seed) for spec in specs}))
        others = f" and {len(self.running) - 1} more" if len(self.running) > 1 else ""
        after = f", after step {step}" if step else ""
        return f"it was trained for `{label}`, seed{'s' * (',' in seeds)} {seeds}{after}{others}"

    # -- messages

    def _receive(self) -> None:
        with suppress(queue.Empty):
            message = self.child.messages.get(timeout=_TICK)
            while message is not None and not self.done:
                self._handle(message)
                message = self.child.messages.get_nowait()
            if message is None:
                self.child.messages.put(None)
                self._closed()

    def _closed(self) -> None:
        """Its pipe is closed: it has ended, or the module has closed it."""
        if self.done:
            return
        try:
            code = self.child.process.wait(_LAST)
        except subprocess.TimeoutExpired:
            code = CLOSED
        self._give_up(_ended(code))

    def _ended(self) -> str:
        """Why it ended, if it has; processes that it started may still hold its pipe."""
        code = self.child.process.poll()
        if code is None:
            return ""
        until = time.monotonic() + _LAST
        while not self.done and time.monotonic() < until:
            self._receive()
        return "" if self.done else _ended(code)

    def _handle(self, message: dict[str, Any]) -> None:
        match message:
            case {"doing": str(what)}:
                self.began = self.began if self.doing else self.now
                self.doing = what
            case {"info": info, "runs": names, "clocks": clocks}:
                self.found.info, self.here = CandidateInfo(**info), message["here"]
                self.found.names, self.found.clocks = names, clocks
                self.found.failures |= message["failures"]
            case {"answered": name, "answers": answers, "failure": failure, "environment": around}:
                arrays = {k: np.array(v["values"], v["dtype"]) for k, v in answers.items()}
                self.found.records[name] = Record(arrays, failure, around)
            case {"done": how}:
                self.done = True
                self._last(how, message.get("why", ""))
            case _:
                self._follow(message)

    def _last(self, how: str, why: str) -> None:
        self.found.invalid = how == "invalid"
        if how == "raised":
            self._give_up(why)
        elif how == "invalid":
            self.found.failure = why

    def _follow(self, message: dict[str, Any]) -> None:
        """Progress of the training."""
        progress = self.progress
        match message:
            case {"planned": units, "workers": workers}:
                self.doing = "it was trained"
                progress.planned([self._unit(each) for each in units], workers)
            case {"began": number}:
                self.running[number] = 0
                unit = self.units[number]
                work = unit.cost / (len(unit.specs[0].experiment.evaluated_at) - 1)
                self.pace = Pace(evaluation_seconds(), work, lambda: self.now)
                progress.began(unit)
            case {"evaluated": number, "news": news}:
                self.running[number] = news[0]
                if self.pace:
                    self.pace.heard()
                progress.evaluated(self.units[number], News(*news))
            case {"paused": number}:
                self.running.pop(number, None)
                progress.paused(self.units[number])
            case {"failed": number, "why": why}:
                note(self.found.failures, self.units[number], why)
                progress.failed(self.units[number], why)
            case {"finished": number}:
                self.running.pop(number, None)
                self.pace = None
                progress.finished(self.units[number])

    def _unit(self, described: dict[str, Any]) -> Unit:
        """A unit whose runs are in the other process."""
        clocks = self.found.clocks
        unit = self.units[described["number"]] = Unit(
            tuple(
                RunSpec(
                    label, RemoteExperiment(clocks[label][-1], len(clocks[label]) - 1), seed, name
                )
                for label, seed, name in described["runs"]
            ),
            described["cost"],
            first=described["first"],
        )
        return unit

    # -- time and memory

    def _too_slow(self) -> str:
        if self.seconds is not None and self.now > self.seconds:
            return f"{too_slow(self.seconds)} (--minutes {self.seconds / 60:g})"
        if not self.doing:
            return too_slow(_BEGINNING) if self.now > _BEGINNING else ""
        if not self.units:
            limit = loading_seconds()
            return too_slow(limit) if self.now - self.began > limit else ""
        if self.here and self.pace and self.pace.overdue:
            return too_slow(self.pace.allowed)
        return ""

    def _too_large(self) -> str:
        if self.now - self.counted > _FAMILY:
            self.counted = self.now
            self.family = children.family(self.child.process.pid)
        most = max(200, 10 * cores())
        if len(self.family) > most:
            return f"it started more than {most} processes"
        held = children.held(self.family, self.memory)
        if held <= self.memory:
            self.large = self.now
            return ""
        patient = bool(self.units) and not self.here and held < _FAR_OVER * self.memory
        return "" if patient and self.now - self.large < _OVER else too_large(self.memory)
