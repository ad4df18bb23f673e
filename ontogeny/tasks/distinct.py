"""Integers that are all different, from uniform draws in [0, 1), with nothing sorted."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def below(uniform: Float[Array, "..."], bound: Float[Array, ""] | float) -> Int[Array, "..."]:
    """Uniform integers below a bound, which may be traced."""
    # the minimum: in float32, a draw just below 1 times a large bound may round up to the bound
    return jnp.minimum(jnp.floor(uniform * bound), bound - 1).astype(jnp.int32)


def distinct(
    uniform: Float[Array, "*row draw"], size: Float[Array, ""] | float
) -> Int[Array, "*row draw"]:
    """Integers below `size`, distinct within a row: each is drawn from those that are left.

    The j-th draw is a rank among the size - j integers that remain: it steps over every earlier
    one that is not above it, the smallest first. The size may be traced. Sorting instead would
    need an array of the static size, and is slow under vmap.
    """
    chosen: list[Int[Array, "*row"]] = []
    rising: list[Int[Array, "*row"]] = []  # the same, the smallest first
    for draw in range(uniform.shape[-1]):
        number = below(uniform[..., draw], size - draw)
        for earlier in rising:
            number = number + (number >= earlier)
        chosen.append(number)
        # one pass of an insertion sort: what is left over is the largest
        for rank, other in enumerate(rising):
            rising[rank], number = jnp.minimum(other, number), jnp.maximum(other, number)
        rising.append(number)
    return jnp.stack(chosen, axis=-1)
