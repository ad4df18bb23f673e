"""What the model attends to."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, count, split
from ..core.types import Moment, Probe


class Imbalance(Probe):
    """How far attention is from uniform over the input, at its farthest row: 0 is balanced."""

    unit = "fraction"

    split: str = split("train", doc="the split whose rows are read")
    layer: int = count(0, least=0, doc="which layer's attention")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        layers = now.trace(now.batch(self.split)).attention
        if self.layer >= len(layers):
            raise ConfigError(f"Imbalance.layer={self.layer}: the model has {len(layers)} layers")
        weights = layers[self.layer]
        # for rows that are read at their end: masked positions would count as imbalance
        return jnp.max(jnp.abs(weights - 1 / weights.shape[-1]))
