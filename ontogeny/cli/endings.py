"""How a command ends when something could not be written, or nobody reads on."""

import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

DONE, FAILED, REFUSED = 0, 1, 2


class Incomplete(Exception):  # noqa: N818
    """The work was done and shown, and something could not be kept, or not be weighed."""


@contextmanager
def keeping() -> Iterator[Callable[..., bool]]:
    """Keeps one thing after the other: what cannot be kept stops none of the others, and is said in
    the end."""
    lost: dict[str, list[str]] = {}

    def keep(what: str, write: Callable[..., Any], *given: Any) -> bool:
        try:
            write(*given)
        except OSError as error:
            lost.setdefault(reason(error), []).append(what)
            return False
        return True

    yield keep
    if lost:
        raise Incomplete("; ".join(f"{_some(what)} not kept: {why}" for why, what in lost.items()))


def _some(things: list[str]) -> str:
    return things[0] if len(things) == 1 else f"{things[0]} and {len(things) - 1} more"


def reason(error: OSError) -> str:
    """What the system says, and of which file."""
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"


def told(error: Exception) -> tuple[str, int]:
    """What to say of an error, in one line, and the exit code."""
    from ..core.fields import ConfigError

    match error:
        case Incomplete():
            return str(error), FAILED
        case ConfigError():
            return str(error), REFUSED
        case OSError():
            return reason(error), REFUSED
        case MemoryError():
            return "there is not enough memory for this", FAILED
    if os.environ.get("ONTOGENY_TRACEBACK"):
        traceback.print_exception(error)
    kind = type(error).__name__
    first = str(error).strip().partition("\n")[0][:300]
    more = "ONTOGENY_TRACEBACK=1 shows where"
    return f"a fault of ours, {kind}: {first} ({more})", FAILED


def printable(text: str) -> str:
    """Text with whatever cannot be printed (a path may hold it) spelled out."""
    return text.encode(errors="backslashreplace").decode()


class Patient:
    """Standard output that may fail without harm to the work: of a reader who leaves early
    (`| head`) nothing is said, of a full disk (`lost`) in the end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._closed = stream, False
        self.lost = ""

    def write(self, text: str) -> int:
        """Writes, if that can be."""
        self._try(self._stream.write, printable(text))
        return len(text)

    def flush(self) -> None:
        """Hands on what was written, if that can be."""
        self._try(self._stream.flush)

    def _try(self, work: Callable[..., Any], *given: Any) -> None:
        if self._closed:
            return
        try:
            work(*given)
        except OSError as error:
            self._closed = True
            self.lost = "" if isinstance(error, BrokenPipeError) else reason(error)
            # what is in the buffer would be tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
