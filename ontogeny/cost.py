"""What an experiment costs, counted on its program without running it."""

import math
from typing import Any, NamedTuple

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np

from . import lane
from .core import Experiment
from .external import AnyExperiment, External


class Cost(NamedTuple):
    """Floating-point operations of matrix products: per stage, per look of it (probes included)
    and per step (probes left out); and bytes, of a step and of what stays from look to look."""

    stages: tuple[float, ...]
    looks: tuple[float, ...]
    steps: tuple[float, ...]
    memory: float
    kept: float


_KNOWN: dict[Any, Cost] = {}  # by structure, which is all that counts


def cost(experiment: AnyExperiment) -> Cost:
    """What one lane costs; what is external runs alone."""
    if isinstance(experiment, External):
        whole = experiment.operations
        return Cost((whole,), (whole / experiment.looks,), (math.inf,), 1.0, 1.0)
    structure = jax.tree.structure(experiment)
    if structure not in _KNOWN:
        _KNOWN[structure] = _count(experiment)
    return _KNOWN[structure]


def _count(experiment: Experiment) -> Cost:
    """The bytes of a step are those of everything it makes, as if nothing was reused."""
    seed = jnp.zeros((), jnp.int32)
    state = jax.eval_shape(lane.begin, experiment, seed)
    probing = flops(jax.make_jaxpr(lambda s: lane.look(experiment, seed, s, seed))(state).jaxpr)
    stages, looks, single, memory, kept = [], [], [], 0.0, 0.0
    for place, stage in enumerate(experiment.regime):
        each = experiment.looks_of(stage)

        def steps(state: lane.State, place: int = place, steps: int = stage.steps // each) -> Any:
            state = lane.enter(experiment, seed, state, place)
            return lane.advance(experiment, seed, state, seed, place, steps)

        traced, after = jax.make_jaxpr(steps, return_shape=True)(state)
        program = traced.jaxpr
        looks.append(flops(program) + probing)
        single.append(flops(program) / (stage.steps // each))
        stages.append(each * looks[-1])
        memory = max(memory, _bytes(program))
        held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(after))
        kept = max(kept, float(held))
    return Cost(tuple(stages), tuple(looks), tuple(single), max(memory, 1.0), kept)


def flops(program: Any) -> float:
    """Operations in the matrix products of a program: two per multiply-and-add."""
    total = 0.0
    for equation in program.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            left = equation.invars[0].aval.shape
            out = np.prod(equation.outvars[0].aval.shape, dtype=float)
            total += 2 * out * np.prod([left[axis] for axis in contracted], dtype=float)
        times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        total += times * sum(flops(inner) for inner in _inner(equation))
    return float(total)


def _bytes(program: Any) -> float:
    own = sum(
        np.prod(variable.aval.shape, dtype=float) * variable.aval.dtype.itemsize
        for equation in program.eqns
        for variable in equation.outvars
        if hasattr(variable.aval, "dtype")
    )
    return float(own + sum(_bytes(inner) for e in program.eqns for inner in _inner(e)))


def _inner(equation: Any) -> list[Any]:
    found = []
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            if isinstance(part, jax.extend.core.ClosedJaxpr):
                found.append(part.jaxpr)
            elif isinstance(part, jax.extend.core.Jaxpr):
                found.append(part)
    return found
