"""A plain transformer: pre-norm, ReLU, no biases, outputs of its own."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, choice, count, flag, number
from ..core.types import Model, Task, Trace
from .initial import gaussians, norm, uniforms
from .layers import Norm, unstacked
from .rotary import turned


class Block(NamedTuple):
    """One layer; or all layers, stacked."""

    attention_norm: Norm
    query: Float[Array, "*depth width width"]
    key: Float[Array, "*depth width width"]
    value: Float[Array, "*depth width width"]
    out: Float[Array, "*depth width width"]
    forward_norm: Norm
    mlp_in: Float[Array, "*depth width hidden"]
    mlp_out: Float[Array, "*depth hidden width"]


class Params(NamedTuple):
    """Embeddings, blocks stacked by layer, the last norm, outputs."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "length width"]
    blocks: Block
    norm: Norm
    unembed: Float[Array, "width answer"]


class Decoder(Model):
    """`depth` layers of `heads` heads; the last layer works only at the positions read.

    `parallel` lets the feed-forward layer read what attention reads, not what attention made of it.
    """

    width: int = count(64)
    depth: int = count(2, most=1000)
    heads: int = count(4, most=1000)
    mlp_ratio: int = count(4)  # hidden units for each of the width
    positions: str = choice("learned", "none", "rotary")
    causal: bool = flag(True)
    parallel: bool = flag(False)
    readout: str = choice("last", "each")  # each: layer by layer, an equal part of the answers
    scale: float = number(1.0, above=0)  # standard deviation of initial embeddings

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.width % (2 * self.heads):
            raise ConfigError(
                f"Decoder.width={self.width}: each of {self.heads} heads needs an even width"
            )

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width, depth, hidden = self.width, self.depth, self.mlp_ratio * self.width
        if self.readout == "each" and task.answers % depth:
            raise ConfigError(
                f"Decoder.readout: {task.answers} answers are not {depth} equal parts, one a layer"
            )
        embeddings, weights = jr.split(key)
        tokens, positions = gaussians(embeddings, (task.vocab, width), (task.length, width))
        query, key_, value, out, mlp_in, mlp_out, unembed = uniforms(
            weights,
            *[(depth, width, width)] * 4,
            (depth, width, hidden),
            (depth, hidden, width),
            (width, task.answers),
        )
        before, between = norm(depth, width), norm(depth, width)
        blocks = Block(before, query, key_, value, out, between, mlp_in, mlp_out)
        known = self.scale * positions if self.positions == "learned" else jnp.zeros((0, width))
        return Params(self.scale * tokens, known, blocks, norm(width), unembed)

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        everywhere = jnp.arange(len(inputs))
        stream = params.tokens[inputs]
        if self.positions == "learned":
            stream = stream + params.positions[: len(inputs)]
        residual, attention = [stream[at]], []
        for layer, block in enumerate(unstacked(params.blocks, self.depth)):
            last = layer == self.depth - 1
            stream, weights = self._block(block, stream, at if last else everywhere)
            residual.append(stream if last else stream[at])
            attention.append(weights)
        if self.readout == "last":
            outputs = params.norm(stream) @ params.unembed
        else:
            parts = jnp.split(params.unembed, self.depth, axis=1)
            read = zip(residual[1:], parts, strict=True)
            outputs = jnp.concatenate([params.norm(x) @ part for x, part in read], axis=1)
        return Trace(outputs, jnp.stack(residual), tuple(attention))

    def _block(
        self, block: Block, stream: Float[Array, "length width"], at: Int[Array, " read"]
    ) -> tuple[Float[Array, "read width"], Float[Array, "head read length"]]:
        normed = block.attention_norm(stream)
        place = jnp.arange(len(stream))
        query = self._turned(self._heads(normed[at] @ block.query), at)
        key = self._turned(self._heads(normed @ block.key), place)
        scores = jnp.einsum("qhp,khp->hqk", query, key) / (self.width / self.heads) ** 0.5
        if self.causal:
            scores = jnp.where(place <= at[:, None], scores, -jnp.inf)
        weights = jax.nn.softmax(scores, axis=-1)
        value = self._heads(normed @ block.value)
        mixed = jnp.einsum("hqk,khp->qhp", weights, value).reshape(len(at), self.width)
        here = stream[at]
        after = here + mixed @ block.out
        read = block.forward_norm(here if self.parallel else after)
        return after + jax.nn.relu(read @ block.mlp_in) @ block.mlp_out, weights

    def _heads(self, x: Float[Array, "row width"]) -> Float[Array, "row head part"]:
        return x.reshape(len(x), self.heads, -1)

    def _turned(
        self, x: Float[Array, "row head part"], at: Int[Array, " row"]
    ) -> Float[Array, "row head part"]:
        return turned(x, at) if self.positions == "rotary" else x
