"""The parameters themselves."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.types import Moment, Probe


class Parameters(Probe):
    """All parameters, one after the other, in the order of their tree."""

    def __call__(self, now: Moment) -> Float[Array, " parameter"]:
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(now.params)])
