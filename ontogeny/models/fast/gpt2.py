"""GPT-2 on a batch: the first position once per distinct token, the last block only where it is
read, and every weight applied to all positions of all rows as one matrix, so that its gradient is
one product."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...core.types import FirstTokens, Trace
from ..layers import by_head, causal_mask, masked_softmax, unstacked, with_positions
from ..rotary import rotary

if TYPE_CHECKING:
    from ..gpt2 import _GPT2, Block, Params


def batched(
    model: "_GPT2",
    params: "Params",
    inputs: Int[Array, "row length"],
    at: Int[Array, "row read"],
    first: FirstTokens | None,
) -> Trace:
    """`jax.vmap` of the model, faster."""
    rows, length = inputs.shape
    # nothing to share: each row has a first position of its own
    if first is None or len(first.tokens) >= rows:
        first = FirstTokens(inputs[:, 0], jnp.arange(rows))
    # with 100 first tokens in 150 rows, and all rows one matrix: 73 → 57 ms a step (LOGBOOK)
    layout = _Layout(len(first.tokens), first.which, length)
    begun = with_positions(params.tokens[first.tokens][:, None], params.positions, slice(1))[:, 0]
    later = with_positions(params.tokens[inputs[:, 1:]], params.positions, slice(1, length))
    x = jnp.concatenate([begun, later.reshape(rows * (length - 1), model.width)])
    residual, attention = [layout.read(x, at)], []
    for layer, block in enumerate(unstacked(params.blocks, model.depth)):
        last = layer == model.depth - 1
        x, weights = _block(model, block, x, layout, at if last else None)
        residual.append(x if last else layout.read(x, at))
        attention.append(weights)
    outputs = params.norm(x) @ params.tokens.T
    return Trace(
        outputs.reshape(*at.shape, -1),
        jnp.stack([x.reshape(*at.shape, -1) for x in residual], axis=1),
        tuple(attention),
    )


class _Layout(NamedTuple):
    """Where the positions of all rows are in one matrix: the distinct first positions, then the
    later positions row by row.

    A first position attends to itself alone: whatever it becomes, it is the same in all rows that
    begin with the same token.
    """

    distinct: int  # first tokens
    which: Int[Array, " row"]  # of them begins each row
    length: int

    @property
    def later(self) -> Int[Array, "row later"]:
        """The positions of each row but the first."""
        return jnp.broadcast_to(jnp.arange(1, self.length), (len(self.which), self.length - 1))

    def by_row(self, x: Float[Array, "position width"]) -> Float[Array, "row length width"]:
        """All positions of each row."""
        first, later = jnp.split(x, [self.distinct])
        later = later.reshape(len(self.which), self.length - 1, x.shape[1])
        return jnp.concatenate([first[self.which][:, None], later], axis=1)

    def read(
        self, x: Float[Array, "position width"], at: Int[Array, "row read"]
    ) -> Float[Array, "query width"]:
        """Some positions of each row."""
        found = jnp.take_along_axis(self.by_row(x), at[..., None], axis=1)
        return found.reshape(at.size, x.shape[1])


def _block(
    model: "_GPT2",
    block: "Block",
    x: Float[Array, "position width"],
    layout: _Layout,
    at: Int[Array, "row read"] | None,
) -> tuple[Float[Array, "asking width"], Float[Array, "row head query length"]]:
    """A layer at all positions, or (the last layer) at those that are read."""
    normed = block.attention_norm(x)
    key, value = jnp.split(block.key_value(normed), 2, axis=-1)
    # first positions need no scores: they attend to themselves alone
    distinct = layout.distinct if at is None else 0
    here, asking, where = x, normed[distinct:], layout.later
    if at is not None:
        here, asking, where = layout.read(x, at), layout.read(normed, at), at
    keys, values, seen = map(layout.by_row, (key, value, normed))
    weights = _weights(model, block, asking.reshape(*where.shape, model.width), where, keys, seen)
    mixed = jnp.einsum("nhqk,nkhd->nqhd", weights, by_head(values, model.heads))
    # a first position has weight 1 on itself in every head, so what it finds is its own value
    here = here + block.mix(jnp.concatenate([value[:distinct], mixed.reshape(asking.shape)]))
    if block.identities:
        b = model.identity_factor * block.identities.vo_identity
        passed = (jnp.einsum("h,nhqk->nqk", b, weights) @ seen).reshape(asking.shape)
        here = here + jnp.concatenate([jnp.sum(b) * normed[:distinct], passed])
    active = jax.nn.gelu(block.mlp_in(block.mlp_norm(here)))
    if at is None:  # the first position's own weights: 1 to itself
        own = jnp.zeros_like(weights, shape=(*weights.shape[:2], 1, layout.length))
        weights = jnp.concatenate([own.at[..., 0].set(1.0), weights], axis=2)
    return here + block.mlp_out(active), weights


def _weights(
    model: "_GPT2",
    block: "Block",
    asking: Float[Array, "row query width"],
    at: Int[Array, "row query"],
    keys: Float[Array, "row length width"],
    seen: Float[Array, "row length width"],
) -> Float[Array, "row head query length"]:
    flat: Any = block.query(asking.reshape(at.size, model.width))
    query, key = by_head(flat.reshape(asking.shape), model.heads), by_head(keys, model.heads)
    if model.positions == "rotary":
        query = jax.vmap(rotary)(query, at)
        key = jax.vmap(rotary, (0, None))(key, jnp.arange(keys.shape[1]))
    scores = jnp.einsum("nqhd,nkhd->nhqk", query, key)
    scores = scores / (model.width / model.heads) ** 0.5
    if block.identities:
        a = model.identity_factor * block.identities.kq_identity
        alike = jnp.einsum("nqd,nkd->nqk", asking, seen)
        scores = scores + a[:, None, None] * alike[:, None]
    return masked_softmax(scores, causal_mask(keys.shape[1], at)[:, None])
