"""One layer of attention that recalls facts, with or without an MLP (arXiv 2412.06538).

The last token asks; embeddings are random and stay as they are. Nothing depends on places, and a
token's score for each head is a table over the vocabulary.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import count
from ..core.types import Model, Task, Trace
from .induction import FeedForward
from .initial import gaussians
from .linear_attention import Merged, MergedAttention


class Params(NamedTuple):
    """Embeddings of tokens and answers, heads, and the layer after them."""

    embed: Float[Array, "vocab width"]
    unembed: Float[Array, "answer width"]
    query: Float[Array, "head part width"]
    key: Float[Array, "head part width"]
    value: Float[Array, "head part width"]
    out: Float[Array, "head part width"]
    mlp: FeedForward | None


RECALLING = ("query", "key", "value", "out", "mlp")  # what is trained


class RecallAttention(Model):
    """softmax attention of `heads` heads, then x + MLP(x); without `hidden` attention alone."""

    width: int = count(16)
    heads: int = count(8, most=1000)
    head_dim: int = count(8)  # d_h
    mlp_width: int = count(0, least=0)  # m

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width, heads, part = self.width, self.heads, self.head_dim
        embeddings, attention, forward = jr.split(key, 3)
        embed, unembed = gaussians(embeddings, (task.vocab, width), (task.answers, width))
        query, key_, value, out = gaussians(attention, *[(heads, part, width)] * 4)
        layer = None
        if self.mlp_width:
            mlp_in, mlp_out = gaussians(forward, (self.mlp_width, width), (width, self.mlp_width))
            layer = FeedForward(mlp_in * width**-0.5, mlp_out * self.mlp_width**-0.5)
        return Params(
            embed * width**-0.5,
            unembed * width**-0.5,
            query * part**-0.5,
            key_ * part**-0.5,
            value * part**-0.5,
            out * width**-0.5,
            layer,
        )

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        keys = jnp.einsum("vd,hpd->vhp", params.embed, params.key) / self.head_dim**0.5
        queries = jnp.einsum("rd,hpd->rhp", params.embed[inputs[at]], params.query)
        scores = jnp.einsum("rhp,thp->hrt", queries, keys[inputs])
        earlier = jnp.arange(len(inputs)) <= at[:, None]
        weights = jax.nn.softmax(jnp.where(earlier, scores, -jnp.inf), axis=-1)
        met = weights @ params.embed[inputs]
        values = jnp.einsum("hrd,hpd->rhp", met, params.value)
        stream = jnp.einsum("rhp,hpd->rd", values, params.out)
        read = stream if params.mlp is None else stream + params.mlp(stream)
        return Trace(read @ params.unembed.T, jnp.stack([stream, read]), (weights,))


class UniformAttention(MergedAttention):
    """Linear attention on one-hot tokens whose weights all start at the same small number."""

    def init(self, task: Task, key: Key[Array, ""]) -> Merged:
        shapes = (task.vocab, task.vocab), (task.vocab, task.answers)
        return Merged(*(jnp.broadcast_to(self.scale, shape) for shape in shapes))
