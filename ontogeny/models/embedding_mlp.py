"""Embedding-MLPs: a transformer layer whose attention is uniform.

The features of a sequence are the sum of its tokens' embeddings, up to where it is read. Weights
start as W ~ N(0, d^(-2γ)) with d the width: γ = ½ is the usual scale, a larger γ a small one.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import Example, count, number
from ..core.types import Model, Task, Trace
from .initial import gaussians
from .layers import causal_mask


class Factors(NamedTuple):
    """E and P: what tokens add to the features, and what features say of each answer."""

    embed: Float[Array, "vocab width"]
    project: Float[Array, "width answer"]


class Hidden(NamedTuple):
    """The same with a hidden layer between."""

    embed: Float[Array, "vocab width"]
    mlp_in: Float[Array, "width mlp_width"]
    project: Float[Array, "mlp_width answer"]


class EmbeddingMLP(Model):
    """f(x) = (Σ_t E[x_t]) P: the logits are a sum of rows of the template matrix E P."""

    width: int = count(128, doc="width d of embeddings")
    gamma: float = number(0.5, least=0, doc="γ: initial weights have standard deviation d^(-γ)")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8))]

    def init(self, task: Task, key: Key[Array, ""]) -> Factors:
        shapes = (task.vocab, self.width), (self.width, task.answers)
        return Factors(*(_scaled(self, weights) for weights in gaussians(key, *shapes)))

    def __call__(
        self, params: Factors, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        # the templates are made once for all rows: fewer products than a row's features times P
        outputs = summed(params.embed @ params.project, inputs, at)
        return Trace(outputs, summed(params.embed, inputs, at)[None])


class EmbeddingReluMLP(Model):
    """f(x) = max(0, (Σ_t E[x_t]) A) P: the same with a hidden layer of its own."""

    width: int = count(128, doc="width d of embeddings")
    mlp_width: int = count(256, doc="hidden units of the MLP")
    gamma: float = number(0.5, least=0, doc="γ: initial weights have standard deviation d^(-γ)")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8, mlp_width=5))]

    def init(self, task: Task, key: Key[Array, ""]) -> Hidden:
        width, mlp_width = self.width, self.mlp_width
        shapes = (task.vocab, width), (width, mlp_width), (mlp_width, task.answers)
        return Hidden(*(_scaled(self, weights) for weights in gaussians(key, *shapes)))

    def __call__(
        self, params: Hidden, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        features = summed(params.embed, inputs, at)
        return Trace(jax.nn.relu(features @ params.mlp_in) @ params.project, features[None])


class TokenSum(Model):
    """f(x) = Σ_t W[x_t]: factors merged into one matrix, so nothing is shared between tokens."""

    # descent from 0 on W seeks its least Frobenius norm, on two factors of it the least nuclear
    # norm (Huang et al., 2025): the control without a bias to low rank
    scale: float = number(0.0, least=0, doc="standard deviation of initial weights")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(scale=0.5))]

    def init(self, task: Task, key: Key[Array, ""]) -> dict[str, Float[Array, "vocab answer"]]:
        (weights,) = gaussians(key, (task.vocab, task.answers))
        return {"templates": self.scale * weights}

    def __call__(
        self,
        params: dict[str, Float[Array, "vocab answer"]],
        inputs: Int[Array, " length"],
        at: Int[Array, " read"],
    ) -> Trace:
        outputs = summed(params["templates"], inputs, at)
        return Trace(outputs, outputs[None])


def summed(
    table: Float[Array, "vocab width"], inputs: Int[Array, " length"], at: Int[Array, " read"]
) -> Float[Array, "read width"]:
    """The sum of the tokens' rows up to each position read."""
    # a sum, not a mean: so read the constraints (4) and (5) of arXiv 2509.24653
    return causal_mask(len(inputs), at) @ table[inputs]


def _scaled(model: EmbeddingMLP | EmbeddingReluMLP, weights: Float[Array, "..."]) -> Any:
    # one d for all; the paper's is what a matrix reads, which for E would be the vocabulary
    return weights * jnp.power(float(model.width), -model.gamma)
