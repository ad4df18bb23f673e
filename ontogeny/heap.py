"""The memory that compiling takes, and how much of it a process keeps. Where there is no glibc,
nothing is done."""

import ctypes
from contextlib import suppress

_M_ARENA_MAX = -8  # in glibc's malloc.h: how many heaps there may be


def hold_one() -> None:
    """Keeps to one heap for all threads: compiling then takes a tenth less."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Gives what is free to the system: after compiling, some two hundred megabytes."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
