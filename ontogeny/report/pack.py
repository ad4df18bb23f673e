"""Runs as a page carries them: thinned, rounded, packed.

    packed = base64(gzip(length of the header · header · numbers))

The header is JSON; numbers are of 32 bits, with as many digits as a figure shows.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.external import AnyExperiment
from ..core.run import Run
from ..tasks.lego import Lego

EVALUATIONS = 64  # of a curve, at most
FRAMES = 24  # of what is drawn with a slider over training
SIDE = 64  # of a vector or a matrix
DIGITS = 11  # bits kept of a number: three decimal digits and more


def drawable(run: Run) -> dict[str, tuple[list[int], np.ndarray]]:
    """By probe: the steps kept, and the numbers kept. Of a matrix, the first seed's."""
    return {name: _thinned(run, values) for name, values in run.answers.items()}


def _thinned(run: Run, values: np.ndarray) -> tuple[list[int], np.ndarray]:
    kept = _spread(len(run.steps), EVALUATIONS if values.ndim <= 2 else FRAMES)
    # a matrix of every seed would be most of the page
    seeds = slice(None) if values.ndim <= 3 else slice(0, 1)
    values = values[seeds][:, kept]
    for axis in range(2, values.ndim):
        values = values.take(_spread(values.shape[axis], SIDE), axis=axis)
    return [int(step) for step in run.steps[kept]], values


def _spread(size: int, most: int) -> list[int]:
    """All indices, or at most so many, evenly spaced, with the first and the last."""
    return sorted({round(n) for n in np.linspace(0, size - 1, min(size, most))})


def packed(run: Run, experiment: AnyExperiment, **more: Any) -> str:
    """A run with what its figures need of the experiment."""
    probes, blob, at = {}, [], 0
    for name, (steps, values) in drawable(run).items():
        rounded = coarse(values)
        probes[name] = {"steps": steps, "shape": list(values.shape), "at": at}
        blob.append(rounded.tobytes())
        at += rounded.size
    header = {"probes": probes, "seeds": len(run.seeds), **background(experiment), **more}
    return pack(header, b"".join(blob))


def pack(header: Mapping[str, Any], numbers: bytes) -> str:
    """A header and numbers as text that a page can carry."""
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 4)  # numbers must be aligned to 4 bytes
    whole = len(text).to_bytes(4, "little") + text + numbers
    # without the time, so that the same runs make the same page
    return base64.b64encode(gzip.compress(whole, mtime=0)).decode()


def coarse(values: np.ndarray) -> np.ndarray:
    """Numbers of 32 bits whose last digits are dropped, so that they pack well."""
    bits = np.ascontiguousarray(values, "<f4").view("<u4")
    lost = 23 - DIGITS
    # exponents of all ones are ∞ and NaN, which rounding must not touch
    finite = (bits >> 23) & 0xFF != 0xFF
    # half of the last bit kept, then cut: to nearest. A carry into the exponent is right, too
    nearest = np.where(finite, bits + np.uint32(1 << (lost - 1)), bits)
    return (nearest & np.uint32(0xFFFFFFFF << lost & 0xFFFFFFFF)).view("<f4")


def background(experiment: AnyExperiment) -> dict[str, Any]:
    """What figures need of the task: of LEGO, the group and the trained length."""
    task = getattr(experiment, "task", None)
    if not isinstance(task, Lego):
        return {}
    table = np.asarray(task.group.table)
    return {"group": {"name": task.action, "table": table.tolist()}, "trained_length": task.chain}
