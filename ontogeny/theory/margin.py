"""By how much an answer leads the others."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def gaps(
    outputs: Float[Array, "*row answer"], targets: Int[Array, "*row"]
) -> Float[Array, "*row answer"]:
    """The lead of each row's target over every answer; over itself it is infinite."""
    own = jnp.take_along_axis(outputs, targets[..., None], axis=-1)
    rival = jnp.arange(outputs.shape[-1]) != targets[..., None]
    return jnp.where(rival, own - outputs, jnp.inf)  # so that a least gap skips it
