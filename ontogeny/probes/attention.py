"""Where the model looks."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, count, split
from ..core.types import Moment, Probe


class Imbalance(Probe):
    """How far attention is from uniform over the input, at its farthest row: 0 is balanced."""

    split: str = split("train")
    layer: int = count(0, least=0)

    def __call__(self, now: Moment) -> Float[Array, ""]:
        layers = now.trace(now.batch(self.split)).attention
        if self.layer >= len(layers):
            raise ConfigError(f"Imbalance.layer={self.layer}: the model has {len(layers)}")
        weights = layers[self.layer]
        return jnp.max(jnp.abs(weights - 1 / weights.shape[-1]))
