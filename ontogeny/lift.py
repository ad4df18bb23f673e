"""Lanes of one structure, lifted to run together and compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from . import lane as one
from .core import Experiment

# What runs once need not be quick, but soon compiled: half the time.
_ONCE = {"xla_backend_optimization_level": 0}


@partial(jax.jit, compiler_options=_ONCE)
def begin(experiments: Experiment, seeds: jax.Array) -> one.State:
    """Draws the worlds and the parameters."""
    return jax.vmap(one.begin)(experiments, seeds)


@partial(jax.jit, static_argnames="stage", compiler_options=_ONCE)
def enter(experiments: Experiment, seeds: jax.Array, state: one.State, stage: int) -> one.State:
    """Gives a stage its memories."""
    return jax.vmap(partial(one.enter, stage=stage))(experiments, seeds, state)


@partial(jax.jit, static_argnames=("stage", "steps", "abreast"), donate_argnames="state")
def advance(
    experiments: Experiment,
    seeds: jax.Array,
    state: one.State,
    start: jax.Array,
    active: jax.Array,
    stage: int,
    steps: int,
    abreast: int,
) -> one.State:
    """Takes `steps` steps of a stage. A row whose lanes have all ended is not run."""

    def moved(
        experiment: Experiment, seed: jax.Array, state: one.State, active: jax.Array
    ) -> one.State:
        return one.advance(experiment, seed, state, start, active, stage, steps)

    def row(experiments: Experiment, seeds: jax.Array, state: one.State, active: jax.Array) -> Any:
        moving = lambda: _together(moved, abreast)(experiments, seeds, state, active)  # noqa: E731
        return jax.lax.cond(active.any(), moving, lambda: state)

    after: one.State = _by_row(row, abreast, experiments, seeds, state, active)
    return after


@partial(jax.jit, static_argnames="abreast")
def look(
    experiments: Experiment, seeds: jax.Array, state: one.State, step: jax.Array, abreast: int
) -> one.Answers:
    """Asks every probe."""
    row = _together(partial(one.look, step=step), abreast)
    answers: one.Answers = _by_row(row, abreast, experiments, seeds, state)
    return answers


def _by_row(row: Callable[..., Any], abreast: int, *lanes: Any) -> Any:
    """Rows of lanes one after the other: large lanes keep their cache."""
    rows = jax.tree.map(lambda x: x.reshape(len(x) // abreast, abreast, *x.shape[1:]), lanes)
    done = jax.lax.map(lambda each: row(*each), rows)
    return jax.tree.map(lambda leaf: leaf.reshape(len(leaf) * abreast, *leaf.shape[2:]), done)


def _together(work: Callable[..., Any], abreast: int) -> Callable[..., Any]:
    """A row of lanes side by side. A lane alone is not batched: a chain that is written answer by
    answer is five times as fast so."""
    if abreast > 1:
        return jax.vmap(work)

    def alone(*row: Any) -> Any:
        done = work(*jax.tree.map(lambda leaf: leaf[0], row))
        return jax.tree.map(lambda leaf: leaf[None], done)

    return alone


# Below this many operations a step, lanes gain from running side by side; above, they lose cache.
_FLOPS_ABREAST = 2e7


def abreast(lanes: int, flops_per_step: float) -> int:
    """How many lanes run side by side: a divisor of their number, so that one program does all."""
    most = max(1, int(_FLOPS_ABREAST / max(flops_per_step, 1.0)))
    return max(n for n in range(1, lanes + 1) if lanes % n == 0 and n <= most)
