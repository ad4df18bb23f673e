"""What all commands share: the application, its options, and what these stand for."""

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, overload

from cyclopts import App, Group, Parameter

from .. import __version__
from ..engine.pools import forkserver

# importing these takes seconds, and help is to answer at once
if TYPE_CHECKING:
    from ..claims.scale import Scale
    from ..engine.progress import Counted
    from ..engine.schedule import Pool
    from ..engine.store import Store

app = App(
    name="ontogeny",
    help="A laboratory of how reasoning emerges in transformers while they train.",
    help_epilogue="Start with `ontogeny judge` (a minute or two), then `ontogeny report`.",
    version=__version__,
    version_flags=["--version"],
    # the exit code is ours to choose: see main.py; interrupts likewise
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative=()),  # no --no-… of every flag
)

CLAIMS = Group.create_ordered("Judge claims")
RESULTS = Group.create_ordered("See and export results")
MODELS = Group.create_ordered("Other models")
MACHINE = Group.create_ordered("This machine")

Patterns = Annotated[str, Parameter(help="Claim names, parts of names, or papers [all claims]")]
ClaimName = Annotated[str, Parameter(help="The claim's name, or an unambiguous part of it")]
MoreClaims = Annotated[
    list[str] | None,
    Parameter(name="--claims", help="More claims: a file or module; may be repeated"),
]
StorePath = Annotated[
    Path | None,
    Parameter(name="--store", help="Folder of finished runs [$ONTOGENY_STORE, else .ontogeny]"),
]
ScaleName = Annotated[
    str,
    Parameter(
        name="--scale",
        help="laptop (minutes), paper (the paper's own settings) or smoke (a few steps)",
    ),
]
OneScale = Annotated[str | None, Parameter(name="--scale", help="laptop or paper [both]")]
Changes = Annotated[
    list[str] | None, Parameter(name="--set", help="Change a setting: PATH=VALUE; may be repeated")
]
Seeds = Annotated[
    int | None, Parameter(name="--seeds", help="Seeds per experiment [as the claim says]")
]
BatterySeeds = Annotated[int, Parameter(name="--seeds", help="Seeds per benchmark")]
Workers = Annotated[
    int | None,
    Parameter(name="--workers", help="Worker processes; 0 uses this process [one per core]"),
]
On = Annotated[
    str | None,
    Parameter(name="--on", help="Where to run: ray or ray://HOST:PORT [this machine]"),
]
JsonFile = Annotated[
    Path | None, Parameter(name="--json", help="Also write the result to this JSON file")
]
AsJson = Annotated[bool, Parameter(name="--json", help="Print JSON instead of a table")]


def add_claims(places: list[str] | None) -> None:
    """Loads the claims that `--claims` names."""
    from ..claims import outside

    for place in places or ():
        outside.load(place)


def begin_workers(store: "Store", workers: int | None, on: str | None) -> None:
    """Has what worker processes need imported, in one that they are forked from, if it is sure
    that they will be needed."""
    if store.empty() and workers != 0 and not on:
        forkserver.start()


@contextmanager
def executor(
    store: "Store",
    workers: int | None,
    on: str | None = None,
    shown: "Counted | None" = None,
    hours: float | None = None,
) -> Iterator[Any]:
    """Runs experiments with a progress display, which is closed in the end unless it was given."""
    deadline = _deadline(hours)
    begin_workers(store, workers, on)
    from ..engine.execute import execute
    from ..engine.machine import cores
    from ..engine.pools.here import Here
    from ..engine.pools.processes import Processes
    from ..engine.progress import progress

    check_where(workers, on)
    count = cores() if workers is None else workers
    pool = pool_of(on, workers) if on else Processes(count) if count else Here()
    own = shown or progress(store)  # one display for both parts of `examine`
    own.deadline = deadline
    try:
        yield partial(execute, on=pool, store=store, progress=own)
    finally:
        if not shown:
            own.close()


def _deadline(hours: float | None) -> float | None:
    """When time is over."""
    from ..core.fields import ConfigError

    if hours is None:
        return None
    if not 0 < hours <= LONGEST:
        raise ConfigError(f"--hours must be more than 0 and at most {LONGEST}, not {hours:g}")
    return time.monotonic() + 3600 * hours


LONGEST = 10_000  # hours: a year


def check_where(workers: int | None, on: str | None) -> None:
    """Refuses a number of workers or a cluster that cannot be."""
    from ..core.fields import ConfigError

    if workers is not None and workers < 0:
        raise ConfigError(f"--workers must be at least 0, not {workers}")
    if on is not None and on != "ray" and not re.fullmatch(r"ray://[^\s/:]+:\d{1,5}", on):
        raise ConfigError(f"--on {on}: must be ray or ray://HOST:PORT")
    if on and workers == 0:
        raise ConfigError("--on ray needs --workers of at least 1")


def pool_of(on: str, workers: int | None) -> "Pool":
    """The Ray cluster that `--on` names."""
    from ..claims import outside
    from ..engine.pools.cluster import Cluster

    return Cluster(None if on == "ray" else on, workers, outside.modules())


def store_at(path: Path | None) -> "Store":
    """The store that `--store` names."""
    from ..engine.store import Store, usual_folder

    return Store(output_folder(path or usual_folder(), "--store"))


def output_folder(path: Path, option: str) -> Path:
    """A folder to write to: it exists, or can be created."""
    from ..core.fields import ConfigError

    try:
        if "\0" in str(path):
            raise ConfigError(f"{option} {str(path)!r} is not the name of a folder")
        # lexists: a link to nowhere is there, and no folder can be made in its place
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
def output_file(path: None, option: str = ...) -> None: ...
@overload
def output_file(path: Path, option: str = ...) -> Path: ...
def output_file(path: Path | None, option: str = "--json") -> Path | None:
    """A file to write to, checked before any work is done for it."""
    from ..core.fields import ConfigError

    if path is None:
        return None
    output_folder(path.absolute().parent, option)
    try:
        is_folder = path.is_dir()
        path.exists()  # asked for its error: a name too long
    except (OSError, ValueError) as error:
        raise ConfigError(f"{option} {str(path)[:100]!r}: {_problem(error)}") from error
    if is_folder:
        raise ConfigError(f"{option} {path} is a folder: give a file name")
    return path


def figure_file(path: Path | None, option: str = "--out") -> Path | None:
    """A file for a figure, in a format that can be written."""
    from ..core.fields import ConfigError, did_you_mean

    formats = [".png", ".pdf", ".svg"]
    if path is not None and path.suffix not in formats:
        raise ConfigError(f"{option} {path}: unknown format: {did_you_mean(path.suffix, formats)}")
    return output_file(path, option)


def _problem(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def scale_of(word: str) -> "Scale":
    """The scale of this name."""
    from ..claims.scale import scale_of

    return scale_of(word)
