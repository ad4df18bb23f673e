"""How fast this machine is, and how near to that the models train."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from rich.table import Table


def measure(quick: bool = False) -> dict[str, Any]:
    """All measurements, in one run on one machine; ratios rather than seconds."""
    import jax

    from .workers import cores, processes

    seconds = 0.5 if quick else 2.0
    gemm_all = gemm_peak(seconds)
    units = {name: training(name) for name in ("one-layer", "GPT-2-style")}
    found: dict[str, Any] = {"jax": jax.__version__, "cores": cores(), "gemm_gflops": gemm_all}
    found["training"] = {}
    for name, unit in units.items():
        rows = {}
        for workers in sorted({1, cores()}):
            rows[workers] = _throughput(unit, workers, processes)
        found["training"][name] = rows
    return found


def table(found: dict[str, Any]) -> Table:
    """The measurements for people."""
    raise NotImplementedError


def gemm_peak(seconds: float) -> float:
    raise NotImplementedError


def training(name: str) -> Any:
    raise NotImplementedError


def _throughput(unit: Any, workers: int, pool: Callable[..., Any]) -> Any:
    raise NotImplementedError


_ = os, statistics, time
