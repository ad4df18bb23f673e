"""What an answer may depend on besides its experiment: versions, machine, flags, commit."""

import os
import platform
import subprocess
import time
from functools import cache
from importlib.metadata import version
from typing import Any


def environment() -> dict[str, Any]:
    """What an answer may depend on besides its experiment."""
    packages = ("ontogeny", "jax", "jaxlib", "equinox", "optax", "numpy")
    return {
        "versions": {name: version(name) for name in packages},
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "flags": os.environ.get("XLA_FLAGS", ""),
        "commit": _commit(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


@cache
def _commit() -> str:
    """The checkout that the package is in, if it is in one."""
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
