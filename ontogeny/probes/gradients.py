"""Is the gradient what a closed form says?"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, split
from ..core.types import Moment, Probe
from ..models.one_layer import OneLayer
from ..theory.resemblance import gradients


class GradientError(Probe):
    """The largest deviation of Lemma 1's gradients from automatic ones, relative to the largest."""

    unit = "size"

    split: str = split("train", doc="the split that the loss is of")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.model, OneLayer):
            raise ConfigError(f"Lemma 1 is about OneLayer, not {type(now.model).__name__}")
        batch, gain = now.batch(self.split), now.model.readout_gain()
        automatic = jax.grad(lambda params: now.with_params(params).loss(batch))(now.params)
        # a class's m units are merged (m is in the gain); V is by rows, the lemma's acts on columns
        tokens = jnp.eye(now.task.vocab)
        key_query, value, output = now.params

        def closed(inputs: Array, target: Array) -> tuple[Array, ...]:
            return gradients(key_query, value.T, output[:, None], tokens[inputs], target, gain)

        each = jax.vmap(closed)(batch.inputs, batch.targets[:, 0])
        weights = batch.weights[:, 0] / jnp.sum(batch.weights)
        expected = [jnp.tensordot(weights, part, axes=1) for part in each]
        pairs = zip((expected[0], expected[1].T, expected[2][:, 0]), automatic, strict=True)
        return jnp.max(jnp.stack([jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(b)) for a, b in pairs]))
