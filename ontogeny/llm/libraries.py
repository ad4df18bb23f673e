"""Lazy imports of the libraries that language models need (extra [llm])."""

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
    return missing("llm")


@cache
def library(name: str) -> Any:
    """A library, or one line that says how to get it."""
    if reason := lacking():
        raise ConfigError(f"a pretrained language model: {reason}")
    with quietly():
        found: Any = importlib.import_module(name)
        if name == "transformers":
            found.utils.logging.set_verbosity_error()
            found.utils.logging.disable_progress_bar()
            # Its own lock would be a system semaphore, left behind by a process that is killed.
            importlib.import_module("tqdm").tqdm.set_lock(threading.RLock())
        if name == "torch":
            # There is one process per core: more threads would only compete.
            found.set_num_threads(1)
    return found


@contextmanager
def quietly() -> Iterator[None]:
    """Silences deprecation warnings and progress bars; what matters is raised as an error."""
    # progress bars are written past the filter of warnings, to stderr
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
