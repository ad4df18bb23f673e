"""The two-layer transformer in which induction heads are memories (arXiv 2306.00802).

One head a layer, no query matrices, no norms:

    x_t = e_z + p_t
    x'_t = x_t + Σ_s β_s W_O¹ W_V¹ x_s      β = softmax(x_tᵀ W_K¹ x_s / √d)     previous token
    x''_t = x'_t + Σ_s β'_s W_O² W_V² x'_s  β' = softmax(x'_tᵀ W_K² x'_s / √d)  induction
"""

from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, choice, count, number
from ..core.types import FirstTokens, Model, Task, Trace
from .fast import induction as fast
from .initial import gaussians, uniforms
from .layers import LinearMLP, ReluMLP, causal_mask, embed, masked_softmax


class Params(NamedTuple):
    """Embeddings, and the matrices of both layers: they act on columns, W x."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "length width"]
    unembed: Float[Array, "answer width"]
    key1: Float[Array, "width width"]
    value1: Float[Array, "width width"]
    out1: Float[Array, "width width"]
    key2: Float[Array, "width width"]
    value2: Float[Array, "width width"]
    out2: Float[Array, "width width"]
    mlp1: ReluMLP | None = None
    mlp2: ReluMLP | LinearMLP | None = None


MEMORIES = ("key1", "key2", "out2")  # what is trained in the simplest setting


class InductionPair(Model):
    """The simplified transformer; `MEMORIES` names the matrices that are trained in the paper."""

    width: int = count(128, doc="width d of the residual stream")
    # with 1/√d nothing was learnt in 400 steps at rate 0.5 (LOGBOOK)
    scale: float = number(1.0, above=0, doc="standard deviation of embeddings: 1, or 1/√d")
    mlp1: str = choice("none", "relu", doc="the MLP after the first attention layer")
    mlp2: str = choice("none", "linear", "relu", doc="the MLP after the second attention layer")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [
            Example(cls(width=8)),
            Example(cls(width=8, mlp1="relu", mlp2="relu")),
            Example(cls(width=8, mlp2="linear")),
        ]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width = self.width
        embeddings, weights, mlp1, mlp2 = jr.split(key, 4)
        tokens, positions = gaussians(embeddings, (task.vocab, width), (task.length, width))
        # the axis of one makes the width what is read: a row of the unembedding reads all of it
        unembed, *square = uniforms(weights, (task.answers, width, 1), *[(width, width)] * 6)
        key1, value1, out1, key2, value2, out2 = square
        return Params(
            tokens=self.scale * tokens,
            positions=self.scale * positions,
            unembed=unembed[..., 0],
            key1=key1,
            value1=value1,
            out1=out1,
            key2=key2,
            value2=value2,
            out2=out2,
            mlp1=_relu_mlp(width, mlp1) if self.mlp1 == "relu" else None,
            mlp2=_mlp(self.mlp2, width, mlp2),
        )

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        mask = causal_mask(len(inputs), jnp.arange(len(inputs)))
        x = embed(params.tokens, params.positions, inputs)
        # W_Q is the identity, so that W_K alone is the memory of which key answers which query
        beta1 = masked_softmax(x @ params.key1 @ x.T / self.width**0.5, mask)
        # a random W_O¹ W_V¹, frozen, makes a moved token nearly orthogonal to itself
        x1 = x + beta1 @ x @ (params.out1 @ params.value1).T
        if params.mlp1 is not None:
            x1 = x1 + params.mlp1(x1)
        beta2 = masked_softmax(x1 @ params.key2 @ x1.T / self.width**0.5, mask)
        x2 = x1 + beta2 @ x1 @ (params.out2 @ params.value2).T
        if params.mlp2 is not None:
            x2 = x2 + params.mlp2(x2)
        return Trace(
            x2[at] @ params.unembed.T,
            jnp.stack([x[at], x1[at], x2[at]]),
            (beta1[None], beta2[None, at]),  # of the last layer only where it is read
        )

    def batched(
        self,
        params: Params,
        inputs: Int[Array, "row length"],
        at: Int[Array, "row read"],
        first: FirstTokens | None = None,
    ) -> Trace:
        return fast.batched(params, inputs, at)


class OneHotPair(InductionPair):
    """The same where all embeddings are exactly orthonormal, and what is trained starts at 0.

    Tokens, positions, both as the first layer moves them, and answers have directions of their own.
    """

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=60)), Example(cls(width=60, mlp2="linear"))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        known, width = task.vocab + task.length, self.width
        if self.mlp1 != "none" or self.mlp2 == "relu":
            raise ConfigError("OneHotPair starts at 0: of MLPs it has only mlp2='linear'")
        if width < 2 * known + task.answers:
            raise ConfigError(
                f"OneHotPair.width={width}: {known} tokens and positions, moved ones and "
                f"{task.answers} answers need {2 * known + task.answers}"
            )
        axes, zero = jnp.eye(width), jnp.zeros((width, width))
        # W_V¹ shifts axes by `known`: what the first layer carries gets axes of its own
        moved = zero.at[jnp.arange(known) + known, jnp.arange(known)].set(1.0)
        return Params(
            tokens=axes[: task.vocab],
            positions=axes[task.vocab : known],
            unembed=axes[2 * known : 2 * known + task.answers],
            key1=zero,
            value1=moved,
            out1=axes,
            key2=zero,
            value2=axes,
            out2=zero,
            mlp2=LinearMLP(zero) if self.mlp2 == "linear" else None,
        )


def _mlp(kind: str, width: int, key: Key[Array, ""]) -> ReluMLP | LinearMLP | None:
    if kind == "linear":
        return LinearMLP(uniforms(key, (width, width))[0])
    return _relu_mlp(width, key) if kind == "relu" else None


def _relu_mlp(width: int, key: Key[Array, ""]) -> ReluMLP:
    mlp_in, mlp_out = uniforms(key, (1, width, 4 * width), (1, 4 * width, width))
    return ReluMLP(mlp_in[0].T, mlp_out[0].T)
