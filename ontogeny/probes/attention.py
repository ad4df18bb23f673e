"""Where the model looks."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import Moment, Probe
from ..fields import count, split


class Imbalance(Probe):
    """How far attention is from uniform over the input, at its farthest row: 0 is balanced."""

    split: str = split("train")
    layer: int = count(0, least=0)

    def __call__(self, now: Moment) -> Float[Array, ""]:
        weights = now.trace(now.batch(self.split)).attention[self.layer]
        return jnp.max(jnp.abs(weights - 1 / weights.shape[-1]))
