"""An interrupt ends any command soon, whatever it is at, and never in the middle of an import:
there it would be lost, be reported as another error, or crash a library that is half loaded.

Python handles a signal between two of its own instructions: not while a program is compiled, nor
while weights are loaded. So a thread reads signals from a pipe, and ends the process if the
command has not come to an end in time.
"""

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import NoReturn

from ..core.process import exit_at_once

SECONDS = 4.0  # that a command has to put its things away
_AGAIN = 0.02  # until it is asked once more whether imports are over
INTERRUPTED = 130
STOPPED = "\nstopped; what was done is kept, and the same command goes on from it\n"


def watch() -> None:
    """Has interrupts heard, from now on. To be terminated is to be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGINT, _interrupt)  # a shell's background job ignores it
    signal.signal(signal.SIGTERM, _interrupt)
    sys.unraisablehook = _raised_where_none_can_be
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)  # set_wakeup_fd demands it
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=_listen, args=(ear,), daemon=True).start()


def stop_watching() -> None:
    """Lets an interrupt end the process as it does any: all has been said and kept, and what is put
    away at the end would tell of it with a traceback."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt; once imports are over, if there are any under way."""
    while frame is not None:
        # an import anywhere down the stack, ours or a library's
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            again = threading.Timer(_AGAIN, signal.raise_signal, [number])
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _raised_where_none_can_be(raised: "sys.UnraisableHookArgs") -> None:
    """An interrupt within a library's callback is lost there: it is raised once more."""
    if raised.exc_type is KeyboardInterrupt:
        signal.raise_signal(signal.SIGINT)
    else:
        sys.__unraisablehook__(raised)


def _listen(ear: int) -> None:
    while heard := os.read(ear, 1):
        if heard[0] in (signal.SIGINT, signal.SIGTERM):
            time.sleep(SECONDS)
            os.write(2, STOPPED.encode())
            exit_at_once(INTERRUPTED)


def leave() -> NoReturn:
    """Ends the process as one that was interrupted: threads and libraries are not waited for."""
    try:
        sys.stdout.flush()
        sys.stderr.write(STOPPED)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody listens
    exit_at_once(INTERRUPTED)
