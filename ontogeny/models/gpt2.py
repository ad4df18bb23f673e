"""GPT-2-style transformers: pre-norm, GELU, learned positions, tied head."""

from abc import abstractmethod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, count, number
from ..core.types import Task, Together, Trace
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
    mlp_in: Linear
    mlp_out: Linear
    identities: Identities | None = None


class Params(NamedTuple):
    """Embeddings (also the head), positions, blocks stacked by layer, the last norm."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "length width"]
    blocks: Block
    norm: Norm


class _GPT2(Together):
    """`depth` blocks of `heads` heads; the last block works only at the positions read."""

    width: int = count(128)
    depth: int = count(4, most=1000)
    heads: int = count(4, most=1000)

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.width % self.heads:
            raise ConfigError(f"GPT2.width={self.width} is not divisible by heads={self.heads}")

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

        return Params(
            tokens=self._deviation(width) * tokens,
            positions=self._deviation(width) * positions,
            blocks=Block(
                attention_norm=norm(depth, width),
                query=linear(query, self._deviation(width)),
                key_value=linear(key_value, self._deviation(width)),
                mix=linear(mix, self._into_stream(width)),
                mlp_norm=norm(depth, width),
                mlp_in=linear(mlp_in, self._deviation(width)),
                mlp_out=linear(mlp_out, self._into_stream(4 * width)),
            ),
            norm=norm(width),
        )

    def rows(
        self,
        params: Params,
        inputs: Int[Array, "row length"],
        at: Int[Array, "row read"],
        starts: int | None = None,
    ) -> Trace:
        rows, length = inputs.shape
        first, which = inputs[:, 0], jnp.arange(rows)
        if starts is not None and starts < rows:
            first, which = jnp.arange(starts), first
        places = _Places(len(first), which, length)
        begun = params.tokens[first] + params.positions[0]
        later = params.tokens[inputs[:, 1:]] + params.positions[1:length]
        stream = jnp.concatenate([begun, later.reshape(rows * (length - 1), self.width)])
        residual, attention = [places.read(stream, at)], []
        for layer, block in enumerate(unstacked(params.blocks, self.depth)):
            last = layer == self.depth - 1
            stream, weights = self._block(block, stream, places, at if last else None)
            residual.append(stream if last else places.read(stream, at))
            attention.append(weights)
        outputs = params.norm(stream) @ params.tokens.T
        return Trace(
            outputs.reshape(*at.shape, -1),
            jnp.stack([x.reshape(*at.shape, -1) for x in residual], axis=1),
            tuple(attention),
        )

    def _block(
        self,
        block: Block,
        stream: Float[Array, "place width"],
        places: "_Places",
        at: Int[Array, "row read"] | None,
    ) -> tuple[Float[Array, "here width"], Float[Array, "row head query length"]]:
        """A layer at the places read, or at all. Who comes first has only itself to attend to."""
        normed = block.attention_norm(stream)
        key, value = jnp.split(block.key_value(normed), 2, axis=-1)
        first = places.first if at is None else 0  # whose part needs no asking
        here, asking, where = stream, normed[first:], places.later
        if at is not None:
            here, asking, where = places.read(stream, at), places.read(normed, at), at
        keys, values, seen = map(places.by_row, (key, value, normed))
        weights = self._weights(block, asking.reshape(*where.shape, self.width), where, keys, seen)
        mixed = jnp.einsum("nhqk,nkhp->nqhp", weights, self._heads(values)).reshape(asking.shape)
        here = here + block.mix(jnp.concatenate([value[:first], mixed]))
        if block.identities:
            copy = self._factor * block.identities.copy
            copied = (jnp.einsum("h,nhqk->nqk", copy, weights) @ seen).reshape(asking.shape)
            here = here + jnp.concatenate([jnp.sum(copy) * normed[:first], copied])
        hidden = jax.nn.gelu(block.mlp_in(block.mlp_norm(here)))
        if at is None:
            alone = jnp.zeros_like(weights, shape=(*weights.shape[:2], 1, places.length))
            weights = jnp.concatenate([alone.at[..., 0].set(1.0), weights], axis=2)
        return here + block.mlp_out(hidden), weights

    def _weights(
        self,
        block: Block,
        asking: Float[Array, "row query width"],
        at: Int[Array, "row query"],
        keys: Float[Array, "row length width"],
        seen: Float[Array, "row length width"],
    ) -> Float[Array, "row head query length"]:
        """How much is attended to each place of a row, and to none that is later."""
        query = self._heads(block.query(asking.reshape(at.size, self.width)).reshape(asking.shape))
        scores = jnp.einsum("nqhp,nkhp->nhqk", query, self._heads(keys))
        scores = scores / (self.width / self.heads) ** 0.5
        if block.identities:
            match = self._factor * block.identities.match
            alike = jnp.einsum("nqd,nkd->nqk", asking, seen)
            scores = scores + match[:, None, None] * alike[:, None]
        earlier = jnp.arange(keys.shape[1]) <= at[:, None, :, None]
        weights: Array = jax.nn.softmax(jnp.where(earlier, scores, -jnp.inf), axis=-1)
        return weights

    def _heads(self, x: Float[Array, "*rows width"]) -> Float[Array, "*rows head part"]:
        return x.reshape(*x.shape[:-1], self.heads, self.width // self.heads)


class _Places(NamedTuple):
    """The places of some rows in one stream: those that come first, then all others by row.

    Whoever comes first sees only itself: what becomes of it is the same in every row.
    """

    first: int  # how many may come first
    which: Int[Array, " row"]  # and which does
    length: int

    @property
    def later(self) -> Int[Array, "row later"]:
        """The places of each row but the first."""
        return jnp.broadcast_to(jnp.arange(1, self.length), (len(self.which), self.length - 1))

    def by_row(self, stream: Float[Array, "place width"]) -> Float[Array, "row length width"]:
        """The stream with all places of each row."""
        first, later = jnp.split(stream, [self.first])
        later = later.reshape(len(self.which), self.length - 1, stream.shape[1])
        return jnp.concatenate([first[self.which][:, None], later], axis=1)

    def read(
        self, stream: Float[Array, "place width"], at: Int[Array, "row read"]
    ) -> Float[Array, "here width"]:
        """The stream at some places of each row."""
        found = jnp.take_along_axis(self.by_row(stream), at[..., None], axis=1)
        return found.reshape(at.size, stream.shape[1])


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
