"""One run as pure functions; and many runs side by side, compiled.

A run is one experiment with one seed. Its functions (`begin`, `enter`, `advance`, `evaluate`) are
written for it alone; the compiled `Program`s below them vmap over runs of one structure. A program
knows how many runs it takes at once, and not how many there are: all of a structure share it.
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int, Key

from ..core.fields import ConfigError
from ..core.types import Experiment, Memory, Model, Moment, Params, Solver, World
from .evaluation import Answers, ask, first_tokens_agree
from .machine import known

R = TypeVar("R")

# ------------------------------------------------------------------------------ one run


class State(NamedTuple):
    """What a run carries from evaluation to evaluation."""

    world: World
    params: Params
    memory: Memory


def begin(experiment: Experiment, seed: Int[Array, ""]) -> State:
    """Draws the world and the parameters."""
    world = experiment.task.world(key_of(seed, "world"))
    params = experiment.model.init(experiment.task, key_of(seed, "params"))
    return State(world, params, ())


def enter(experiment: Experiment, seed: Int[Array, ""], state: State, stage: int) -> State:
    """Gives a stage its memory (an optimiser's state, say)."""
    now = _moment(experiment, state, key_of(seed, "stage", stage))
    return state._replace(memory=experiment.training[stage].init(now))


def advance(
    experiment: Experiment,
    seed: Int[Array, ""],
    state: State,
    start: Int[Array, ""],
    steps: Int[Array, ""],
    stage: int,
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


def evaluate(
    experiment: Experiment, seed: Int[Array, ""], state: State, step: Int[Array, ""]
) -> Answers:
    """Asks every probe."""
    now = _moment(experiment, state, jr.fold_in(key_of(seed, "evaluation"), step))
    return ask(experiment.probes, now)


def _moment(experiment: Experiment, state: State, key: Key[Array, ""]) -> Moment:
    return Moment(experiment.task, state.world, experiment.model, state.params, key)


def key_of(seed: Int[Array, ""], purpose: str, number: int = 0) -> Key[Array, ""]:
    """Every use of chance has a key of its own, so that none depends on how many there are."""
    purposes = ("world", "params", "evaluation", "stage")
    return jr.fold_in(jr.fold_in(jr.key(seed), purposes.index(purpose)), number)


# ------------------------------------------------------------------------------ many runs, compiled

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
def begin_all(experiments: Experiment, seeds: jax.Array) -> State:
    """`begin` for runs side by side."""
    return jax.vmap(begin)(experiments, seeds)


@_compiled(_SELDOM, static_argnames="stage")
def enter_all(experiments: Experiment, seeds: jax.Array, state: State, stage: int) -> State:
    """`enter` for runs side by side."""
    return jax.vmap(partial(enter, stage=stage))(experiments, seeds, state)


@_compiled(_OFTEN, static_argnames="stage", donate_argnames="state")
def advance_all(
    experiments: Experiment,
    seeds: jax.Array,
    state: State,
    start: jax.Array,
    steps: jax.Array,
    active: jax.Array,
    stage: int,
) -> State:
    """`advance` for runs side by side; one that is not active stands still."""

    def moved(experiment: Experiment, seed: jax.Array, state: State) -> State:
        return advance(experiment, seed, state, start, steps, stage)

    after: State = _side_by_side(moved, experiments, seeds, state)
    if len(seeds) == 1:  # it is active: a run that has ended does not come here alone
        return after
    kept: State = jax.vmap(lambda on, *both: jax.tree.map(partial(jnp.where, on), *both))(
        active, after, state
    )
    return kept


@_compiled(_SELDOM)
def evaluate_all(
    experiments: Experiment, seeds: jax.Array, state: State, step: jax.Array
) -> Answers:
    """`evaluate` for runs side by side."""
    answers: Answers = _side_by_side(partial(evaluate, step=step), experiments, seeds, state)
    return answers


_first_tokens_agree = _compiled(_SELDOM)(first_tokens_agree)
_CHECKED: set[Any] = set()  # structures


def check_first_tokens(experiment: Experiment, world: World) -> None:
    """Raises if a batch is wrong about its first tokens, by which a fast path gathers. Once for
    each structure, and only if something other than the definition runs."""
    structure = jax.tree.structure(experiment)
    if structure in _CHECKED or type(experiment.model).batched is Model.batched:
        return
    if _first_tokens_agree.eval_shape(experiment, world):  # or there is nothing to compile
        for split, right in _first_tokens_agree(experiment, world).items():
            if not right:
                raise ConfigError(
                    f"{type(experiment.task).__name__}: the batch of split {split!r} is wrong "
                    "about its first tokens: inputs[:, 0] must be first.tokens[first.which]"
                )
    _CHECKED.add(structure)


def _side_by_side(work: Callable[..., Any], *batch: Any) -> Any:
    """Maps over runs. One alone is not batched: a rollout is five times as fast so."""
    if len(jax.tree.leaves(batch)[0]) > 1:
        return jax.vmap(work)(*batch)
    done = work(*jax.tree.map(lambda leaf: leaf[0], batch))
    return jax.tree.map(lambda leaf: leaf[None], done)


# Below this many operations a step, runs gain from being vmapped; above, they leave the cache.
_FLOPS_SIDE_BY_SIDE = 2e7


def side_by_side(runs: int, flops_per_step: float) -> int:
    """How many runs are vmapped together: as even batches as can be, the last one filled up."""
    most = max(1, int(_FLOPS_SIDE_BY_SIDE / max(flops_per_step, 1.0)))
    return -(-runs // -(-runs // most))
