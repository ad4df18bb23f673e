"""The machine that a process runs on: its cores, its memory, the programs that are compiled on it.

Where a system has no such calls (glibc's, Linux's), nothing is done.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

import jax
import platformdirs
from filelock import FileLock, Timeout

from ..core.process import give_back


def settle(core: int | None = None) -> None:
    """Makes this process a worker: one thread that computes, on a core of its own if one is named;
    as many that compile as there are cores; programs on disk."""
    flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    remember_programs()
    if core is not None:
        _pin({sorted(_ALL)[core % len(_ALL)]})
    jax.devices()  # starts the threads that compute: as many as there are cores to run on now
    with _on_all_cores():
        jax.jit(lambda x: x + 1)(0.0)  # and now those that compile


# ------------------------------------------------------------------------------ cores


def _cores() -> set[int]:
    """The cores of this thread."""
    named = hasattr(os, "sched_getaffinity")
    return set(os.sched_getaffinity(0)) if named else set(range(os.cpu_count() or 1))


_ALL = _cores()  # before any thread is kept to one of them


def cores() -> int:
    """How many processes may run at once."""
    return len(_ALL)


def _pin(cores: Iterable[int]) -> None:
    """Keeps every thread of this process to some cores."""
    with suppress(OSError, AttributeError):
        for thread in os.listdir("/proc/self/task"):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), cores)


@contextmanager
def _on_all_cores() -> Iterator[None]:
    own = _cores()
    if own == _ALL:  # nobody was kept to a core
        yield
        return
    _pin(_ALL)
    try:
        yield
    finally:
        _pin(own)


# ------------------------------------------------------------------------------ programs


def programs() -> Path:
    """The folder of compiled programs."""
    return platformdirs.user_cache_path("ontogeny", appauthor=False) / "compiled"


def remember_programs() -> None:
    """Keeps compiled programs in the user's cache folder, so that a second start is quick."""
    jax.config.update("jax_compilation_cache_dir", str(programs()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def remembers_programs() -> bool:
    """Whether compiled programs are kept, where others find them."""
    return bool(jax.config.jax_compilation_cache_dir)  # type: ignore[attr-defined]


def known(options: Mapping[str, int]) -> dict[str, int]:
    """Those of the compiler's options that it knows: they come and go with jax's versions."""
    return {option: value for option, value in options.items() if _knows(option, value)}


@cache
def _knows(option: str, value: int) -> bool:
    """There is no list to look in: compiling a constant with it takes 3 to 10 ms, or is refused."""
    try:
        jax.jit(lambda: 0, compiler_options={option: value}).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


def compile_once(programs: Mapping[str, Callable[[], jax.stages.Lowered]]) -> None:
    """Compiles programs by name, on all cores, each in one process of this machine only: what
    another compiles just now is left for later, and then found on disk."""
    left = dict(programs)
    while left:
        first = next(iter(left))  # to wait for, if others are at all of them
        free = ((name, lock) for name in left if (lock := _locked(name, 0)))
        name, lock = next(free, None) or (first, _locked(first, -1))
        with lock or nullcontext(), _on_all_cores():
            left.pop(name)().compile()
        give_back()


def _locked(name: str, seconds: float) -> AbstractContextManager[Any] | None:
    """The lock of a program, held, if it is to be had in time (never too late, if that is -1). Its
    end, or that of this process, frees it. Where nothing can be locked, nobody waits."""
    try:
        programs().mkdir(parents=True, exist_ok=True)
        file = programs() / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock"
        return FileLock(file).acquire(timeout=seconds)
    except Timeout:
        return None
    except (OSError, NotImplementedError):  # a folder that cannot be written has no programs either
        return nullcontext()


# ------------------------------------------------------------------------------ memory


# Every program that is compiled leaves some 20 MB behind, whatever is cleared: a worker that has
# come to this many bytes makes way for a new one.
_GROWN = 2**30


def grown() -> bool:
    """Whether this process has become large."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") > _GROWN
    except (OSError, ValueError):  # not on Linux
        return False


def memory() -> float:
    """Bytes that all workers of this machine may use: half of what it has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    except (ValueError, OSError, AttributeError):
        return 4 * 2**30
