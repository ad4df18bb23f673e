"""What an experiment costs, counted on its program without running it.

Apart from `program`, whose code names the runs: a better estimate makes none of them stale.
"""

import math
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

from ..core.external import AnyExperiment, External
from ..core.fields import ConfigError
from ..core.types import Experiment, Solver
from . import program


class Cost(NamedTuple):
    """About what one run takes: seconds of one core, operations, bytes."""

    first: float  # seconds of the evaluation before any step
    steps: tuple[tuple[float, float], ...]  # by stage: seconds of some steps in a row, and of each
    flops: float  # in the matrix products of one step, of the stage with most
    memory: float  # bytes that a step makes, as if nothing was reused
    kept: float  # bytes that stay between evaluations
    answers: Mapping[str, tuple[int, ...]]  # the shape of what each probe answers


# Seconds of a core (at 50 GFLOP/s in large products) for an operation in a matrix product, and for
# a byte that any other operation writes. Fitted to the time that 147 claims took: half of them
# within a third of it, nine in ten within a factor of 2.6.
PER_OPERATION = 2.5e-11
_PER_BYTE = 1.4e-10

_KNOWN: dict[Any, Cost] = {}  # by structure, which is all that counts


def cost(experiment: AnyExperiment) -> Cost:
    """What one run costs; what is external runs alone."""
    if isinstance(experiment, External):
        whole = experiment.operations * 2 * PER_OPERATION  # by other means, half as fast
        return Cost(0.0, ((0.0, whole / experiment.steps),), math.inf, 1.0, 1.0, {})
    structure = jax.tree.structure(experiment)
    if structure not in _KNOWN:
        try:
            _KNOWN[structure] = _count(experiment)
        except (OverflowError, MemoryError) as error:
            parts = f"{type(experiment.model).__name__} on {type(experiment.task).__name__}"
            raise ConfigError(f"{parts}: too large for any machine") from error
    return _KNOWN[structure]


def seconds_by_evaluation(experiment: AnyExperiment) -> list[tuple[int, float]]:
    """How many evaluations there are that take as many seconds, with the steps before them, and
    the seconds: first the one before any step."""
    price = cost(experiment)
    seconds = [price.first]
    for each in experiment.intervals:
        row, step = price.steps[each.stage]
        seconds.append(price.first + row + each.steps * step)
    return [(len(list(alike)), each) for each, alike in groupby(seconds)]


def _count(experiment: Experiment) -> Cost:
    seed = jnp.zeros((), jnp.int32)
    state = jax.eval_shape(program.begin, experiment, seed)
    asked, answers = jax.make_jaxpr(
        lambda s: program.evaluate(experiment, seed, s, seed), return_shape=True
    )(state)
    probing = _seconds(asked.jaxpr)
    prices, single, memory, kept = [], 0.0, 1.0, 0.0
    for number, stage in enumerate(experiment.training):

        def steps(state: program.State, number: int = number) -> program.State:
            state = program.enter(experiment, seed, state, number)
            return program.advance(experiment, seed, state, seed, seed, number)

        traced, after = jax.make_jaxpr(steps, return_shape=True)(state)
        loops = [each for each in traced.jaxpr.eqns if each.primitive.name == "while"]
        each = sum(_seconds(inner) for loop in loops for inner in _inner(loop))
        row = _seconds(traced.jaxpr) - each
        if isinstance(stage, Solver):  # on the host: its operations are in no program
            row += stage.seconds(experiment.task, experiment.model)
        prices.append((row, each))
        single = max(single, flops(traced.jaxpr))
        memory = max(memory, _bytes(traced.jaxpr))
        held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(after))
        kept = max(kept, float(held))
    shapes = {name: answer.shape for name, answer in answers.items()}
    return Cost(probing, tuple(prices), single, memory, kept, shapes)


def _seconds(jaxpr: Any) -> float:
    return PER_OPERATION * flops(jaxpr) + _PER_BYTE * _written(jaxpr)


def flops(jaxpr: Any) -> float:
    """Operations in the matrix products of a program: two per multiply-and-add."""
    return _summed(jaxpr, _products)


def _products(equation: Any) -> float:
    if equation.primitive.name != "dot_general":
        return 0.0
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    out = np.prod(equation.outvars[0].aval.shape, dtype=float)
    return float(2 * out * np.prod([left[axis] for axis in contracted], dtype=float))


def _written(jaxpr: Any) -> float:
    """Bytes that a program writes, step after step."""
    return _summed(jaxpr, lambda equation: 0.0 if _inner(equation) else _made(equation))


def _made(equation: Any) -> float:
    """Bytes of what an operation makes."""
    made = [each.aval for each in equation.outvars if hasattr(each.aval, "dtype")]
    return float(sum(np.prod(x.shape, dtype=float) * x.dtype.itemsize for x in made))


def _summed(jaxpr: Any, count: Callable[[Any], float]) -> float:
    """A count over all operations of a program, as often as each is done."""
    total = 0.0
    for equation in jaxpr.eqns:
        total += count(equation)
        times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        total += times * sum(_summed(inner, count) for inner in _inner(equation))
    return total


def _bytes(jaxpr: Any) -> float:
    """Bytes of everything that a program makes."""
    return float(sum(_made(e) + sum(map(_bytes, _inner(e))) for e in jaxpr.eqns))


def _inner(equation: Any) -> list[Any]:
    found = []
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, jax.extend.core.ClosedJaxpr):
                found.append(part.jaxpr)
            elif isinstance(part, jax.extend.core.Jaxpr):
                found.append(part)
    return found
