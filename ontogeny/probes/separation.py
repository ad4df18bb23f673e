"""Whether strings of different labels are told apart."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..core.fields import split
from ..core.types import Moment, Probe


class Separation(Probe):
    """By how much outputs on strings of the largest label exceed those on strings of the least."""

    split: str = split("test")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        said, label = now.trace(batch).outputs[..., :1].mean(axis=-1), batch.targets
        high, low = label == label.max(), label == label.min()

        def mean(chosen: Bool[Array, "row read"]) -> Float[Array, ""]:
            return jnp.sum(said * chosen) / jnp.sum(chosen)

        return mean(high) - mean(low)
