"""A single step on the population loss rather than on that of a sample."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ..core.fields import count, names
from ..core.types import Memory, Moment, Params, partition
from .descent import _Descent


class Gathered(NamedTuple):
    """Where the step starts, the sum of gradients there, and of how many batches."""

    start: Params
    gradients: Params
    batches: Int[Array, ""]


class PopulationStep(_Descent):
    """One step of gradient descent, whose gradient is the mean over `steps` fresh batches, all at
    the parameters it starts from: the more batches, the nearer to the population's."""

    steps: int = count(doc="how many batches the gradient is a mean of")
    trainable: tuple[str, ...] = names(
        (), doc="names of the parameter groups that move; all if none are named"
    )

    def init(self, now: Moment) -> Memory:
        moving, _ = partition(now.params, self.trainable)
        return Gathered(moving, jax.tree.map(jnp.zeros_like, moving), jnp.zeros((), jnp.int32))

    def step(self, now: Moment, memory: Gathered) -> tuple[Params, Memory]:
        _, still = partition(now.params, self.trainable)
        batch = now.batch(self.split)

        def loss(moving: Params) -> jax.Array:
            return now.with_params(eqx.combine(moving, still)).loss(batch)

        gradients = jax.tree.map(jnp.add, memory.gradients, jax.grad(loss)(memory.start))
        batches = memory.batches + 1

        # the parameters are at all times one step from the start, with the mean so far: probes in
        # between see the estimate converge
        def moved(start: Any, gradient: Any) -> Any:
            return start - self.learning_rate * gradient / batches

        reached = jax.tree.map(moved, memory.start, gradients)
        return eqx.combine(reached, still), Gathered(memory.start, gradients, batches)
