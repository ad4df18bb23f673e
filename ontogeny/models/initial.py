"""Initial parameters."""

import math

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key


def gaussians(key: Key[Array, ""], *shapes: tuple[int, ...]) -> list[Float[Array, "..."]]:
    """Standard normal arrays, cut from a single draw: compiling a draw costs half a second."""
    sizes = [math.prod(shape) for shape in shapes]
    cuts = [sum(sizes[:place]) for place in range(1, len(sizes))]
    pieces = jnp.split(jr.normal(key, (sum(sizes),)), cuts)
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
