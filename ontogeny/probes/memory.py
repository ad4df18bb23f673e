"""Gradients as memories."""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, split
from ..core.types import Moment, Probe
from ..models.memory import LinearMemory


class LemmaError(Probe):
    """How far the gradient is from Σ_k E_z[(p̂(k|z) - p(k|z)) u_k e_zᵀ], in its largest entry."""

    unit = "size"

    split: str = split("train", doc="the split that the loss is of")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from ..tasks.associations import Associations

        return [Example(cls(), Associations(most=6, items=5), LinearMemory(width=8))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.model, LinearMemory):
            raise ConfigError(f"LemmaError is about LinearMemory, not {type(now.model).__name__}")
        params, batch = now.params, now.batch(self.split)

        def loss(weights: Float[Array, "width width"]) -> Float[Array, ""]:
            return now.with_params(params._replace(weights=weights)).loss(batch)

        outputs = now.trace(batch).outputs[:, 0]
        # the lemma on gradients as memories (arXiv 2306.00802): p̂ - p, a row for every z
        error = jax.nn.softmax(outputs) - jax.nn.one_hot(batch.targets[:, 0], outputs.shape[1])
        frequency = batch.weights / jnp.sum(batch.weights)
        closed = params.unembed.T @ (error * frequency).T @ params.embed[batch.inputs[:, 0]]
        return jnp.max(jnp.abs(jax.grad(loss)(params.weights) - closed))
