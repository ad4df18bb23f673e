"""The transformer of template tasks, and its two identities (arXiv 2310.09753).

A token [CLS] is put after the string, and the answer is read there. Nothing is masked, norms come
before layers, embeddings are standard normal. Each head may have two more numbers, zero at first:

    W_K W_Qᵀ + a I   adds to the scores how alike two tokens are
    W_V W_Oᵀ + b I   passes on, besides values, the tokens attended to
"""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, Example, count, flag, number
from ..core.types import Model, Task, Trace
from .initial import gaussians, linears, norm, uniforms
from .layers import Linear, Norm, embed, masked_softmax, normalised, unstacked


class Attention(NamedTuple):
    """The heads of a layer, or of all layers, stacked."""

    norm: Norm
    query: Float[Array, "*depth width head head_dim"]
    key: Float[Array, "*depth width head head_dim"]
    value: Float[Array, "*depth width head head_dim"]
    out: Float[Array, "*depth head head_dim width"]
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
    positions: Float[Array, "position width"]
    cls: Float[Array, " width"]
    attention: Attention
    mlp: MLP
    head: Linear | None


class Transformer(Model):
    """Pre-norm, unmasked, read at [CLS]; `kq_identity` and `vo_identity` scale what a and b add."""

    width: int = count(128, doc="width of the residual stream")
    depth: int = count(2, most=1000, doc="number of layers")
    heads: int = count(16, most=1000, doc="heads of each layer")
    head_dim: int = count(64, doc="width of a head")
    mlp_width: int = count(256, doc="hidden units of an MLP")
    kq_identity: float = number(
        0.0, doc="scale of the identity a I added to W_K W_Qᵀ; 0: there is none"
    )
    vo_identity: float = number(
        0.0, doc="scale of the identity b I added to W_V W_Oᵀ; 0: there is none"
    )
    scale: float = number(
        1.0, least=0, doc="what initial weights but embeddings and the head are multiplied with"
    )
    tied: bool = flag(False, doc="answers are read with the embeddings themselves")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        small = cls(width=8, heads=2, head_dim=4, mlp_width=6, kq_identity=1.0, vo_identity=1.0)
        return [Example(small)]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        embeddings, weights, affine = jr.split(key, 3)
        width, depth, heads, head_dim = self.width, self.depth, self.heads, self.head_dim
        tokens, positions, cls = gaussians(
            embeddings, (task.vocab, width), (task.length + 1, width), (width,)
        )
        into = (depth, width, heads * head_dim)
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

        def by_head(matrix: Float[Array, "depth into out"]) -> Float[Array, "..."]:
            return self.scale * matrix.reshape(depth, width, heads, head_dim)

        def scaled(linear: Linear) -> Linear:
            return Linear(self.scale * linear.weight, self.scale * linear.bias)

        zeros = jnp.zeros((depth, heads))
        attention = Attention(
            norm=norm(depth, width),
            query=by_head(query),
            key=by_head(key_),
            value=by_head(value),
            out=self.scale * out.reshape(depth, heads, head_dim, width),
            a=zeros,
            b=zeros,
        )
        mlp = MLP(norm(depth, width), scaled(mlp_in), scaled(mlp_out))
        return Params(tokens, positions, cls, attention, mlp, None if self.tied else head)

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        """What is read at a position is read at a [CLS] that takes in the string up to there."""
        tokens = embed(params.tokens, params.positions, inputs)
        # [CLS] has the last position's embedding, however little of the string is read
        x = jnp.concatenate([tokens, (params.cls + params.positions[-1])[None]])

        def read(last: Int[Array, ""]) -> Trace:
            position = jnp.arange(len(x))
            return self._read(params, x, (position <= last) | (position == len(inputs)))

        return Trace.at_each(at, read)

    def _read(
        self,
        params: Params,
        x: Float[Array, "position width"],
        mask: Bool[Array, " position"],
    ) -> Trace:
        residual, attended = [x[-1]], []
        layers = unstacked((params.attention, params.mlp), self.depth)
        for layer, (attention, mlp) in enumerate(layers):
            if layer < self.depth - 1:
                mixed, weights = self._everywhere(attention, attention.norm(x), mask)
            else:  # what follows is read at [CLS] alone
                mixed, weights = self._at_cls(attention, attention.norm(x), mask)
                x = x[-1:]
            x = x + mixed
            # by erf, torch's default, as in the authors' program
            active = jax.nn.gelu(mlp.mlp_in(mlp.norm(x)), approximate=False)
            x = x + mlp.mlp_out(active)
            residual.append(x[-1])
            attended.append(weights[:, -1])
        # the last norm has no scale and shift, as in the authors' program
        normed = normalised(x[-1])
        outputs = params.tokens @ normed if params.head is None else params.head(normed)
        return Trace(outputs, jnp.stack(residual), tuple(attended))

    def _everywhere(
        self,
        attention: Attention,
        x: Float[Array, "position width"],
        mask: Bool[Array, " position"],
    ) -> tuple[Float[Array, "position width"], Float[Array, "head position position"]]:
        query, key, value = (
            jnp.einsum("nd,dhp->nhp", x, weights)
            for weights in (attention.query, attention.key, attention.value)
        )
        scores = jnp.einsum("qhp,khp->hqk", query, key) / self.head_dim**0.5
        # x is normed, and a ⟨x_i, x_j⟩ not divided by √head_dim: both as in the authors' program
        scores = scores + self.kq_identity * attention.a[:, None, None] * (x @ x.T)
        weights = masked_softmax(scores, mask)
        mixed = jnp.einsum("hqk,khp->qhp", weights, value)
        # Σ_h b_h A_h first: one product with x instead of one for each head
        passed = jnp.tensordot(attention.b, weights, 1) @ x
        return jnp.einsum("qhp,hpd->qd", mixed, attention.out) + self.vo_identity * passed, weights

    def _at_cls(
        self,
        attention: Attention,
        x: Float[Array, "position width"],
        mask: Bool[Array, " position"],
    ) -> tuple[Float[Array, "1 width"], Float[Array, "head 1 position"]]:
        """The same for the last position only. Reassociated: keys are applied to the one query, and
        values to what was attended to, not to every position."""
        query = jnp.einsum("d,dhp->hp", x[-1], attention.query)
        asked = jnp.einsum("hp,dhp->hd", query, attention.key) / self.head_dim**0.5
        asked = asked + self.kq_identity * attention.a[:, None] * x[-1]
        weights = masked_softmax(asked @ x.T, mask)
        met = weights @ x
        mixed = jnp.einsum("hd,dhp->hp", met, attention.value)
        passed = attention.b @ met
        out = jnp.einsum("hp,hpd->d", mixed, attention.out) + self.vo_identity * passed
        return out[None], weights[:, None]


