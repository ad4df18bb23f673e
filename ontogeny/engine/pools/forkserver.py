"""Where worker processes come from: they are forked from one that has imported what they need, and
done nothing else.

Apart from `processes`, and light: the command line starts it before it imports jax itself, so that
both import at the same time, which saves a second of every judgement.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import resource_tracker
from typing import Any


def start() -> None:
    """Has that process import what workers need, if there is none yet; nobody waits for it."""
    if context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        with uninterrupted():
            forkserver.ensure_running()


@cache
def context() -> Any:
    """What makes processes. Where there is no forking (Windows), they import for themselves."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload([f"{__package__}.processes"])
    return forking


def pid() -> int | None:
    """The process that workers descend from: the one that forks them, or this one. It ends when
    this process does, because a pipe between them is closed."""
    from multiprocessing import forkserver

    if context().get_start_method() != "forkserver":
        return os.getpid()
    forkserver.ensure_running()
    return forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined,no-any-return]


def close_inherited_pipes() -> None:
    """Closes, in a worker, the pipes by which the one who forks workers, and the one who tracks
    resources, see that they are needed: open here, both would outlive the one who asked."""
    if context().get_start_method() != "forkserver":
        return
    from multiprocessing import forkserver

    served, tracked = forkserver._forkserver, resource_tracker._resource_tracker
    for owner, name in ((served, "_forkserver_alive_fd"), (tracked, "_fd")):
        if (held := getattr(owner, name, None)) is not None:
            setattr(owner, name, None)  # whoever needs one here starts its own
            os.close(held)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A process that is started here does not hear an interrupt, not even while it imports."""
    if context().get_start_method() == "forkserver":
        resource_tracker.ensure_running()  # which would hear it again
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
