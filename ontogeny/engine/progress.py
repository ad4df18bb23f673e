"""How the work goes, for people: a live display on a terminal, plain lines elsewhere."""

import math
import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..core.words import counted, duration
from .schedule import OutOfTime, Progress
from .store import Store
from .units import News, Unit

PLAIN_SECONDS = 5.0
NOTE_SECONDS = 0.5


@dataclass
class _Seen:
    """How far a unit is that a worker was given, in seconds of a core."""

    whole: float  # what it was thought to take
    done: float
    start: float  # what of it was done before
    began: float
    ended: float | None = None

    def spent(self, now: float) -> float:
        """How long it has taken so far."""
        return (now if self.ended is None else self.ended) - self.began


class Counted(Progress):
    """Knows how much is done; the subclasses show it."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store  # where others may read how far it is
        self.noted = 0.0
        self.running: dict[Unit, News] = {}
        self.cost = 0.0
        self.seen: dict[Unit, _Seen] = {}
        self.units = 0
        self.workers = 1
        self.deadline: float | None = None  # of `time.monotonic`

    def close(self) -> None:
        """Leaves the terminal as it was."""
        if self.store and self.units:
            self.store.note_work(os.getpid(), None)

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        """Takes note of all that is to be done."""
        self._in_time()
        self.cost += sum(map(_whole, units))
        self.units, self.workers = self.units + len(units), workers
        self._note(at_once=True)

    def began(self, unit: Unit) -> None:
        """A worker was given a unit: a new one, or one that another has left."""
        before = self.seen.get(unit)
        done = before.done if before else 0.0
        self.seen[unit] = _Seen(_whole(unit), done, done, time.monotonic())

    def evaluated(self, unit: Unit, news: News) -> None:
        """A unit came to an evaluation."""
        self.seen[unit].done = _compiling(unit) + _cost(unit) * news.done
        self.running[unit] = news
        self._note()
        self._in_time()

    def paused(self, unit: Unit) -> None:
        """A unit waits again."""
        self.seen[unit].ended = time.monotonic()
        self.running.pop(unit, None)

    def finished(self, unit: Unit) -> None:
        """A unit is done."""
        if unit not in self.seen:  # it was given up before it began
            self.began(unit)
        seen = self.seen[unit]
        seen.done, seen.ended = seen.whole, time.monotonic()
        self.running.pop(unit, None)
        self._note()

    def _in_time(self) -> None:
        """Ends the work, as an interrupt would, once there is no time left for it."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def _note(self, at_once: bool = False) -> None:
        """Writes down how far it is, not too often; a full disk stops no work."""
        now = time.monotonic()
        if not self.store or (now - self.noted < NOTE_SECONDS and not at_once):
            return
        self.noted = now
        news = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "words": sys.argv[1:],
            "fraction": self.fraction,
            "left": self.left,
            "units": [
                {"label": unit.label, "step": news.step, "steps": news.steps, "news": summary(news)}
                for unit, news in self.running.items()
            ],
        }
        with suppress(OSError):
            self.store.note_work(os.getpid(), news)

    @property
    def fraction(self) -> float:
        """How much of the work is done."""
        done = sum(each.done for each in self.seen.values())
        return min(1.0, done / self.cost) if self.cost else 0.0

    @property
    def seconds_left(self) -> float:
        """About how much longer it will take.

        What was thought of a unit is off by a factor, partly the machine's, which is that of all
        units, and partly its own. So what runs goes on as it was seen to; what waits is thought
        to be off as others were, the more so the more of them were seen.
        """
        now, seen = time.monotonic(), list(self.seen.values())
        spent = _TRUST + sum(each.spent(now) for each in seen)
        worked = _TRUST + sum(each.done - each.start for each in seen)
        known = sum(each.done > each.start for each in seen)
        pace = math.exp(math.log(spent / worked) * known / (known + _ALIKE))
        waiting = max(0.0, self.cost - sum(each.whole for each in seen)) * pace
        longest = 0.0
        for each in seen:
            own = (_TRUST * pace + each.spent(now)) / (_TRUST + each.done - each.start)
            left = (each.whole - each.done) * own
            waiting += left
            longest = max(longest, left)  # a unit is one worker's at a time
        return max(waiting / self.workers, longest)

    @property
    def left(self) -> str:
        """The same for people."""
        return f"{'' if self.running else 'about '}{duration(self.seconds_left)}"


