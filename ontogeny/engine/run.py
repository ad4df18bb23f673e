"""One lane: one experiment, one seed, as pure functions. `engine` lifts and compiles them."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.types import Experiment, Memory, Moment, Params, Solver, World

Answers = dict[str, Float[Array, "..."]]


class State(NamedTuple):
    """What a run carries from look to look."""

    world: World
    params: Params
    memory: Memory


def begin(experiment: Experiment, seed: Int[Array, ""]) -> State:
    """Draws the world and the parameters."""
    world = experiment.task.world(key_of(seed, "world"))
    params = experiment.model.init(experiment.task, key_of(seed, "params"))
    return State(world, params, ())


def enter(experiment: Experiment, seed: Int[Array, ""], state: State, stage: int) -> State:
    """Gives a stage its memory."""
    now = _moment(experiment, state, key_of(seed, "stage", stage))
    return state._replace(memory=experiment.training[stage].init(now))


def advance(
    experiment: Experiment,
    seed: Int[Array, ""],
    state: State,
    start: Int[Array, ""],
    stage: int,
    steps: int,
) -> State:
    """Takes `steps` steps of a stage from `start` on."""
    now = _moment(experiment, state, key_of(seed, "stage", stage))
    return State(state.world, *experiment.training[stage].advance(now, state.memory, start, steps))


def solve(experiment: Experiment, seed: int, state: State, stage: int) -> State:
    """Puts what a solver finds in place of the parameters. Runs on the host, not compiled."""
    solver = experiment.training[stage]
    assert isinstance(solver, Solver)
    now = _moment(experiment, state, key_of(jnp.asarray(seed), "stage", stage))
    return state._replace(params=solver.solve(now))


def look(
    experiment: Experiment, seed: Int[Array, ""], state: State, step: Int[Array, ""]
) -> Answers:
    """Asks every probe."""
    now = _moment(experiment, state, jr.fold_in(key_of(seed, "evaluation"), step))
    now = now.having_seen(experiment.looked_at)
    return {name: probe(now) for name, probe in experiment.probes.items()}


def _moment(experiment: Experiment, state: State, key: Key[Array, ""]) -> Moment:
    return Moment(experiment.task, state.world, experiment.model, state.params, key)


def key_of(seed: Int[Array, ""], purpose: str, number: int = 0) -> Key[Array, ""]:
    """Every use of chance has a key of its own, so that none depends on how many there are."""
    purposes = ("world", "params", "evaluation", "stage")
    return jr.fold_in(jr.fold_in(jr.key(seed), purposes.index(purpose)), number)
