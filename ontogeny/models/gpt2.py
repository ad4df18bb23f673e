"""GPT-2-style transformers: pre-norm, GELU, learned positions, tied head."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core import Model, Task, Trace
from ..fields import Invalid, count, number
from .initial import gaussians, norm
from .layers import Linear, Norm, unstacked


class Identities(NamedTuple):
    """A number for each head: how much of I is added to W_K W_Qᵀ and to W_V W_Oᵀ."""

    match: Float[Array, "*depth head"]
    copy: Float[Array, "*depth head"]


class Block(NamedTuple):
    """One layer; or all layers, stacked."""

    attention_norm: Norm
    query: Linear
    key_value: Linear
    mix: Linear
    mlp_norm: Norm
    widen: Linear
    narrow: Linear
    identities: Identities | None = None


class Params(NamedTuple):
    """Embeddings (also the head), positions, blocks stacked by layer, the last norm."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "length width"]
    blocks: Block
    norm: Norm


class _GPT2(Model):
    """`depth` blocks of `heads` heads; the last block works only at the positions read."""

    width: int = count(128)
    depth: int = count(4)
    heads: int = count(4)

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.width % self.heads:
            raise Invalid(f"GPT2.width={self.width} is not divisible by heads={self.heads}")

    @property
    def _factor(self) -> Any:
        """How much the numbers of identities count."""
        return 1.0

    @abstractmethod
    def _deviation(self, into: int) -> Any:
        """The standard deviation of initial weights that read `into` numbers."""

    def _into_stream(self, into: int) -> Any:
        """The same for weights that write to the residual stream."""
        return self._deviation(into)

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width, depth = self.width, self.depth
        tokens, positions, query, key_value, mix, widen, narrow = gaussians(
            key,
            (task.vocab, width),
            (task.length, width),
            (depth, width, width),
            (depth, width, 2 * width),
            (depth, width, width),
            (depth, width, 4 * width),
            (depth, 4 * width, width),
        )

        def linear(
            weights: Float[Array, "depth into out"], scale: Float[Array, ""] | float
        ) -> Linear:
            return Linear(scale * weights, jnp.zeros((depth, weights.shape[-1])))

        return Params(
            tokens=self._deviation(width) * tokens,
            positions=self._deviation(width) * positions,
            blocks=Block(
                attention_norm=norm(depth, width),
                query=linear(query, self._deviation(width)),
                key_value=linear(key_value, self._deviation(width)),
                mix=linear(mix, self._into_stream(width)),
                mlp_norm=norm(depth, width),
                widen=linear(widen, self._deviation(width)),
                narrow=linear(narrow, self._into_stream(4 * width)),
            ),
            norm=norm(width),
        )

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        everywhere = jnp.arange(len(inputs))
        stream = params.tokens[inputs] + params.positions[: len(inputs)]
        residual, attention = [stream[at]], []
        for layer, block in enumerate(unstacked(params.blocks, self.depth)):
            where = at if layer == self.depth - 1 else everywhere
            stream, weights = self._block(block, stream, where)
            residual.append(stream if layer == self.depth - 1 else stream[at])
            attention.append(weights)
        outputs = params.norm(stream) @ params.tokens.T
        return Trace(outputs, jnp.stack(residual), tuple(attention))

    def _block(
        self, block: Block, stream: Float[Array, "length width"], at: Int[Array, " read"]
    ) -> tuple[Float[Array, "read width"], Float[Array, "head read length"]]:
        normed = block.attention_norm(stream)
        whole = at.shape == stream.shape[:1]
        here, normed_here = (stream, normed) if whole else (stream[at], normed[at])
        query = self._heads(block.query(normed_here))
        key, value = map(self._heads, jnp.split(block.key_value(normed), 2, axis=-1))
        scores = jnp.einsum("qhd,khd->hqk", query, key) / (self.width / self.heads) ** 0.5
        if block.identities:
            alike = normed_here @ normed.T
            scores = scores + self._factor * block.identities.match[:, None, None] * alike
        earlier = jnp.arange(len(stream))[None, :] <= at[:, None]
        weights = jax.nn.softmax(jnp.where(earlier, scores, -jnp.inf), axis=-1)
        mixed = jnp.einsum("hqk,khd->qhd", weights, value).reshape(len(at), self.width)
        here = here + block.mix(mixed)
        if block.identities:
            passed = jnp.tensordot(block.identities.copy, weights, 1) @ normed
            here = here + self._factor * passed
        hidden = jax.nn.gelu(block.widen(block.mlp_norm(here)))
        return here + block.narrow(hidden), weights

    def _heads(self, x: Float[Array, "row width"]) -> Float[Array, "row head part"]:
        return x.reshape(len(x), self.heads, -1)


class GPT2(_GPT2):
    """As published: one scale, less for what enters the residual stream, by how much enters it."""

    scale: float = number(0.02, least=0)  # standard deviation of initial weights

    def _deviation(self, into: int) -> Any:
        return self.scale

    def _into_stream(self, into: int) -> Any:
        return self.scale / (2 * self.depth) ** 0.5


class IdentityGPT2(GPT2):
    """The same with trainable identities in every head, zero at first (arXiv 2310.09753)."""

    factor: float = number(4.0)

    @property
    def _factor(self) -> Any:
        return self.factor

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        params = super().init(task, key)
        nothing = jnp.zeros((self.depth, self.heads))
        return params._replace(
            blocks=params.blocks._replace(identities=Identities(nothing, nothing))
        )


class ScaledGPT2(_GPT2):
    """W ~ N(0, d^(-2γ)), d what it reads: γ = ½ is standard, up to 1 is a small initialisation."""

    gamma: float = number(0.5, least=0)

    def _deviation(self, into: int) -> Any:
        return jnp.power(float(into), -self.gamma)
