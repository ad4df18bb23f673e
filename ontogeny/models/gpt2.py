"""GPT-2-style transformers: pre-norm, GELU, learned positions, embeddings tied to the outputs.

x = e_z + p_t
x ← x + W_O concat_h Σ_s softmax(q_t · k_s / √d_h) v_s      q, k, v of norm(x), s ≤ t
x ← x + W_out gelu(W_in norm(x))
logits = E norm(x)
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, choice, count, number
from ..core.types import FirstTokens, Model, Task, Trace
from .fast import gpt2 as fast
from .initial import gaussians, norm
from .layers import Linear, Norm, by_head, causal_mask, embed, masked_softmax, unstacked
from .rotary import rotary


class Identities(NamedTuple):
    """A number for each head: how much of I is added to W_K W_Qᵀ and to W_V W_Oᵀ."""

    kq_identity: Float[Array, "*depth head"]
    vo_identity: Float[Array, "*depth head"]


class Block(NamedTuple):
    """One layer; or all layers, stacked."""

    attention_norm: Norm
    query: Linear
    # apart from queries, which are needed only where something is read
    key_value: Linear
    mix: Linear
    mlp_norm: Norm
    mlp_in: Linear
    mlp_out: Linear
    identities: Identities | None = None


class Params(NamedTuple):
    """Embeddings (also the head), positions, blocks stacked by layer, the last norm."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "length width"]
    blocks: Block
    norm: Norm


