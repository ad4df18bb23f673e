"""Numbers that are all different, from chances between 0 and 1, with nothing sorted."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def below(chances: Float[Array, "..."], bound: Float[Array, ""] | float) -> Int[Array, "..."]:
    """Chances as whole numbers below a bound, each as likely."""
    return jnp.minimum(jnp.floor(chances * bound), bound - 1).astype(jnp.int32)


def distinct(
    chances: Float[Array, "*row place"], size: Float[Array, ""] | float
) -> Int[Array, "*row place"]:
    """Numbers below `size`, different within a row: each is drawn from those that are left.

    The j-th stands for a place among the size - j numbers that remain: it steps over every earlier
    one that is not above it, the smallest first. The size may be traced.
    """
    chosen: list[Int[Array, "*row"]] = []
    rising: list[Int[Array, "*row"]] = []  # the same, the smallest first
    for place in range(chances.shape[-1]):
        number = below(chances[..., place], size - place)
        for earlier in rising:
            number = number + (number >= earlier)
        chosen.append(number)
        for rank, other in enumerate(rising):
            rising[rank], number = jnp.minimum(other, number), jnp.maximum(other, number)
        rising.append(number)
    return jnp.stack(chosen, axis=-1)
