"""Where progress is shown if nobody says: in a notebook and in a terminal, to who watches."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..core.fields import ConfigError
from ..core.words import duration
from .progress import NOTE_SECONDS, Counted, progress, summary
from .schedule import Progress
from .store import Store
from .units import News, Unit


class Cell(Counted):
    """One line below a notebook's cell, which changes while the work goes on."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(store)
        self.spoke, self.began_at = 0.0, time.monotonic()
        self.handle: Any = None

    def planning(self, done: int, programs: int) -> None:
        self._show(f"planning: {done} of {programs} programs")

    def planned(self, units: Sequence[Unit], workers: int) -> None:
        super().planned(units, workers)
        self._show(f"{self.fraction:.0%}  {self.left} left", at_once=True)

    def evaluated(self, unit: Unit, news: News) -> None:
        super().evaluated(unit, news)
        self._show(f"{self.fraction:.0%}  {self.left} left  {unit.label[-60:]}  {summary(news)}")

    def failed(self, unit: Unit, why: str) -> None:
        self._show(f"failed: {unit.label}: {why}", at_once=True)

    def close(self) -> None:
        super().close()
        if self.handle is not None:
            took = duration(time.monotonic() - self.began_at)
            self._show(f"{self.fraction:.0%} done in {took}", at_once=True)

    def _show(self, text: str, at_once: bool = False) -> None:
        now = time.monotonic()
        if not at_once and now - self.spoke < NOTE_SECONDS:
            return
        self.spoke, data = now, {"text/plain": text}
        if self.handle is None:
            display: Any = import_module("IPython.display").display
            self.handle = display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)


def in_notebook() -> bool:
    """Whether a notebook shows what is said."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def shown(
    asked: Progress | bool | None, store: Store | None, wanted: bool = True
) -> Iterator[Progress]:
    """Somebody's own display; one that is closed in the end, if it is asked for, or if not said
    otherwise and somebody is there to see it; or none."""
    if isinstance(asked, Progress):
        yield asked
        return
    if not isinstance(asked, bool | None):
        raise ConfigError(f"progress must be True, False, None or a Progress, not {asked!r}")
    watched = in_notebook() or sys.stderr.isatty()
    if not wanted or not (watched if asked is None else asked):
        yield Progress()
        return
    own = Cell(store) if in_notebook() else progress(store)
    try:
        yield own
    finally:
        own.close()
