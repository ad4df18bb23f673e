"""Chains that a model of clauses writes by itself."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ..core.types import Batch, Params
from ..tasks.lego import Lego, Sentence
from .clauses import ClauseModel, Written, sentences_of

FEW = 16  # rows whose chains are written together: what is kept of them stays in the cache


def own_answers(
    model: ClauseModel, params: Params, batch: Batch, task: Lego
) -> Int[Array, "row answer 2"]:
    """What the model answers to each row when left to itself."""
    answers: Array = jax.lax.map(
        partial(model.rollout, params), sentences_of(task, batch), batch_size=FEW
    )
    return answers


def right_unaided(
    model: ClauseModel, params: Params, batch: Batch, task: Lego
) -> Bool[Array, "row answer"]:
    """Which of those answers hold the right value."""
    return own_answers(model, params, batch, task)[..., 1] == batch.targets % task.values


def faultless(model: ClauseModel, params: Params, batch: Batch, task: Lego) -> Bool[Array, " row"]:
    """Whose answers are all right. Chains end when all that are written together have erred."""

    def few(sentences: Sentence, wanted: Int[Array, "row answer"]) -> Bool[Array, " row"]:
        chain = wanted.shape[1]

        def going(state: tuple[Array, Written, Array]) -> Array:
            step, _, right = state
            return (step < chain) & jnp.any(right)

        def follow(state: tuple[Array, Written, Array]) -> tuple[Array, Written, Array]:
            step, written, right = state
            written = jax.vmap(lambda row: model.follow(params, row, chain + step))(written)
            return step + 1, written, right & (written.answer[:, 1] == wanted[:, step])

        begun = jax.vmap(partial(model.begin, params))(sentences)
        start = jnp.zeros((), int), begun, jnp.ones(len(wanted), bool)
        return jax.lax.while_loop(going, follow, start)[2]

    rows = len(batch.targets)
    again = jnp.arange(-(-rows // FEW) * FEW).reshape(-1, FEW) % rows  # the last ones are filled up
    asked = sentences_of(task, batch), batch.targets % task.values
    right: Array = jax.lax.map(lambda n: few(*jax.tree.map(lambda x: x[n], asked)), again)
    return right.reshape(-1)[:rows]
