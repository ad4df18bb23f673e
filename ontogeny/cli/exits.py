"""How a command ends: exit codes, errors in one line, results that could not be saved."""

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

# 2: asked for what cannot be; nothing was done, and the words are to be changed
DONE, FAILED, REFUSED = 0, 1, 2


class Incomplete(Exception):  # noqa: N818
    """The work was done and shown, but something could not be saved, or not be judged."""


@contextmanager
def saving() -> Iterator[Callable[..., bool]]:
    """Saves one thing after the other: what cannot be saved stops none of the others, and is an
    error in the end."""
    lost: dict[str, list[str]] = {}

    def save(what: str, write: Callable[..., Any], *given: Any) -> bool:
        try:
            write(*given)
        # a full disk or a folder without rights; any other error is a bug, and shows
        except OSError as error:
            lost.setdefault(reason(error), []).append(what)
            return False
        return True

    yield save
    if lost:
        raise Incomplete("; ".join(f"{_some(what)} not saved: {why}" for why, what in lost.items()))


def _some(things: list[str]) -> str:
    return things[0] if len(things) == 1 else f"{things[0]} and {len(things) - 1} more"


def reason(error: OSError) -> str:
    """What the system says, and of which file."""
    where = f" ({error.filename})" if error.filename else ""
    return f"{error.strerror or error}{where}"


def refuse_old_names(words: Sequence[str]) -> None:
    """An error that names the new command, for one that has been renamed."""
    from ..core.renamed import COMMANDS

    if words and words[0] in COMMANDS:
        from ..core.fields import ConfigError

        raise ConfigError(f"`{words[0]}` is now called `ontogeny {COMMANDS[words[0]]}`")


def explain(error: Exception) -> tuple[str, int]:
    """An error in one line, and the exit code."""
    from ..core.fields import ConfigError

    match error:
        case Incomplete():
            return str(error), FAILED
        case ConfigError():
            return str(error), REFUSED
        case OSError():
            return reason(error), REFUSED
        case MemoryError():
            return "not enough memory", FAILED
    if os.environ.get("ONTOGENY_TRACEBACK"):
        traceback.print_exception(error)
    kind = type(error).__name__
    first = str(error).strip().partition("\n")[0][:300]
    more = "ONTOGENY_TRACEBACK=1 shows where"
    return f"internal error, {kind}: {first} ({more})", FAILED


def printable(text: str) -> str:
    """Text with unprintable characters (a path may hold them) escaped."""
    # a file name that is no UTF-8 has lone surrogates, which cannot be written
    return text.encode(errors="backslashreplace").decode()


class Output:
    """Standard output that may fail without stopping the command: a reader that leaves early
    (`| head`) is no error, a full disk is reported in the end (`lost`)."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._closed = stream, False
        self.lost = ""

    def write(self, text: str) -> int:
        """Writes, if that can be."""
        self._try(self._stream.write, printable(text))
        return len(text)

    def flush(self) -> None:
        """Flushes, if that can be."""
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
