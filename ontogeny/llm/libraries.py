"""What real models run on, imported when it is needed: nobody else should wait for it."""

import importlib
import io
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from functools import cache
from typing import Any

from ..core.fields import ConfigError
from ..engine.environment import missing


def lacking() -> str:
    """What is not installed here and how to get it; nothing if all is there."""
    return missing("real")


@cache
def library(name: str) -> Any:
    """A library, or one line that says how to get it."""
    if reason := lacking():
        raise ConfigError(f"a real language model: {reason}")
    with quietly():
        found: Any = importlib.import_module(name)
        if name == "transformers":
            found.utils.logging.set_verbosity_error()
            found.utils.logging.disable_progress_bar()
            # The lock of its bars would be one of the system's, left behind by who is ended.
            importlib.import_module("tqdm").tqdm.set_lock(threading.RLock())
        if name == "torch":
            # There is a process for each core: more threads would only be in each other's way.
            found.set_num_threads(1)
    return found


@contextmanager
def quietly() -> Iterator[None]:
    """Libraries warn of their own future and draw bars; what matters is an error of ours."""
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
