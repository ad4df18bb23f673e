"""Layers that models share."""

from typing import NamedTuple

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
