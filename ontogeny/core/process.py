"""What is asked of the system, or of Python, about processes. All such tricks are here,
each with what it was measured to gain; where a system knows no such call, nothing is done."""

import ctypes
import gc
import os
import signal
from contextlib import suppress
from typing import NoReturn

_PR_SET_PDEATHSIG = 1


def collect_seldom() -> None:
    """Garbage is collected seldom: imports make many objects that stay, and looking through them
    again and again is a tenth of the time that a command takes to start."""
    gc.set_threshold(50_000)


def give_back() -> None:
    """Gives what is free to the system: after compiling, some two hundred megabytes (glibc)."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def die_with_parent(parent: int | None = None) -> None:
    """Has the system end this process when the thread that started it ends, however that happens
    and whatever this process is at (Linux). Who knows the parent's number gives it: the parent may
    have ended before."""
    known = os.getppid() if parent is None else parent
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    # the parent ended before the call above: of that the system will never tell
    if os.getppid() != known:
        exit_at_once(1)


def is_alive(pid: int) -> bool:
    """Whether a process of this machine is there."""
    if os.name == "nt":  # there, to ask is to terminate
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it is there, and another's
    return pid > 0


def exit_at_once(code: int) -> NoReturn:
    """Ends this process without taking it apart, which would take jax half a second, and for ever
    where somebody's thread does not end. Whoever calls this has said and kept all there is."""
    os._exit(code)
