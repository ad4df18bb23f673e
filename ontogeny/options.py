"""What the commands share: the application, its options, and what these stand for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from .nursery import get_ready, undivided

if TYPE_CHECKING:
    from .claim import Scale
    from .crew import Pool
    from .store import Store

app = App(
    name="ontogeny",
    help="A laboratory of how reasoning emerges in transformers while they train.",
    help_epilogue="Start with `ontogeny judge` (a minute or two), then `ontogeny report`.",
    version_flags=["--version"],
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

Where = Annotated[
    Path | None,
    Parameter(name="--store", help="Folder of runs [ONTOGENY_STORE, else .ontogeny here]"),
]
Size = Annotated[str, Parameter(name="--scale", help="laptop (minutes) or paper (its own size)")]
OneSize = Annotated[str | None, Parameter(name="--scale", help="laptop or paper [both]")]
Changes = Annotated[list[str] | None, Parameter(name="--set", help="PATH=VALUE")]
Seeds = Annotated[int | None, Parameter(name="--seeds", help="Seeds per experiment")]
Crew = Annotated[
    int | None, Parameter(name="--workers", help="Processes; 0 runs in this one [one per core]")
]
On = Annotated[
    str | None,
    Parameter(name="--on", help="ray (this machine, or its cluster) or ray://HOST:PORT"),
]
JsonFile = Annotated[Path | None, Parameter(name="--json", help="Also write the result here")]


@contextmanager
def executor(store: "Store", workers: int | None, on: str | None = None) -> Iterator[Any]:
    """Runs experiments with progress on the screen, which is left as it was."""
    if store.empty() and workers != 0 and not on:  # there will be something to do
        get_ready()
    with undivided():
        from .engine import execute
        from .fields import Invalid
        from .machine import cores
        from .progress import progress
        from .workers import Here, Processes

    if workers is not None and workers < 0:
        raise Invalid(f"--workers must be at least 0, not {workers}")
    crew = cores() if workers is None else workers
    pool = pool_of(on, workers) if on else Processes(crew) if crew else Here()
    shown = progress(store)
    try:
        yield partial(execute, on=pool, store=store, progress=shown)
    finally:
        shown.close()


def pool_of(on: str, workers: int | None) -> "Pool":
    """The cluster that is asked for."""
    from .cluster import Cluster
    from .fields import Invalid

    if on != "ray" and not on.startswith("ray://"):
        raise Invalid(f"--on {on}: work runs here, on ray, or on ray://HOST:PORT")
    if workers == 0:
        raise Invalid("--on ray needs --workers of at least 1")
    return Cluster(None if on == "ray" else on, workers)


def store_at(path: Path | None) -> "Store":
    """The store that is asked for."""
    with undivided():
        from .store import Store
    root = path or Path(os.environ.get("ONTOGENY_STORE") or ".ontogeny")
    if root.exists() and not root.is_dir():
        from .fields import Invalid

        raise Invalid(f"--store {root} is a file, not a folder")
    return Store(root)


def scale_of(word: str) -> "Scale":
    """The scale that a word names."""
    from .claim import Scale
    from .fields import Invalid, did_you_mean

    if word not in list(Scale):
        raise Invalid(f"no scale {word!r}: {did_you_mean(word, list(map(str, Scale)))}")
    return Scale(word)