class Plain(Counted):
    """A line every few seconds."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(store)
        self.spoke = time.monotonic()

    def said(self, text: str) -> None:
        self._say(text)

    def planning(self, done: int, programs: int) -> None:
        if time.monotonic() - self.spoke > PLAIN_SECONDS:
            self._say(f"planning: {done} of {programs} programs")

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        super().planned(units, workers)
        runs = sum(len(unit.specs) for unit in units)
        many = (counted(runs, "run"), counted(len(units), "unit"), counted(workers, "worker"))
        self._say("running {} in {} on {}: {}".format(*many, self.left))

    def evaluated(self, unit: Unit, news: News) -> None:
        super().evaluated(unit, news)
        if time.monotonic() - self.spoke > PLAIN_SECONDS:
            self._say(f"{self.fraction:4.0%}  {unit.label}  {summary(news)}  {self.left} left")

    def failed(self, unit: Unit, why: str) -> None:
        self._say(f"failed: {unit.label}: {why}")

    def _say(self, text: str) -> None:
        self.spoke = time.monotonic()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class Live(Counted):
    """Bars that move: all the work on top, then each unit that runs."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(store)
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self.bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[news]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self.whole = self.bars.add_task("all", total=1.0, news="")
        self.bar_of: dict[Unit, Any] = {}
        self.bars.start()

    def close(self) -> None:
        super().close()
        self.bars.stop()

    def said(self, text: str) -> None:
        self.bars.console.print(text, markup=False, highlight=False)

    def planning(self, done: int, programs: int) -> None:
        news = f"{done} of {programs} programs"
        self.bars.update(self.whole, description="planning", completed=done / programs, news=news)

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        super().planned(units, workers)
        self.bars.update(self.whole, description="all")
        self._whole()

    def evaluated(self, unit: Unit, news: News) -> None:
        super().evaluated(unit, news)
        if unit not in self.bar_of:
            self.bar_of[unit] = self.bars.add_task(unit.label[-60:], total=1.0, news="")
        self.bars.update(
            self.bar_of[unit],
            completed=news.done,
            news=summary(news),
        )
        self._whole()

    def paused(self, unit: Unit) -> None:
        super().paused(unit)
        self._remove(unit)

    def finished(self, unit: Unit) -> None:
        super().finished(unit)
        self._remove(unit)

    def failed(self, unit: Unit, why: str) -> None:
        self.bars.console.print(f"failed: {unit.label}: {why}", markup=False, highlight=False)

    def _remove(self, unit: Unit) -> None:
        if unit in self.bar_of:
            self.bars.remove_task(self.bar_of.pop(unit))
        self._whole()

    def _whole(self) -> None:
        news = f"{self.fraction:.0%}  {self.left} left"
        self.bars.update(self.whole, completed=self.fraction, news=news)


_COMPILING = 6.0  # seconds that the first unit of a structure takes before it steps
_TRUST = 5.0  # seconds of work that what was thought at first counts as
_ALIKE = 1.0  # units after which as much of what is seen is put down to the machine as to chance
_USUAL = 5e10  # operations a second in large products, of the core that costs were measured on


def _compiling(unit: Unit) -> float:
    return _COMPILING * slowness() if unit.first else 0.0


def _cost(unit: Unit) -> float:
    return unit.cost * slowness()


def _whole(unit: Unit) -> float:
    return _compiling(unit) + _cost(unit)


@cache
def slowness() -> float:
    """How much longer a core of this machine takes, from a product timed here."""
    matrix, times = np.ones((768, 768), np.float32), []
    for _ in range(4):
        began = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - began)
    speed = 2 * len(matrix) ** 3 / min(times) / (os.cpu_count() or 1)  # numpy takes all cores
    return float(np.clip(_USUAL / speed, 0.2, 5.0))


def progress(store: Store | None = None) -> Counted:
    """What suits where standard error goes; and noted in a store, for who looks there."""
    return Live(store) if sys.stderr.isatty() else Plain(store)


def summary(news: News) -> str:
    """How far a unit is, in a few words."""
    loss = "" if math.isnan(news.loss) else f"  loss {news.loss:.4f}"
    return f"step {news.step}/{news.steps}{loss}"
