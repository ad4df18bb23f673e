"""What the commands share: the application, its options, and what these stand for."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, overload

from cyclopts import App, Parameter

from ..engine.forkserver import get_ready

if TYPE_CHECKING:
    from ..claims.claim import Scale
    from ..engine.progress import Counted
    from ..engine.schedule import Pool
    from ..engine.store import Store

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
Size = Annotated[
    str,
    Parameter(name="--scale", help="laptop (minutes), paper (its own size), smoke (a few steps)"),
]
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
def executor(
    store: "Store", workers: int | None, on: str | None = None, shown: "Counted | None" = None
) -> Iterator[Any]:
    """Runs experiments with progress on the screen, which is left as it was, unless it is shown
    by somebody already."""
    if store.empty() and workers != 0 and not on:  # there will be something to do
        get_ready()
    from ..engine.execute import execute
    from ..engine.machine import cores
    from ..engine.pools import Here, Processes
    from ..engine.progress import progress

    check_where(workers, on)
    crew = cores() if workers is None else workers
    pool = pool_of(on, workers) if on else Processes(crew) if crew else Here()
    own = shown or progress(store)
    try:
        yield partial(execute, on=pool, store=store, progress=own)
    finally:
        if not shown:
            own.close()


def check_where(workers: int | None, on: str | None) -> None:
    """Refuses places to run that there are not."""
    from ..core.fields import ConfigError

    if workers is not None and workers < 0:
        raise ConfigError(f"--workers must be at least 0, not {workers}")
    if on is not None and on != "ray" and not re.fullmatch(r"ray://[^\s/:]+:\d{1,5}", on):
        raise ConfigError(f"--on {on}: work runs here, on ray, or on ray://HOST:PORT")
    if on and workers == 0:
        raise ConfigError("--on ray needs --workers of at least 1")


def pool_of(on: str, workers: int | None) -> "Pool":
    """The cluster that is asked for."""
    from ..engine.cluster import Cluster

    return Cluster(None if on == "ray" else on, workers)


def store_at(path: Path | None) -> "Store":
    """The store that is asked for."""
    from ..engine.store import Store

    return Store(folder(path or Path(os.environ.get("ONTOGENY_STORE") or ".ontogeny"), "--store"))


def folder(path: Path, option: str) -> Path:
    """A folder to write to: it is there, or can be made."""
    from ..core.fields import ConfigError

    try:
        if "\0" in str(path):
            raise ConfigError(f"{option} {str(path)!r} can be no name of a folder")
        above = next(each for each in (path, *path.absolute().parents) if os.path.lexists(each))
        if not stat.S_ISDIR(above.stat().st_mode):
            raise ConfigError(f"{option} {path}: {above} is a file, not a folder")
        (path / "name").exists()  # too long, or nothing that a file can be called
    except (OSError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{option} {str(path)[:100]!r}: {_problem(error)}") from error
    return path


@overload
def file(path: None, option: str = ...) -> None: ...
@overload
def file(path: Path, option: str = ...) -> Path: ...
def file(path: Path | None, option: str = "--json") -> Path | None:
    """A file to write to, asked before any work is done for it."""
    from ..core.fields import ConfigError

    if path is None:
        return None
    folder(path.absolute().parent, option)
    try:
        is_folder = path.is_dir()
        path.exists()
    except (OSError, ValueError) as error:
        raise ConfigError(f"{option} {str(path)[:100]!r}: {_problem(error)}") from error
    if is_folder:
        raise ConfigError(f"{option} {path} is a folder: give the name of a file")
    return path


def picture(path: Path | None, option: str = "--out") -> Path | None:
    """A file for a picture, of a kind that can be drawn."""
    from ..core.fields import ConfigError, did_you_mean

    kinds = [".png", ".pdf", ".svg"]
    if path is not None and path.suffix not in kinds:
        raise ConfigError(
            f"{option} {path}: no kind of picture: {did_you_mean(path.suffix, kinds)}"
        )
    return file(path, option)


def _problem(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def scale_of(word: str) -> "Scale":
    """The scale that a word names."""
    from ..claims.claim import Scale
    from ..core.fields import ConfigError, did_you_mean

    if word not in list(Scale):
        raise ConfigError(f"no scale {word!r}: {did_you_mean(word, list(map(str, Scale)))}")
    return Scale(word)
