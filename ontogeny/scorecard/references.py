"""Reference architectures: as many parameters as the candidate, trained in the same way."""

import json
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from ..core.types import Model
from ..models.decoder import Decoder
from ..models.gpt2 import GPT2, IdentityGPT2
from ..models.recurrent import LSTM
from ..models.window_mlp import WindowMLP
from .battery import battery as benchmarks_of
from .battery import benchmarks, signature
from .load import count_parameters

# Each by its width: two layers of four heads, positions as named; the rest follows from the size.
KINDS: dict[str, Callable[[int], Model]] = {
    "GPT-2": lambda width: GPT2(width=width, depth=2),
    "GPT-2 with identities": lambda width: IdentityGPT2(width=width, depth=2),
    "no positions": lambda width: Decoder(width=width, depth=2, positions="none"),
    "rotary positions": lambda width: Decoder(width=width, depth=2, positions="rotary"),
    "MLP": lambda width: WindowMLP(width=16, mlp_width=width),
    "LSTM": lambda width: LSTM(width=width),
}


def matched(parameters: int) -> dict[str, Model]:
    """A model of each kind whose size comes nearest to so many parameters."""
    return {name: make(_width(make, parameters)) for name, make in KINDS.items()}


def _width(make: Callable[[int], Model], parameters: int) -> int:
    """By bisection: the size grows with the width."""
    low, high = 1, 256  # in eighths of a width
    while low < high:
        middle = (low + high) // 2
        if parameters_of(make(8 * middle)) < parameters:
            low = middle + 1
        else:
            high = middle
    nearest = min((low - 1, low), key=lambda n: abs(parameters_of(make(8 * n or 8)) - parameters))
    return 8 * max(nearest, 1)


@cache
def parameters_of(model: Model) -> int:
    """The number of parameters of a model of this package, in the vocabulary of the battery."""
    (first, *_) = benchmarks()
    shapes = jax.eval_shape(partial(model.init, first.widened), jr.key(0))
    return count_parameters(shapes)


def packaged(
    parameters: int, battery: str, learning_rate: float, seeds: int
) -> list[dict[str, Any]]:
    """Results that come with the package, of about this size and the same training; or none."""
    path = files("ontogeny.scorecard").joinpath("references.json")
    known: list[dict[str, Any]] = json.loads(path.read_text()) if path.is_file() else []
    own = signature(benchmarks_of(battery))
    return [
        row
        for row in known
        if (row["signature"], row["learning_rate"], row["seeds"]) == (own, learning_rate, seeds)
        and abs(jnp.log(row["matched"] / parameters)) < jnp.log(1.5)
    ]
