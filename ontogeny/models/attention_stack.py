"""Layers of attention alone: what memories of queries and keys, values and outputs can do.

    x ← x + Σ_s softmax(x_tᵀ W_KQ x_s) W_OV x_s

One head a layer, no norms, nothing masked. Embeddings of places and tokens are orthonormal and stay
as they are.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, count, number
from ..core.types import Model, Task, Trace
from .initial import gaussians


class Params(NamedTuple):
    """Both matrices of all layers, stacked, and the outputs."""

    key_query: Float[Array, "depth width width"]
    output_value: Float[Array, "depth width width"]
    unembed: Float[Array, "width answer"]


class AttentionStack(Model):
    """Coordinates: first a place's, then a token's, and `width` minus these that are free."""

    width: int = count(64)
    depth: int = count(3, most=1000)
    scale: float = number(0.1, least=0)  # of initial weights, times 1/√width

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        if self.width < task.length + task.vocab:
            raise ConfigError(
                f"AttentionStack.width={self.width}: {task.length} places and {task.vocab} tokens "
                f"need {task.length + task.vocab}"
            )
        square = (self.depth, self.width, self.width)
        drawn = gaussians(key, square, square, (self.width, task.answers))
        return Params(*(self.scale * self.width**-0.5 * weights for weights in drawn))

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        length = len(inputs)
        axes = jnp.eye(self.width)
        stream = axes[jnp.arange(length)] + axes[length + inputs]
        residual, attention = [stream[at]], []
        for layer in range(self.depth):
            key_query, output_value = params.key_query[layer], params.output_value[layer]
            weights = jax.nn.softmax(stream @ key_query @ stream.T, axis=-1)
            stream = stream + weights @ stream @ output_value.T
            residual.append(stream[at])
            attention.append(weights[None])
        return Trace(stream[at] @ params.unembed, jnp.stack(residual), tuple(attention))
