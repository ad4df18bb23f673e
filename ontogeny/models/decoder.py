"""A plain transformer: pre-norm, ReLU, no biases, outputs of its own."""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, choice, count, flag, number
from ..core.types import Model, Task, Trace
from .initial import gaussians, norm, uniforms
from .layers import Norm, by_head, causal_mask, embed, masked_softmax, unstacked
from .rotary import rotary


class Block(NamedTuple):
    """One layer; or all layers, stacked."""

    attention_norm: Norm
    query: Float[Array, "*depth width width"]
    key: Float[Array, "*depth width width"]
    value: Float[Array, "*depth width width"]
    out: Float[Array, "*depth width width"]
    mlp_norm: Norm
    mlp_in: Float[Array, "*depth width mlp_width"]
    mlp_out: Float[Array, "*depth mlp_width width"]


class Params(NamedTuple):
    """Embeddings, blocks stacked by layer, the last norm, outputs."""

    tokens: Float[Array, "vocab width"]
    positions: Float[Array, "length width"]
    blocks: Block
    norm: Norm
    unembed: Float[Array, "width answer"]


class Decoder(Model):
    """`depth` layers of `heads` heads; the last layer works only at the positions read.

    `parallel` lets the MLP read what attention reads, not what attention made of it.
    """

    width: int = count(64, doc="width of the residual stream")
    depth: int = count(2, most=1000, doc="number of layers")
    heads: int = count(4, most=1000, doc="heads of each layer")
    mlp_ratio: int = count(4, doc="hidden units of an MLP, in units of the width")
    positions: str = choice("learned", "none", "rotary", doc="how it is told positions; none: NoPE")
    causal: bool = flag(True, doc="no position attends to a later one")
    # as the authors of arXiv 2306.00802 have it: their MLP reads the input of the block
    parallel: bool = flag(False, doc="the MLP reads what attention reads")
    # each: as the theorem on hops trains. Where all is read at the end, two hops settle in the last
    # layer and leave none for four (LOGBOOK)
    readout: str = choice(
        "last", "each", doc="each: every layer gives an equal share of the answers"
    )
    scale: float = number(1.0, above=0, doc="standard deviation of initial embeddings")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [
            Example(cls(width=8, heads=2)),
            Example(cls(width=8, heads=2, positions="rotary", parallel=True)),
            Example(cls(width=8, heads=2, positions="none", readout="each")),
        ]

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.width % (2 * self.heads):
            raise ConfigError(
                f"Decoder.width={self.width}: each of {self.heads} heads needs an even width"
            )

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        width, depth, mlp_width = self.width, self.depth, self.mlp_ratio * self.width
        if self.readout == "each" and task.answers % depth:
            raise ConfigError(
                f"Decoder.readout: {task.answers} answers cannot be shared by {depth} layers"
            )
        embeddings, weights = jr.split(key)
        tokens, positions = gaussians(embeddings, (task.vocab, width), (task.length, width))
        query, key_, value, out, mlp_in, mlp_out, unembed = uniforms(
            weights,
            *[(depth, width, width)] * 4,
            (depth, width, mlp_width),
            (depth, mlp_width, width),
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
        x = embed(params.tokens, params.positions, inputs)
        residual, attention = [x[at]], []
        for layer, block in enumerate(unstacked(params.blocks, self.depth)):
            last = layer == self.depth - 1  # what follows its attention is read there alone
            x, weights = self._block(block, x, at if last else everywhere)
            residual.append(x if last else x[at])
            attention.append(weights)
        if self.readout == "last":
            outputs = params.norm(x) @ params.unembed
        else:
            shares = jnp.split(params.unembed, self.depth, axis=1)
            read = zip(residual[1:], shares, strict=True)
            outputs = jnp.concatenate([params.norm(x) @ share for x, share in read], axis=1)
        return Trace(outputs, jnp.stack(residual), tuple(attention))

    def _block(
        self, block: Block, x: Float[Array, "length width"], at: Int[Array, " read"]
    ) -> tuple[Float[Array, "read width"], Float[Array, "head read length"]]:
        normed = block.attention_norm(x)
        query = by_head(normed[at] @ block.query, self.heads)
        key = by_head(normed @ block.key, self.heads)
        value = by_head(normed @ block.value, self.heads)
        if self.positions == "rotary":
            query, key = rotary(query, at), rotary(key, jnp.arange(len(x)))
        scores = jnp.einsum("qhd,khd->hqk", query, key) / (self.width / self.heads) ** 0.5
        mask = causal_mask(len(x), at) if self.causal else jnp.ones(len(x), bool)
        weights = masked_softmax(scores, mask)
        mixed = jnp.einsum("hqk,khd->qhd", weights, value).reshape(len(at), self.width)
        here = x[at]
        after = here + mixed @ block.out
        read = block.mlp_norm(here if self.parallel else after)
        return after + jax.nn.relu(read @ block.mlp_in) @ block.mlp_out, weights
