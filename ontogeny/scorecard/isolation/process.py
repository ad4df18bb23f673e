"""The process in which a user's module runs, as its parent sees it."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from ...engine.pools import children

_GRACE = 3.0  # seconds in which it may save and exit
_PRINTED = 10**6  # bytes of what it prints that are kept

_START = "import sys; sys.path[:] = {}; from ontogeny.scorecard.isolation.child import main; main()"
_GUARD = "import os, sys; os.read(0, 1); os.killpg(int(sys.argv[1]), 9)"


class Process:
    """The child process and its messages; nothing heavy is imported to start it."""

    def __init__(self, output: Path | None = None) -> None:
        """`output` is a file for what is printed."""
        self.tag = f"ONTOGENY_EXAMINED={uuid.uuid4().hex}"
        name, _, value = self.tag.partition("=")
        own = {name: value, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START.format([os.path.abspath(path) for path in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | own,
            start_new_session=True,
        )
        self.guard, self.ended = _guard(self.process.pid), False
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.output, self.printed = output, 0
        if output:
            with suppress(OSError):
                output.unlink()  # of an earlier run
        self.readers = [
            threading.Thread(target=task, daemon=True) for task in (self._listen, self._drain)
        ]
        for reader in self.readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, request: Mapping[str, Any]) -> None:
        """Sends what it is to do."""
        asked = json.dumps({**request, "parent": os.getpid()})
        with suppress(OSError):  # it has ended already
            _pipe(self.process.stdin).write(asked.encode() + b"\n")
            _pipe(self.process.stdin).flush()

    def _listen(self) -> None:
        for line in _pipe(self.process.stdout):
            with suppress(ValueError):  # not a message
                message = json.loads(line)
                if isinstance(message, dict):
                    self.messages.put(message)
        self.messages.put(None)

    def _drain(self) -> None:
        """Saves the beginning of what is printed, and discards the rest."""
        while piece := os.read(_pipe(self.process.stderr).fileno(), 1 << 16):
            if self.output and self.printed < _PRINTED:
                with suppress(OSError):  # a full disk, or one that may not be written
                    self.output.parent.mkdir(parents=True, exist_ok=True)
                    with self.output.open("ab" if self.printed else "wb") as file:
                        file.write(piece[: _PRINTED - self.printed])
            self.printed += len(piece)

    def interrupt(self) -> None:
        """Lets it save a checkpoint and exit."""
        with suppress(OSError, ValueError):  # Windows knows no such signal
            self.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            self.process.wait(_GRACE)

    def end(self) -> None:
        """Ends it and everything it has started; once, since its process id may be reused."""
        if self.ended:
            return
        self.ended = True
        children.end(self.process.pid, self.tag)
        self.process.kill()
        self.process.wait()
        if self.guard:
            self.guard.kill()
            self.guard.wait()
            _pipe(self.guard.stdin).close()
        with suppress(OSError):
            _pipe(self.process.stdin).close()
        for reader, pipe in zip(
            self.readers, (self.process.stdout, self.process.stderr), strict=True
        ):
            reader.join(1.0)
            if not reader.is_alive():  # else a process that escaped still holds it
                _pipe(pipe).close()


def _guard(leader: int) -> "subprocess.Popen[bytes] | None":
    """A process that kills the child's group when this one ends, even if it is killed."""
    if not hasattr(os, "killpg"):  # not on Windows
        return None
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _GUARD, str(leader)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _pipe(found: IO[bytes] | None) -> IO[bytes]:
    assert found is not None
    return found
