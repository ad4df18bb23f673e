"""One layer of attention that recalls facts, with or without an MLP (arXiv 2412.06538).

The last token asks; embeddings are random and stay as they are. Nothing depends on positions, and a
token's score for each head is a table over the vocabulary.
"""

from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import Example, count
from ..core.types import Model, Task, Trace
from .initial import gaussians
from .layers import ReluMLP, causal_mask, masked_softmax
from .linear_attention import Merged, MergedAttention


class Params(NamedTuple):
    """Embeddings of tokens and answers, heads, and the layer after them."""

    embed: Float[Array, "vocab width"]
    unembed: Float[Array, "answer width"]
    query: Float[Array, "head head_dim width"]
    key: Float[Array, "head head_dim width"]
    value: Float[Array, "head head_dim width"]
    out: Float[Array, "head head_dim width"]
    mlp: ReluMLP | None


RECALLING = ("query", "key", "value", "out", "mlp")  # what is trained


class RecallAttention(Model):
    """softmax attention of `heads` heads, then x + MLP(x); with `mlp_width` 0 attention alone."""

    width: int = count(16, doc="width d of embeddings")
    heads: int = count(8, most=1000, doc="heads of attention")
    head_dim: int = count(8, doc="d_h: width of a head")
    mlp_width: int = count(0, least=0, doc="m: hidden units of the MLP; 0: there is none")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8, heads=2, head_dim=4, mlp_width=6))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width, heads, head_dim = self.width, self.heads, self.head_dim
        embeddings, attention, mlp = jr.split(key, 3)
        embed, unembed = gaussians(embeddings, (task.vocab, width), (task.answers, width))
        query, key_, value, out = gaussians(attention, *[(heads, head_dim, width)] * 4)
        layer = None
        if self.mlp_width:
            mlp_in, mlp_out = gaussians(mlp, (self.mlp_width, width), (width, self.mlp_width))
            layer = ReluMLP(mlp_in * width**-0.5, mlp_out * self.mlp_width**-0.5)
        # the authors' deviations: 1/√d for embeddings and outputs, 1/√d_h for Q, K and V
        return Params(
            embed * width**-0.5,
            unembed * width**-0.5,
            query * head_dim**-0.5,
            key_ * head_dim**-0.5,
            value * head_dim**-0.5,
            out * width**-0.5,
            layer,
        )

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        # keys are made of the vocabulary, once for all rows, and looked up
        keys = jnp.einsum("vd,hpd->vhp", params.embed, params.key) / self.head_dim**0.5
        queries = jnp.einsum("rd,hpd->rhp", params.embed[inputs[at]], params.query)
        scores = jnp.einsum("rhp,thp->hrt", queries, keys[inputs])
        weights = masked_softmax(scores, causal_mask(len(inputs), at))
        # values are taken of what attention met: of one vector a read instead of one a token
        met = weights @ params.embed[inputs]
        values = jnp.einsum("hrd,hpd->rhp", met, params.value)
        x = jnp.einsum("rhp,hpd->rd", values, params.out)
        # a stream from attention on, but none from the token that asks: so in the authors' program
        after = x if params.mlp is None else x + params.mlp(x)
        return Trace(after @ params.unembed.T, jnp.stack([x, after]), (weights,))


class UniformAttention(MergedAttention):
    """Linear attention on one-hot tokens whose weights all start at the same small number."""

    def init(self, task: Task, key: Key[Array, ""]) -> Merged:
        shapes = (task.vocab, task.vocab), (task.vocab, task.answers)
        # W_OV and W_KQ all at α > 0, where the theorem on the phase of hallucination starts
        return Merged(*(jnp.broadcast_to(self.scale, shape) for shape in shapes))
