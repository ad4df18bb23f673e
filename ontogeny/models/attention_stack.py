"""Layers of attention alone: what memories of queries and keys, values and outputs can do.

    x ← x + Σ_s softmax(x_tᵀ W_KQ x_s) W_OV x_s

One head a layer, no norms, nothing masked. Embeddings of positions and tokens are orthonormal and
stay as they are.
"""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, count, number
from ..core.types import Model, Task, Trace
from ..tasks.hops import Hops
from .initial import gaussians


class Params(NamedTuple):
    """Both matrices of all layers, stacked, and the outputs."""

    key_query: Float[Array, "depth width width"]
    output_value: Float[Array, "depth width width"]
    unembed: Float[Array, "width answer"]


class AttentionStack(Model):
    """Coordinates: first a position's, then a token's; the rest of the width is free."""

    causal: ClassVar[bool] = False  # hops lead to later positions as well as to earlier ones
    width: int = count(64, doc="width of the residual stream")
    depth: int = count(3, most=1000, doc="layers of attention")
    scale: float = number(
        0.1, least=0, doc="standard deviation of initial weights, in units of 1/√width"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=40, depth=2, scale=2.0), Hops(values=3, hops=2, rows=5))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        if self.width < task.length + task.vocab:
            raise ConfigError(
                f"AttentionStack.width={self.width}: {task.length} positions and {task.vocab} "
                f"tokens need {task.length + task.vocab}"
            )
        square = (self.depth, self.width, self.width)
        drawn = gaussians(key, square, square, (self.width, task.answers))
        return Params(*(self.scale * self.width**-0.5 * weights for weights in drawn))

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        length = len(inputs)
        axes = jnp.eye(self.width)
        x = axes[jnp.arange(length)] + axes[length + inputs]
        residual, attention = [x[at]], []
        for layer in range(self.depth):
            key_query, output_value = params.key_query[layer], params.output_value[layer]
            # no 1/√d: between axes a score is a few entries of W_KQ, however wide
            weights = jax.nn.softmax(x @ key_query @ x.T, axis=-1)
            x = x + weights @ x @ output_value.T
            residual.append(x[at])
            attention.append(weights[None])
        return Trace(x[at] @ params.unembed, jnp.stack(residual), tuple(attention))
