"""Layers that models share: embeddings, layer norm, the softmax of attention, MLPs."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Norm(NamedTuple):
    """LayerNorm's scale and shift."""

    scale: Float[Array, "*depth width"]
    shift: Float[Array, "*depth width"]

    def __call__(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
        return normalised(x) * self.scale + self.shift


def normalised(x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
    """LayerNorm without scale and shift."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    # of centred numbers: E[x²] - E[x]² would cancel in single precision
    variance = jnp.mean(centred**2, axis=-1, keepdims=True)
    # torch's ε, and GPT-2's
    return centred * jax.lax.rsqrt(variance + 1e-5)


class Linear(NamedTuple):
    """An affine map."""

    weight: Float[Array, "*depth into out"]
    bias: Float[Array, "*depth out"]

    def __call__(self, x: Float[Array, "*rows into"]) -> Float[Array, "*rows out"]:
        return x @ self.weight + self.bias


class ReluMLP(NamedTuple):
    """Two matrices around a ReLU. They act on columns: W_out max(0, W_in x)."""

    mlp_in: Float[Array, "mlp_width width"]
    mlp_out: Float[Array, "width mlp_width"]

    def __call__(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
        return jax.nn.relu(x @ self.mlp_in.T) @ self.mlp_out.T


class LinearMLP(NamedTuple):
    """A single matrix, W x."""

    weight: Float[Array, "width width"]

    def __call__(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows width"]:
        return x @ self.weight.T


def embed(
    tokens: Float[Array, "vocab width"],
    positions: Float[Array, "position width"],
    inputs: Int[Array, "*rows length"],
) -> Float[Array, "*rows length width"]:
    """e_z + p_t: the residual stream before the first layer."""
    return with_positions(tokens[inputs], positions, slice(inputs.shape[-1]))


def with_positions(
    x: Float[Array, "*rows length width"],
    positions: Float[Array, "position width"],
    at: Int[Array, " length"] | slice,
) -> Float[Array, "*rows length width"]:
    """x_t + p_t; a table without rows stands for no positions (NoPE)."""
    return x + positions[at] if len(positions) else x


def masked_softmax(
    scores: Float[Array, "*heads query key"], mask: Bool[Array, "... key"]
) -> Float[Array, "*heads query key"]:
    """Attention weights: softmax over keys, 0 where the mask is false."""
    # -inf makes masked weights exactly 0, which hand-written gradients (fast/products.py) rely on.
    # No row is all masked, or it would be nan: a query sees at least itself
    weights: Array = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return weights


def causal_mask(length: int, at: Int[Array, "*rows query"]) -> Bool[Array, "*rows query key"]:
    """Which keys a query at a position may attend to: none that is later."""
    return jnp.arange(length) <= at[..., None]


def by_head(x: Float[Array, "*rows width"], heads: int) -> Float[Array, "*rows head head_dim"]:
    """The width cut into heads."""
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def unstacked(tree: Any, depth: int) -> list[Any]:
    """Layers that are stacked, one by one. Their gradients are stacked in one go: a slice for each
    layer would make as many sums of whole stacks."""
    leaves, structure = jax.tree.flatten(tree)
    # the gradient of a split is one concatenation: GPT-2's step went from 83 to 76 ms (LOGBOOK)
    layers = zip(*(jax.lax.split(leaf, [1] * depth) for leaf in leaves), strict=True)
    return [
        jax.tree.unflatten(structure, [jax.lax.squeeze(leaf, [0]) for leaf in layer])
        for layer in layers
    ]
