"""How the work goes, for people: a live display on a terminal, plain lines elsewhere."""

import math
import os
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .crew import Progress
from .perform import Look, Unit
from .store import Store

PLAIN_SECONDS = 5.0
NOTE_SECONDS = 0.5


class Counted(Progress):
    """Knows how much is done; the subclasses show it."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store  # where others may read how far it is
        self.noted = 0.0
        self.running: dict[int, tuple[Unit, Look]] = {}
        self.cost = 0.0
        self.done: dict[int, float] = {}
        self.started = time.monotonic()
        self.units = 0
        self.expected = 0.0  # seconds, before anything is known

    def close(self) -> None:
        """Leaves the terminal as it was."""
        if self.store and self.units:
            self.store.note_work(os.getpid(), None)

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        """Takes note of all that is to be done."""
        if not self.units:
            self.started = time.monotonic()
        self.cost += sum(unit.cost for unit in units) or 1.0
        self.units += len(units)
        self.expected = expected(units, workers)
        self._note(at_once=True)

    def looked(self, unit: Unit, look: Look) -> None:
        """A unit came to a look."""
        self.done[id(unit)] = unit.cost * look.step / max(look.steps, 1)
        self.running[id(unit)] = unit, look
        self._note()

    def shared(self, unit: Unit, parts: Sequence[Unit]) -> None:
        """A unit goes on as several, each as far as it was."""
        done = self.done.pop(id(unit), 0.0) / (unit.cost or 1.0)
        self.done |= {id(part): part.cost * done for part in parts}
        self.running.pop(id(unit), None)

    def finished(self, unit: Unit) -> None:
        """A unit is done."""
        self.done[id(unit)] = unit.cost
        self.running.pop(id(unit), None)
        self._note()

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
                {"label": unit.label, "step": look.step, "steps": look.steps, "news": told(look)}
                for unit, look in self.running.values()
            ],
        }
        with suppress(OSError):
            self.store.note_work(os.getpid(), news)

    @property
    def fraction(self) -> float:
        """How much of the arithmetic is done."""
        return min(1.0, sum(self.done.values()) / self.cost) if self.cost else 0.0

    @property
    def left(self) -> str:
        """About how much longer it will take."""
        if self.fraction < 0.01:
            return f"about {duration(self.expected)}"
        return duration((time.monotonic() - self.started) * (1 / self.fraction - 1))


class Plain(Counted):
    """A line every few seconds."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(store)
        self.spoke = 0.0

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        super().planned(units, workers)
        lanes = sum(len(unit.lanes) for unit in units)
        about = f"about {duration(self.expected)}"
        self._say(f"running {lanes} runs in {len(units)} units on {workers} workers: {about}")

    def looked(self, unit: Unit, look: Look) -> None:
        super().looked(unit, look)
        if time.monotonic() - self.spoke > PLAIN_SECONDS:
            self._say(f"{self.fraction:4.0%}  {unit.label}  {told(look)}  {self.left} left")

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
        self.rows: dict[int, Any] = {}
        self.bars.start()

    def close(self) -> None:
        super().close()
        self.bars.stop()

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        super().planned(units, workers)
        self._whole()

    def looked(self, unit: Unit, look: Look) -> None:
        super().looked(unit, look)
        if id(unit) not in self.rows:
            self.rows[id(unit)] = self.bars.add_task(unit.label[-60:], total=1.0, news="")
        self.bars.update(
            self.rows[id(unit)],
            completed=look.step / max(look.steps, 1),
            news=told(look),
        )
        self._whole()

    def shared(self, unit: Unit, parts: Sequence[Unit]) -> None:
        super().shared(unit, parts)
        self._remove(unit)

    def finished(self, unit: Unit) -> None:
        super().finished(unit)
        self._remove(unit)

    def _remove(self, unit: Unit) -> None:
        if id(unit) in self.rows:
            self.bars.remove_task(self.rows.pop(id(unit)))
        self._whole()

    def _whole(self) -> None:
        news = f"{self.fraction:.0%}  {self.left} left"
        self.bars.update(self.whole, completed=self.fraction, news=news)


_COMPILING = 12.0  # seconds that the first unit of a structure takes before it steps
_USED = 0.4  # of the rate of large products, in training


def expected(units: Sequence[Unit], workers: int) -> float:
    """About how many seconds work will take, from its operations and a product timed here."""
    matrix = np.ones((768, 768), np.float32)
    times = []
    for _ in range(4):
        began = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - began)
    rate = _USED * 2 * len(matrix) ** 3 / min(times)  # of all cores together
    share = min(1.0, workers / (os.cpu_count() or 1))
    new = sum(unit.turn == 0 for unit in units)
    return sum(u.cost for u in units) / (rate * share) + _COMPILING * max(1.0, new / workers)


def progress(store: Store | None = None) -> Counted:
    """What suits where standard error goes; and noted in a store, for who looks there."""
    return Live(store) if sys.stderr.isatty() else Plain(store)


def told(look: Look) -> str:
    """A look in a few words."""
    loss = "" if math.isnan(look.loss) else f"  loss {look.loss:.4f}"
    return f"step {look.step}/{look.steps}{loss}"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
