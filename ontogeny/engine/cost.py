"""What an experiment costs, counted on its program without running it."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

from ..core.external import AnyExperiment, External
from ..core.fields import ConfigError
from ..core.types import Experiment, Solver, Stage
from . import run as lane


class Cost(NamedTuple):
    """About how many seconds of one core: for the first look, per stage, and per look of a stage
    (probes included); how many operations in matrix products a step takes; bytes, of a step and of
    what stays between looks."""

    first: float
    stages: tuple[float, ...]
    evaluations: tuple[float, ...]
    steps: tuple[float, ...]
    memory: float
    kept: float


# Seconds of a core (at 50 GFLOP/s in large products) for an operation in a matrix product, and for
# a byte that any other operation writes. Fitted to the time that 147 claims took: half of them
# within a third of it, nine in ten within a factor of 2.6.
PER_OPERATION = 2.5e-11
_PER_BYTE = 1.4e-10

_KNOWN: dict[Any, Cost] = {}  # by structure, which is all that counts


def cost(experiment: AnyExperiment) -> Cost:
    """What one lane costs; what is external runs alone."""
    if isinstance(experiment, External):
        whole = experiment.operations * 2 * PER_OPERATION  # by other means, half as fast
        return Cost(0.0, (whole,), (whole / experiment.evaluations,), (math.inf,), 1.0, 1.0)
    structure = jax.tree.structure(experiment)
    if structure not in _KNOWN:
        try:
            _KNOWN[structure] = _count(experiment)
        except (OverflowError, MemoryError) as error:
            parts = f"{type(experiment.model).__name__} on {type(experiment.task).__name__}"
            raise ConfigError(f"{parts}: too large for any machine") from error
    return _KNOWN[structure]


def course(experiment: AnyExperiment) -> list[tuple[int, float]]:
    """How often one lane is looked at, and the seconds that each look takes with what comes before
    it: before any step, then stage by stage. Stages differ in what a step takes."""
    price = cost(experiment)
    if isinstance(experiment, External):
        return [(1, price.first), (experiment.evaluations, price.evaluations[0])]
    often = map(experiment.evaluations_of, experiment.training)
    return [(1, price.first), *zip(often, price.evaluations, strict=True)]


def _count(experiment: Experiment) -> Cost:
    """The bytes of a step are those of everything it makes, as if nothing was reused."""
    seed = jnp.zeros((), jnp.int32)
    state = jax.eval_shape(lane.begin, experiment, seed)
    asked = jax.make_jaxpr(lambda s: lane.look(experiment, seed, s, seed))(state).jaxpr
    probing = _seconds(asked)
    stages, evaluations, single, memory, kept = [], [], [], 0.0, 0.0
    for place, stage in enumerate(experiment.training):
        each = experiment.evaluations_of(stage)

        def steps(state: lane.State, place: int = place, steps: int = stage.steps // each) -> Any:
            state = lane.enter(experiment, seed, state, place)
            return lane.advance(experiment, seed, state, seed, place, steps)

        traced, after = jax.make_jaxpr(steps, return_shape=True)(state)
        program = traced.jaxpr
        solving = stage.seconds(experiment.task, experiment.model) if _solves(stage) else 0.0
        evaluations.append(_seconds(program) + probing + solving)
        single.append(flops(program) / (stage.steps // each))
        stages.append(each * evaluations[-1])
        memory = max(memory, _bytes(program))
        held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(after))
        kept = max(kept, float(held))
    return Cost(probing, tuple(stages), tuple(evaluations), tuple(single), max(memory, 1.0), kept)


def _solves(stage: Stage) -> TypeGuard[Solver]:
    return isinstance(stage, Solver)


def _seconds(program: Any) -> float:
    return PER_OPERATION * flops(program) + _PER_BYTE * _written(program)


def flops(program: Any) -> float:
    """Operations in the matrix products of a program: two per multiply-and-add."""
    return _summed(program, _products)


def _products(equation: Any) -> float:
    if equation.primitive.name != "dot_general":
        return 0.0
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    out = np.prod(equation.outvars[0].aval.shape, dtype=float)
    return float(2 * out * np.prod([left[axis] for axis in contracted], dtype=float))


def _written(program: Any) -> float:
    """Bytes that a program writes, step after step."""
    return _summed(program, lambda equation: 0.0 if _inner(equation) else _made(equation))


def _made(equation: Any) -> float:
    """Bytes of what an operation makes."""
    made = [each.aval for each in equation.outvars if hasattr(each.aval, "dtype")]
    return float(sum(np.prod(x.shape, dtype=float) * x.dtype.itemsize for x in made))


def _summed(program: Any, count: Callable[[Any], float]) -> float:
    """A count over all operations of a program, as often as each is done."""
    total = 0.0
    for equation in program.eqns:
        total += count(equation)
        times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        total += times * sum(_summed(inner, count) for inner in _inner(equation))
    return total


def _bytes(program: Any) -> float:
    """Bytes of everything that a program makes."""
    return float(sum(_made(e) + sum(map(_bytes, _inner(e))) for e in program.eqns))


def _inner(equation: Any) -> list[Any]:
    found = []
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, jax.extend.core.ClosedJaxpr):
                found.append(part.jaxpr)
            elif isinstance(part, jax.extend.core.Jaxpr):
                found.append(part)
    return found
