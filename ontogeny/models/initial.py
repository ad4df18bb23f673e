"""Initial parameters."""

import math

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key

from .layers import Linear, Norm


def gaussians(key: Key[Array, ""], *shapes: tuple[int, ...]) -> list[Float[Array, "..."]]:
    """Standard normal arrays, cut from a single draw: compiling a draw costs half a second."""
    return _cut(jr.normal(key, (_size(shapes),)), shapes)


def uniforms(key: Key[Array, ""], *shapes: tuple[int, ...]) -> list[Float[Array, "..."]]:
    """Matrices as torch starts them: uniform within ±1/√(what they read)."""
    # kaiming_uniform with torch's a = √5 comes to this; axes before the last two stack layers
    drawn = _cut(jr.uniform(key, (_size(shapes),), minval=-1), shapes)
    return [piece * shape[-2] ** -0.5 for piece, shape in zip(drawn, shapes, strict=True)]


def linears(key: Key[Array, ""], *shapes: tuple[int, ...]) -> list[Linear]:
    """Affine maps as torch starts them: biases like the weights."""
    weights, biases = jr.split(key)
    matrices = uniforms(weights, *shapes)
    shifts = _cut(jr.uniform(biases, (_size(outs := _outs(shapes)),), minval=-1), outs)
    return [
        Linear(matrix, shift * matrix.shape[-2] ** -0.5)
        for matrix, shift in zip(matrices, shifts, strict=True)
    ]


def norm(*shape: int) -> Norm:
    """A LayerNorm that does nothing more, yet."""
    return Norm(jnp.ones(shape), jnp.zeros(shape))


def _outs(shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple((*shape[:-2], shape[-1]) for shape in shapes)


def _size(shapes: tuple[tuple[int, ...], ...]) -> int:
    return sum(map(math.prod, shapes))


def _cut(
    drawn: Float[Array, " size"], shapes: tuple[tuple[int, ...], ...]
) -> list[Float[Array, "..."]]:
    sizes = [math.prod(shape) for shape in shapes]
    cuts = [sum(sizes[:before]) for before in range(1, len(sizes))]
    pieces = jnp.split(drawn, cuts)
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
