"""Where worker processes come from: they are forked from one that has imported what they need, and
done nothing else. To have it ready in time, nothing heavy is imported here.
"""

import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing import resource_tracker
from typing import Any


def get_ready() -> None:
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
    forking.set_forkserver_preload([f"{__package__}.workers"])
    return forking


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A process that is started here does not hear an interrupt, not even while it imports."""
    if context().get_start_method() == "forkserver":
        resource_tracker.ensure_running()  # which would hear it again
    with _deaf({signal.SIGINT}):
        yield


@contextmanager
def undivided() -> Iterator[None]:
    """Hears an interrupt when this is over: within an import it may be lost, or misunderstood."""
    with _deaf({signal.SIGINT, signal.SIGTERM}):
        yield


@contextmanager
def _deaf(signals: set[signal.Signals]) -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
