"""Layers that models share."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Norm(NamedTuple):
    """LayerNorm's scale and shift."""

    scale: Float[Array, "*depth width"]
    shift: Float[Array, "*depth width"]

    def __call__(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
        return normalised(x) * self.scale + self.shift


class Linear(NamedTuple):
    """An affine map."""

    weight: Float[Array, "*depth into out"]
    bias: Float[Array, "*depth out"]

    def __call__(self, x: Float[Array, "*rows into"]) -> Float[Array, "*rows out"]:
        return x @ self.weight + self.bias


def normalised(x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
    """LayerNorm without scale and shift."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred**2, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-5)


def unstacked(tree: Any, depth: int) -> list[Any]:
    """Layers that are stacked, one by one. Their gradients are stacked in one go: a slice for each
    layer would make as many sums of whole stacks."""
    leaves, structure = jax.tree.flatten(tree)
    layers = zip(*(jax.lax.split(leaf, [1] * depth) for leaf in leaves), strict=True)
    return [
        jax.tree.unflatten(structure, [jax.lax.squeeze(leaf, [0]) for leaf in layer])
        for layer in layers
    ]
