"""Gradients as memories."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, split
from ..core.types import Moment, Probe
from ..models.memory import LinearMemory


class LemmaError(Probe):
    """How far the gradient is from Σ_k E_z[(p̂(k|z) - p(k|z)) u_k e_zᵀ], in its largest entry."""

    split: str = split("train")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.model, LinearMemory):
            raise ConfigError(f"LemmaError is about LinearMemory, not {type(now.model).__name__}")
        params, batch = now.params, now.batch(self.split)

        def loss(weights: Float[Array, "width width"]) -> Float[Array, ""]:
            return now.with_params(params._replace(weights=weights)).loss(batch)

        outputs = now.trace(batch).outputs[:, 0]
        off = jax.nn.softmax(outputs) - jax.nn.one_hot(batch.targets[:, 0], outputs.shape[1])
        often = batch.weights / jnp.sum(batch.weights)
        said = params.unembed.T @ (off * often).T @ params.embed[batch.inputs[:, 0]]
        return jnp.max(jnp.abs(jax.grad(loss)(params.weights) - said))
