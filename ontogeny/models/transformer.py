"""The transformer of template tasks, and its two identities (arXiv 2310.09753).

A token [CLS] is put after the string, and the answer is read there. Nothing is masked, norms come
before layers, embeddings are standard normal. Each head may have two more numbers, zero at first:

    W_K W_Qᵀ + a I   adds to the scores how alike two tokens are
    W_V W_Oᵀ + b I   passes on, besides values, the tokens attended to
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, count, flag, number
from ..core.types import Model, Task, Trace
from .initial import gaussians, linears, norm, uniforms
from .layers import Linear, Norm, normalised, unstacked


class Attention(NamedTuple):
    """The heads of a layer, or of all layers, stacked."""

    norm: Norm
    query: Float[Array, "*depth width head part"]
    key: Float[Array, "*depth width head part"]
    value: Float[Array, "*depth width head part"]
    out: Float[Array, "*depth head part width"]
    a: Float[Array, "*depth head"]
    b: Float[Array, "*depth head"]


class MLP(NamedTuple):
    """The layer that follows."""

    norm: Norm
    mlp_in: Linear
    mlp_out: Linear


class Params(NamedTuple):
    """Embeddings of tokens, positions and [CLS], layers stacked, and what reads the answer."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "places width"]
    cls: Float[Array, " width"]
    attention: Attention
    mlp: MLP
    head: Linear | None


class Transformer(Model):
    """Pre-norm, unmasked, read at [CLS]; `match` and `copy` scale what a and b add."""

    width: int = count(128)
    depth: int = count(2, most=1000)
    heads: int = count(16, most=1000)
    head_dim: int = count(64)  # width of a head
    mlp_width: int = count(256)
    kq_identity: float = number(0.0)  # times a; at 0 there is no such identity
    vo_identity: float = number(0.0)  # times b
    scale: float = number(1.0, least=0)  # times all initial weights but embeddings and the head
    tied: bool = flag(False)  # answers are read with the embeddings themselves

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        embeddings, weights, affine = jr.split(key, 3)
        width, depth, heads, part = self.width, self.depth, self.heads, self.head_dim
        tokens, positions, cls = gaussians(
            embeddings, (task.vocab, width), (task.length + 1, width), (width,)
        )
        into = (depth, width, heads * part)
        query, key_, value, out = uniforms(weights, into, into, into, (depth, into[-1], width))
        mlp_in, mlp_out, head = linears(
            affine,
            (depth, width, self.mlp_width),
            (depth, self.mlp_width, width),
            (width, task.answers),
        )
        if self.tied and task.answers != task.vocab:
            raise ConfigError(
                f"Transformer.tied: the answers of {type(task).__name__} are not its tokens"
            )

        def by_head(matrix: Float[Array, "depth into out"]) -> Float[Array, "depth into head part"]:
            return self.scale * matrix.reshape(depth, width, heads, part)

        def scaled(linear: Linear) -> Linear:
            return Linear(self.scale * linear.weight, self.scale * linear.bias)

        zeros = jnp.zeros((depth, heads))
        attention = Attention(
            norm=norm(depth, width),
            query=by_head(query),
            key=by_head(key_),
            value=by_head(value),
            out=self.scale * out.reshape(depth, heads, part, width),
            a=zeros,
            b=zeros,
        )
        mlp = MLP(norm(depth, width), scaled(mlp_in), scaled(mlp_out))
        return Params(tokens, positions, cls, attention, mlp, None if self.tied else head)

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        """What is read at a position is read at a [CLS] that takes in the string up to there."""
        tokens = params.tokens[inputs] + params.positions[: len(inputs)]
        stream = jnp.concatenate([tokens, (params.cls + params.positions[-1])[None]])

        def read(last: Int[Array, ""]) -> Trace:
            place = jnp.arange(len(stream))
            return self._read(params, stream, (place <= last) | (place == len(inputs)))

        return Trace.at_each(at, read)

    def _read(
        self,
        params: Params,
        stream: Float[Array, "place width"],
        seen: Bool[Array, " place"],
    ) -> Trace:
        residual, seen_by = [stream[-1]], []
        layers = unstacked((params.attention, params.mlp), self.depth)
        for layer, (attention, mlp) in enumerate(layers):
            if layer < self.depth - 1:
                mixed, weights = self._everywhere(attention, attention.norm(stream), seen)
            else:  # what follows is read at [CLS] alone
                mixed, weights = self._at_cls(attention, attention.norm(stream), seen)
                stream = stream[-1:]
            stream = stream + mixed
            hidden = jax.nn.gelu(mlp.mlp_in(mlp.norm(stream)), approximate=False)
            stream = stream + mlp.mlp_out(hidden)
            residual.append(stream[-1])
            seen_by.append(weights[:, -1])
        normed = normalised(stream[-1])
        outputs = params.tokens @ normed if params.head is None else params.head(normed)
        return Trace(outputs, jnp.stack(residual), tuple(seen_by))

    def _everywhere(
        self, attention: Attention, x: Float[Array, "place width"], seen: Bool[Array, " place"]
    ) -> tuple[Float[Array, "place width"], Float[Array, "head place place"]]:
        query, key, value = (
            jnp.einsum("nd,dhp->nhp", x, weights)
            for weights in (attention.query, attention.key, attention.value)
        )
        scores = jnp.einsum("qhp,khp->hqk", query, key) / self.head_dim**0.5
        scores = scores + self.kq_identity * attention.a[:, None, None] * (x @ x.T)
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        mixed = jnp.einsum("hqk,khp->qhp", weights, value)
        passed = jnp.tensordot(attention.b, weights, 1) @ x
        return jnp.einsum("qhp,hpd->qd", mixed, attention.out) + self.vo_identity * passed, weights

    def _at_cls(
        self, attention: Attention, x: Float[Array, "place width"], seen: Bool[Array, " place"]
    ) -> tuple[Float[Array, "1 width"], Float[Array, "head 1 place"]]:
        """The same for the last place only: scores and values are taken of sums over places."""
        query = jnp.einsum("d,dhp->hp", x[-1], attention.query)
        asked = jnp.einsum("hp,dhp->hd", query, attention.key) / self.head_dim**0.5
        asked = asked + self.kq_identity * attention.a[:, None] * x[-1]
        weights = jax.nn.softmax(jnp.where(seen, asked @ x.T, -jnp.inf), axis=-1)
        met = weights @ x
        mixed = jnp.einsum("hd,dhp->hp", met, attention.value)
        passed = attention.b @ met
        out = jnp.einsum("hp,hpd->d", mixed, attention.out) + self.vo_identity * passed
        return out[None], weights[:, None]


class MimeticTransformer(Transformer):
    """The same, its heads starting like those of pretrained models: W_Q W_Kᵀ near α Z + β I.

    Z is noise of the usual size; each product is split evenly into its factors, of which the
    largest `part` directions are kept.
    """

    alpha: float = number(0.7, least=0)
    beta: float = number(0.7, least=0)

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        params = super().init(task, key)
        width = self.width
        (noise,) = gaussians(jr.fold_in(key, 1), (self.depth, self.heads, width, width))
        wanted = self.alpha * noise * width**-0.5 + self.beta * jnp.eye(width)
        left, sizes, right = jnp.linalg.svd(wanted)
        root = jnp.sqrt(sizes[..., None, : self.head_dim])
        query = jnp.moveaxis(left[..., : self.head_dim] * root, 1, 2)
        key_ = jnp.moveaxis(jnp.swapaxes(right, -1, -2)[..., : self.head_dim] * root, 1, 2)
        return params._replace(attention=params.attention._replace(query=query, key=key_))
