"""Weights as associative memories, u_yᵀ W e_z, between random embeddings that stay as they are."""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import Example, count, number
from ..core.types import Model, Task, Trace
from .initial import gaussians, linears
from .layers import Linear


class Matrix(NamedTuple):
    """Embeddings of tokens and of answers, and the matrix between them."""

    embed: Float[Array, "vocab width"]
    unembed: Float[Array, "answer width"]
    weights: Float[Array, "width width"]


class Layers(NamedTuple):
    """Embeddings of tokens and of answers, and the two layers between them."""

    embed: Float[Array, "vocab width"]
    unembed: Float[Array, "answer width"]
    mlp_in: Linear
    mlp_out: Float[Array, "mlp_width width"]


class LinearMemory(Model):
    """F(z)_y = u_yᵀ W e_z, with W nothing at first: only `weights` are to be trained."""

    width: int = count(32, doc="width d of embeddings")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8))]

    def init(self, task: Task, key: Key[Array, ""]) -> Matrix:
        embed, unembed = directions(key, task, self.width)
        # from 0 one step of descent is the memory itself: (η/N) Σ_z (u_f(z) - mean u) e_zᵀ
        return Matrix(embed, unembed, jnp.zeros((self.width, self.width)))

    def __call__(
        self, params: Matrix, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        features = params.embed[inputs[at]]
        said = features @ params.weights.T
        return Trace(said @ params.unembed.T, jnp.stack([features, said]))


class MLPMemory(Model):
    """F(z)_y = u_yᵀ V σ(W e_z + b): `mlp_in` and `mlp_out` are to be trained."""

    width: int = count(16, doc="width d of embeddings")
    mlp_width: int = count(64, doc="hidden units of the MLP")
    scale: float = number(1.0, above=0, doc="what torch's initial weights are multiplied with")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8, mlp_width=6))]

    def init(self, task: Task, key: Key[Array, ""]) -> Layers:
        fixed, drawn = jr.split(key)
        embed, unembed = directions(fixed, task, self.width)
        # the second layer's bias is left out: the authors' MLP has one in the first layer alone
        mlp_in, mlp_out = linears(drawn, (self.width, self.mlp_width), (self.mlp_width, self.width))
        first = Linear(self.scale * mlp_in.weight, self.scale * mlp_in.bias)
        return Layers(embed, unembed, first, self.scale * mlp_out.weight)

    def __call__(
        self, params: Layers, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        features = params.embed[inputs[at]]
        said = jax.nn.relu(params.mlp_in(features)) @ params.mlp_out
        return Trace(said @ params.unembed.T, jnp.stack([features, said]))


def directions(
    key: Key[Array, ""], task: Task, width: int
) -> tuple[Float[Array, "vocab width"], Float[Array, "answer width"]]:
    """Embeddings of tokens and answers: uniform on the sphere, so nearly orthonormal."""
    drawn = gaussians(key, (task.vocab, width), (task.answers, width))
    embed, unembed = (rows / jnp.linalg.norm(rows, axis=1, keepdims=True) for rows in drawn)
    return embed, unembed