class MimeticTransformer(Transformer):
    """The same, its heads starting like those of pretrained models: W_Q W_Kᵀ near α Z + β I.

    Z is noise of the usual size; each product is split evenly into its factors, of which the
    largest `head_dim` directions are kept.
    """

    alpha: float = number(0.7, least=0, doc="α: size of the noise in W_Q W_Kᵀ")
    beta: float = number(0.7, least=0, doc="β: size of the identity in W_Q W_Kᵀ")

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        params = super().init(task, key)
        width = self.width
        # a key of its own: all other weights are those of Transformer for the same seed
        (noise,) = gaussians(jr.fold_in(key, 1), (self.depth, self.heads, width, width))
        # the authors' program has √α Z₁ᵀ Z₂ + √β I, and its α and β are not known: 0.7 is our guess
        wanted = self.alpha * noise * width**-0.5 + self.beta * jnp.eye(width)
        left, sizes, right = jnp.linalg.svd(wanted)
        root = jnp.sqrt(sizes[..., None, : self.head_dim])
        query = jnp.moveaxis(left[..., : self.head_dim] * root, 1, 2)
        key_ = jnp.moveaxis(jnp.swapaxes(right, -1, -2)[..., : self.head_dim] * root, 1, 2)
        return params._replace(attention=params.attention._replace(query=query, key=key_))
