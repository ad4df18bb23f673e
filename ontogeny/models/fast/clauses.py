"""The clause transformer on a batch, and with a cache.

A clause is a sum of embeddings. Without norms, what is linear in it is done to the tables of
embeddings, of which there are fewer rows than clauses. And the answers of all rows go through the
MLP as one matrix, so that the gradients of its weights are plain products.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...core.types import Trace
from ...tasks.lego import Sentence, parsed
from ..layers import causal_mask
from ..rotary import rotary
from .products import attention, product

if TYPE_CHECKING:
    from ..clauses import ClauseEmbedding, ClauseParams, ClauseTransformer

Cache = list[tuple[Float[Array, "clause head_dim"], Float[Array, "clause head_dim"]]]
QUERY, KEY, VALUE = range(3)


def batched(
    model: "ClauseTransformer",
    params: "ClauseParams",
    inputs: Int[Array, "row length"],
    at: Int[Array, "row read"],
) -> Trace:
    """`jax.vmap` of the model, faster."""
    reads = at.shape[1]

    def attended(row: Int[Array, " length"]) -> tuple[Array, Array, Array]:
        sentence = parsed(row, reads, *model.sizes(params))
        positions = len(sentence.predicates) + jnp.arange(reads)
        known = cache(model, params, sentence, jnp.zeros((), int))
        return _attended(model, params, known, sentence.answers, positions)

    # attention by row, the MLP for all at once: vmapped, its weights' gradient sums over two axes,
    # for which XLA transposes in memory first (LOGBOOK: 9.5 instead of 7.9 ms)
    here, mixed, weights = jax.vmap(attended)(inputs)
    flat = (x.reshape(-1, x.shape[-1]) for x in (here, mixed))
    outputs, residual = _mlp(model, params, *flat)
    return Trace(
        outputs.reshape(*at.shape, -1),
        jnp.moveaxis(residual.reshape(2, *at.shape, -1), 1, 0),
        (weights,),
    )


def cache(
    model: "ClauseTransformer", params: "ClauseParams", sentence: Sentence, first: Int[Array, ""]
) -> Cache:
    """Keys and values of clauses that begin at the position `first`, by head."""

    def clauses(embeddings: "ClauseEmbedding") -> Array:
        return embeddings.clauses(sentence, first)

    positions = first + jnp.arange(len(sentence.predicates) + len(sentence.answers))
    keys = [_placed(model, key, positions) for key in _by_head(model, params, KEY, clauses)]
    return list(zip(keys, _by_head(model, params, VALUE, clauses), strict=True))


def answer(
    model: "ClauseTransformer",
    params: "ClauseParams",
    cache: Cache,
    answers: Int[Array, "read 2"],
    positions: Int[Array, " read"],
) -> Trace:
    """What follows each answer, given the cache of the clauses up to its position."""
    here, mixed, weights = _attended(model, params, cache, answers, positions)
    return Trace(*_mlp(model, params, here, mixed), (weights,))


def _attended(
    model: "ClauseTransformer",
    params: "ClauseParams",
    cache: Cache,
    answers: Int[Array, "read 2"],
    positions: Int[Array, " read"],
) -> tuple[Array, Array, Array]:
    """The answers, what attention brings to each, and its weights."""

    def asking(embeddings: "ClauseEmbedding") -> Array:
        return embeddings.answers(answers, positions)

    queries = [_placed(model, x, positions) for x in _by_head(model, params, QUERY, asking)]
    # a rollout's cache is longer than what is written: the rest is masked as later
    mask = causal_mask(len(cache[0][0]), positions)
    found = [attention(query, *head, mask) for query, head in zip(queries, cache, strict=True)]
    mixed, weights = zip(*found, strict=True)
    return asking(params.embeddings), jnp.concatenate(mixed, axis=1), jnp.stack(weights)


def _by_head(
    model: "ClauseTransformer",
    params: "ClauseParams",
    role: int,
    clauses: Callable[["ClauseEmbedding"], Float[Array, "clause wide"]],
) -> list[Float[Array, "clause head_dim"]]:
    """Queries, keys or values of clauses. Heads are apart: a product for each is faster than one
    of all with an axis for heads in the middle."""
    weight, heads = (params.query, params.key, params.value)[role], model.heads
    head_dim = model.width // heads
    if weight is None:  # one-hot: the rows of W_Q, W_K and W_V side by side
        split = _split(params.embeddings, head_dim)[role * heads : (role + 1) * heads]
    elif params.norms:  # what is normed is not linear in the tables
        normed = params.norms[0](clauses(params.embeddings))
        return jnp.split(normed @ weight, heads, axis=1)
    else:
        projected = jax.tree.map(lambda table: table @ weight, params.embeddings)
        split = _split(projected, head_dim)
    return [clauses(embeddings) for embeddings in split]


def _split(embeddings: "ClauseEmbedding", width: int) -> list["ClauseEmbedding"]:
    """Every table cut into tables of a width."""
    # split rather than sliced: gradients are then put together once (see `unstacked`)
    cut = [jax.lax.split(table, [width] * (table.shape[1] // width), 1) for table in embeddings]
    return [type(embeddings)(*tables) for tables in zip(*cut, strict=True)]


def _mlp(
    model: "ClauseTransformer",
    params: "ClauseParams",
    here: Float[Array, "read wide"],
    mixed: Float[Array, "read width"],
) -> tuple[Float[Array, "read answer"], Float[Array, "2 read width"]]:
    """Outputs, and the residual stream before and after the MLP."""
    x = mixed if params.out is None else here + mixed @ params.out
    read = params.norms[1](x) if params.norms else x
    active = jax.nn.relu(product(read, params.mlp_in.weight) + params.mlp_in.bias)
    made = product(active, params.mlp_out.weight) + params.mlp_out.bias
    after = x + made if model.residual else made
    outputs = product(params.norms[2](after) if params.norms else after, params.unembed)
    return outputs, jnp.stack([x, after])


def _placed(
    model: "ClauseTransformer", x: Float[Array, "row head_dim"], at: Int[Array, " row"]
) -> Float[Array, "row head_dim"]:
    return rotary(x, at) if model.positions == "rotary" else x
