"""Rotary positions."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def rotary(
    x: Float[Array, "row *head head_dim"], at: Int[Array, " row"]
) -> Float[Array, "row *head head_dim"]:
    """Pairs of numbers rotated by an angle that grows with the position."""
    half = x.shape[-1] // 2
    angle = at.reshape(-1, *[1] * (x.ndim - 1)) * 10000.0 ** (-jnp.arange(half) / half)
    # pairs are (i, i + half): learnt queries and keys do not mind which numbers make a pair
    left, right = x[..., :half], x[..., half:]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([left * cos - right * sin, left * sin + right * cos], axis=-1)