class _GPT2(Model):
    """`depth` blocks of `heads` heads."""

    width: int = count(128, doc="width of the residual stream; the MLPs are four times as wide")
    depth: int = count(4, most=1000, doc="number of blocks")
    heads: int = count(4, most=1000, doc="heads of each block")
    # published: learned. The others have nothing that is left untrained at a position
    positions: str = choice("learned", "rotary", "none", doc="how it is told positions; none: NoPE")

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.width % self.heads:
            raise ConfigError(f"GPT2.width={self.width} is not divisible by heads={self.heads}")
        if self.positions == "rotary" and self.width // self.heads % 2:
            raise ConfigError(
                f"GPT2.width={self.width}: for rotary positions each of {self.heads} heads needs "
                "an even width"
            )

    @property
    def identity_factor(self) -> Any:
        """What the numbers of identities are multiplied with."""
        return 1.0

    @abstractmethod
    def _deviation(self, into: int) -> Any:
        """The standard deviation of initial weights that read `into` numbers."""

    def _into_residual(self, into: int) -> Any:
        """The same for weights that write to the residual stream."""
        return self._deviation(into)

    def _embedding(self, task: Task) -> Any:
        """The same for embeddings of tokens and positions."""
        return self._deviation(self.width)

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width, depth = self.width, self.depth
        tokens, positions, query, key_value, mix, mlp_in, mlp_out = gaussians(
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

        # drawn for all, so that weights are the same however positions are told
        known = positions if self.positions == "learned" else jnp.zeros((0, width))
        return Params(
            tokens=self._embedding(task) * tokens,
            positions=self._embedding(task) * known,
            blocks=Block(
                attention_norm=norm(depth, width),
                query=linear(query, self._deviation(width)),
                key_value=linear(key_value, self._deviation(width)),
                mix=linear(mix, self._into_residual(width)),
                mlp_norm=norm(depth, width),
                mlp_in=linear(mlp_in, self._deviation(width)),
                mlp_out=linear(mlp_out, self._into_residual(4 * width)),
            ),
            norm=norm(width),
        )

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        x = embed(params.tokens, params.positions, inputs)
        residual, attention = [x[at]], []
        for block in unstacked(params.blocks, self.depth):
            x, weights = self._block(block, x)
            residual.append(x[at])
            attention.append(weights)
        # what the last block attends to elsewhere than where it is read is never computed by the
        # fast path, so it is no part of the trace
        attention[-1] = attention[-1][:, at]
        return Trace(params.norm(x[at]) @ params.tokens.T, jnp.stack(residual), tuple(attention))

    def _block(
        self, block: Block, x: Float[Array, "length width"]
    ) -> tuple[Float[Array, "length width"], Float[Array, "head query key"]]:
        normed = block.attention_norm(x)
        key, value = jnp.split(block.key_value(normed), 2, axis=-1)
        query, key, value = (
            by_head(each, self.heads) for each in (block.query(normed), key, value)
        )
        if self.positions == "rotary":
            query, key = (rotary(each, jnp.arange(len(x))) for each in (query, key))
        scores = jnp.einsum("qhd,khd->hqk", query, key) / (self.width / self.heads) ** 0.5
        if block.identities:  # W_K W_Qᵀ + a I adds to the scores how alike two positions are
            a = self.identity_factor * block.identities.kq_identity
            scores = scores + a[:, None, None] * (normed @ normed.T)
        weights = masked_softmax(scores, causal_mask(len(x), jnp.arange(len(x))))
        x = x + block.mix(jnp.einsum("hqk,khd->qhd", weights, value).reshape(x.shape))
        if block.identities:  # W_V W_Oᵀ + b I passes on what is attended to, besides the values
            b = self.identity_factor * block.identities.vo_identity
            x = x + jnp.einsum("h,hqk,kd->qd", b, weights, normed)
        # GELU by tanh, as published; by erf training was slower (LOGBOOK)
        return x + block.mlp_out(jax.nn.gelu(block.mlp_in(block.mlp_norm(x)))), weights

    def batched(
        self,
        params: Params,
        inputs: Int[Array, "row length"],
        at: Int[Array, "row read"],
        first: FirstTokens | None = None,
    ) -> Trace:
        return fast.batched(self, params, inputs, at, first)


class GPT2(_GPT2):
    """As published: one scale, less for what enters the residual stream, by how much enters it."""

    scale: float = number(0.02, least=0, doc="standard deviation of initial weights")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        sizes: dict[str, Any] = {"width": 8, "depth": 2, "heads": 2, "scale": 0.5}
        return [Example(cls(**sizes, positions=how)) for how in ("learned", "rotary", "none")]

    def _deviation(self, into: int) -> Any:
        return self.scale

    def _into_residual(self, into: int) -> Any:
        # each of 2·depth layers adds its own, and so their sum keeps its size
        return self.scale / (2 * self.depth) ** 0.5


class IdentityGPT2(GPT2):
    """The same with trainable identities in every head, zero at first (arXiv 2310.09753)."""

    factor: float = number(4.0, doc="what the trained numbers a and b are multiplied with")

    @property
    def identity_factor(self) -> Any:
        return self.factor

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        params = super().init(task, key)
        # so from one seed it starts as the same function as GPT2, with the same weights
        nothing = jnp.zeros((self.depth, self.heads))
        return params._replace(
            blocks=params.blocks._replace(identities=Identities(nothing, nothing))
        )


class ScaledGPT2(_GPT2):
    """W ~ N(0, d^(-2γ)), d what it reads: γ = ½ is one reading of standard, up to 1 is small."""

    gamma: float = number(0.5, least=0, doc="γ: initial weights have standard deviation d^(-γ)")
    # arXiv 2509.24653 has d = d_in for every matrix; an embedding's would be the vocabulary
    embedding: str = choice("width", "vocabulary", doc="d of embeddings")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        sizes: dict[str, Any] = {"width": 8, "depth": 2, "heads": 2, "gamma": 0.3}
        return [Example(cls(**sizes, embedding=d)) for d in ("width", "vocabulary")]

    def _deviation(self, into: int) -> Any:
        return jnp.power(float(into), -self.gamma)

    def _embedding(self, task: Task) -> Any:
        return self._deviation(self.width if self.embedding == "width" else task.vocab)
