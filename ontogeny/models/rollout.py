"""Chains that a model of clauses rolls out: every answer its own, each given those before it."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ..core.types import Batch, Params
from ..tasks.lego import Lego, Sentence
from .clauses import ClauseModel, Written, sentences_of

# 256 chains of 160 answers hold 84 MB, read again for every answer: 1,070 ms, now 315 (LOGBOOK)
CHUNK = 16  # rows that are rolled out together: their keys and values stay in the cache


def rollout(
    model: ClauseModel, params: Params, batch: Batch, task: Lego
) -> Int[Array, "row answer 2"]:
    """What the model answers to each row, free-running."""
    answers: Array = jax.lax.map(
        partial(model.rollout, params), sentences_of(task, batch), batch_size=CHUNK
    )
    return answers


def rollout_correct(
    model: ClauseModel, params: Params, batch: Batch, task: Lego
) -> Bool[Array, "row answer"]:
    """Which of those answers hold the right value."""
    # a target is x |Y| + y. As in section 7 of arXiv 2511.07378 values count, variables do not
    return rollout(model, params, batch, task)[..., 1] == batch.targets % task.values


def rollout_all_correct(
    model: ClauseModel, params: Params, batch: Batch, task: Lego
) -> Bool[Array, " row"]:
    """Whose answers are all right. A chunk ends when each of its chains has erred."""

    def chunk(sentences: Sentence, wanted: Int[Array, "row answer"]) -> Bool[Array, " row"]:
        chain = wanted.shape[1]

        def going(state: tuple[Array, Written, Array]) -> Array:
            step, _, right = state
            return (step < chain) & jnp.any(right)

        def decode(state: tuple[Array, Written, Array]) -> tuple[Array, Written, Array]:
            step, written, right = state
            written = jax.vmap(lambda row: model.decode(params, row, chain + step))(written)
            return step + 1, written, right & (written.answer[:, 1] == wanted[:, step])

        begun = jax.vmap(partial(model.prefill, params))(sentences)
        start = jnp.zeros((), int), begun, jnp.ones(len(wanted), bool)
        # nobody differentiates a rollout, so it may be a while loop, which ends early
        return jax.lax.while_loop(going, decode, start)[2]

    rows = len(batch.targets)
    # the last chunk is filled up with the first rows again
    filled = jnp.arange(-(-rows // CHUNK) * CHUNK).reshape(-1, CHUNK) % rows
    asked = sentences_of(task, batch), batch.targets % task.values
    right: Array = jax.lax.map(lambda n: chunk(*jax.tree.map(lambda x: x[n], asked)), filled)
    return right.reshape(-1)[:rows]
