"""Lanes of one structure, lifted to run side by side in a row, and compiled.

A program knows how many lanes stand in a row and not how many rows there are: whoever runs some
rows of an experiment runs the program that all others run.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp

from ..core.types import Experiment
from . import run as one
from .machine import known

R = TypeVar("R")

# What runs often is as quick at the first level as at the third, and compiled in four fifths of the
# time. What runs seldom is to be compiled soon: in half the time, and a fifth of the memory.
_OFTEN = {"xla_backend_optimization_level": 1}
_SELDOM = _OFTEN | {"xla_cpu_use_fusion_emitters": False}


class Program(Generic[R]):
    """A function, compiled when it is called, with those options that the compiler knows: who asks
    for them starts the threads that compute, which imports must not."""

    def __init__(self, work: Callable[..., R], options: dict[str, int], **how: Any) -> None:
        self._work, self._options, self._how = work, options, how

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        done: R = self._jitted(*args, **kwargs)
        return done

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """It, ready to be compiled for what has these shapes."""
        lowered: jax.stages.Lowered = self._jitted.lower(*args, **kwargs)
        return lowered

    def eval_shape(self, *args: Any, **kwargs: Any) -> R:
        """Shapes of what it would give."""
        shapes: R = self._jitted.eval_shape(*args, **kwargs)
        return shapes

    @cached_property
    def _jitted(self) -> Any:
        return jax.jit(self._work, compiler_options=known(self._options), **self._how)


def _compiled(options: dict[str, int], **how: Any) -> Callable[[Callable[..., R]], Program[R]]:
    return lambda work: Program(work, options, **how)


@_compiled(_SELDOM)
def begin(experiments: Experiment, seeds: jax.Array) -> one.State:
    """Draws the worlds and the parameters."""
    return jax.vmap(one.begin)(experiments, seeds)


@_compiled(_SELDOM, static_argnames="stage")
def enter(experiments: Experiment, seeds: jax.Array, state: one.State, stage: int) -> one.State:
    """Gives a stage its memories."""
    return jax.vmap(partial(one.enter, stage=stage))(experiments, seeds, state)


@_compiled(_OFTEN, static_argnames=("stage", "steps"), donate_argnames="state")
def advance(
    experiments: Experiment,
    seeds: jax.Array,
    state: one.State,
    start: jax.Array,
    active: jax.Array,
    stage: int,
    steps: int,
) -> one.State:
    """Takes `steps` steps of a stage; a lane that has ended it stands still."""

    def moved(experiment: Experiment, seed: jax.Array, state: one.State) -> one.State:
        return one.advance(experiment, seed, state, start, stage, steps)

    after: one.State = _together(moved, experiments, seeds, state)
    if len(seeds) == 1:  # it is active: who has ended does not come here alone
        return after
    kept: one.State = jax.vmap(lambda on, *both: jax.tree.map(partial(jnp.where, on), *both))(
        active, after, state
    )
    return kept


@_compiled(_SELDOM)
def look(
    experiments: Experiment, seeds: jax.Array, state: one.State, step: jax.Array
) -> one.Answers:
    """Asks every probe."""
    answers: one.Answers = _together(partial(one.look, step=step), experiments, seeds, state)
    return answers


def _together(work: Callable[..., Any], *row: Any) -> Any:
    """Lanes side by side. One alone is not batched: a chain that is written answer by answer is
    five times as fast so."""
    if len(jax.tree.leaves(row)[0]) > 1:
        return jax.vmap(work)(*row)
    done = work(*jax.tree.map(lambda leaf: leaf[0], row))
    return jax.tree.map(lambda leaf: leaf[None], done)


# Below this many operations a step, lanes gain from running side by side; above, they lose cache.
_FLOPS_ABREAST = 2e7


def abreast(lanes: int, flops_per_step: float) -> int:
    """How many lanes run side by side: as even rows as can be, the last one filled up."""
    most = max(1, int(_FLOPS_ABREAST / max(flops_per_step, 1.0)))
    return -(-lanes // -(-lanes // most))
