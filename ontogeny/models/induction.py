"""The two-layer transformer in which induction heads are memories (arXiv 2306.00802).

One head a layer, queries as they are, no norms:

    x_t = e_z + p_t
    x'_t = x_t + Σ_s β_s W_O¹ W_V¹ x_s      β = softmax(x_tᵀ W_K¹ x_s / √d)     previous token
    x''_t = x'_t + Σ_s β'_s W_O² W_V² x'_s  β' = softmax(x'_tᵀ W_K² x'_s / √d)  induction

The first layer meets only embeddings of tokens and places, so that its scores are a table of
(token or place) × (token or place), taken once for all sequences; and what follows the first layer
is worked out only where it is read.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, choice, count, number
from ..core.types import Task, Together, Trace
from .initial import gaussians, uniforms


class FeedForward(NamedTuple):
    """Two matrices around a ReLU."""

    mlp_in: Float[Array, "hidden width"]
    mlp_out: Float[Array, "width hidden"]

    def __call__(self, x: Float[Array, "*place width"]) -> Float[Array, "*place width"]:
        return jax.nn.relu(x @ self.mlp_in.T) @ self.mlp_out.T


class LinearForward(NamedTuple):
    """A single matrix."""

    weight: Float[Array, "width width"]

    def __call__(self, x: Float[Array, "*place width"]) -> Float[Array, "*place width"]:
        return x @ self.weight.T


class Params(NamedTuple):
    """Embeddings, and the matrices of both layers: they act on columns, W x."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "length width"]
    unembed: Float[Array, "vocab width"]
    key1: Float[Array, "width width"]
    value1: Float[Array, "width width"]
    out1: Float[Array, "width width"]
    key2: Float[Array, "width width"]
    value2: Float[Array, "width width"]
    out2: Float[Array, "width width"]
    mlp1: Any = None
    mlp2: Any = None


MEMORIES = ("key1", "key2", "out2")  # what is trained in the simplest setting


class InductionPair(Together):
    """The simplified transformer; `MEMORIES` names the parts that are trained in the paper."""

    width: int = count(128)
    scale: float = number(1.0, above=0)  # of embeddings: 1, or 1/√d
    first: str = choice("none", "relu")  # the feed-forward layer after the first attention
    last: str = choice("none", "linear", "relu")  # and after the second

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width = self.width
        embeddings, weights, mlp1, mlp2 = jr.split(key, 4)
        tokens, positions = gaussians(embeddings, (task.vocab, width), (task.length, width))
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
            mlp1=_forward(self.first, width, mlp1),
            mlp2=_forward(self.last, width, mlp2),
        )

    def rows(
        self,
        params: Params,
        inputs: Int[Array, "row length"],
        at: Int[Array, "row read"],
        starts: int | None = None,
    ) -> Trace:
        """Where weights are trained, all places of all rows are one matrix: the gradients are then
        plain products."""
        length, vocab = inputs.shape[1], len(params.tokens)
        x = params.tokens[inputs] + params.positions[:length]
        scores1 = jax.vmap(self._first_scores, (None, 0))(params, inputs)
        weights1 = attend(scores1, jnp.broadcast_to(jnp.arange(length), inputs.shape))
        known = jnp.concatenate([params.tokens, params.positions])
        carried = known @ (params.out1 @ params.value1).T
        stream = x + weights1 @ (carried[inputs] + carried[vocab : vocab + length])
        if params.mlp1 is not None:
            stream = stream + params.mlp1(stream)

        def read(x: Float[Array, "row length width"]) -> Float[Array, "row read width"]:
            return jnp.take_along_axis(x, at[..., None], axis=1)

        def flat(x: Float[Array, "row read width"]) -> Float[Array, "place width"]:
            return x.reshape(-1, self.width)

        here = read(stream)
        asked = (flat(here) @ params.key2).reshape(here.shape)
        weights2 = attend(asked @ jnp.swapaxes(stream, 1, 2) / self.width**0.5, at)
        met, moving = weights2 @ stream, params.out2 @ params.value2
        after = here + met @ moving.T
        if params.mlp2 is None:  # the same with fewer products: there are few answers
            outputs = flat(here) @ params.unembed.T + flat(met) @ (params.unembed @ moving).T
        else:
            after = after + params.mlp2(after)
            outputs = flat(after) @ params.unembed.T
        residual = jnp.stack([read(x), here, after], axis=1)
        return Trace(
            outputs.reshape(*at.shape, -1), residual, (weights1[:, None], weights2[:, None])
        )

    def _first_scores(
        self, params: Params, inputs: Int[Array, " length"]
    ) -> Float[Array, "length length"]:
        """x_tᵀ W_K¹ x_s / √d, looked up."""
        length, vocab = len(inputs), len(params.tokens)
        known = jnp.concatenate([params.tokens, params.positions[:length]])
        table = known @ params.key1 @ known.T / self.width**0.5
        rows = table[inputs] + table[vocab:]
        scores: Array = rows[:, inputs] + rows[:, vocab:]
        return scores


class OneHotPair(InductionPair):
    """The same where all embeddings are exactly orthonormal, and what is trained starts at nothing.

    Tokens, places, both as the first layer moves them, and answers have directions of their own.
    """

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        known, width = task.vocab + task.length, self.width
        if self.first != "none" or self.last == "relu":
            raise ConfigError(
                "OneHotPair starts at nothing: of feed-forward layers only last='linear'"
            )
        if width < 2 * known + task.answers:
            raise ConfigError(
                f"OneHotPair.width={width}: {known} tokens and places, moved ones and "
                f"{task.answers} answers need {2 * known + task.answers}"
            )
        axes, nothing = jnp.eye(width), jnp.zeros((width, width))
        moved = nothing.at[jnp.arange(known) + known, jnp.arange(known)].set(1.0)
        return Params(
            tokens=axes[: task.vocab],
            positions=axes[task.vocab : known],
            unembed=axes[2 * known : 2 * known + task.answers],
            key1=nothing,
            value1=moved,
            out1=axes,
            key2=nothing,
            value2=axes,
            out2=nothing,
            mlp2=LinearForward(nothing) if self.last == "linear" else None,
        )


def attend(
    scores: Float[Array, "*row query length"], at: Int[Array, "*row query"]
) -> Float[Array, "*row query length"]:
    """Attention to no later place than the query's own."""
    earlier = jnp.arange(scores.shape[-1]) <= at[..., None]
    weights: Array = jax.nn.softmax(jnp.where(earlier, scores, -jnp.inf), axis=-1)
    return weights


def _forward(kind: str, width: int, key: Key[Array, ""]) -> Any:
    if kind == "relu":
        mlp_in, mlp_out = uniforms(key, (1, width, 4 * width), (1, 4 * width, width))
        return FeedForward(mlp_in[0].T, mlp_out[0].T)
    if kind == "linear":
        return LinearForward(uniforms(key, (width, width))[0])
    return None
