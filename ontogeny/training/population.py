"""A single step, on the loss of the whole distribution rather than of a sample."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ..core.fields import count, names, number, split
from ..core.types import Memory, Moment, Params, Stage, Until, partition


class Gathered(NamedTuple):
    """Where the step starts, the sum of gradients there, and of how many batches."""

    start: Params
    slopes: Params
    batches: Int[Array, ""]


class PopulationStep(Stage):
    """One step of descent. Its gradient is the mean over `steps` fresh batches, all taken at the
    parameters it starts from: the more batches, the nearer to the population's."""

    steps: int = count()
    learning_rate: float = number(least=0)
    split: str = split("train")
    trainable: tuple[str, ...] = names(())  # which parameters move; all if none is named
    until: Until | None = None

    def init(self, now: Moment) -> Memory:
        moving, _ = partition(now.params, self.trainable)
        return Gathered(moving, jax.tree.map(jnp.zeros_like, moving), jnp.zeros((), jnp.int32))

    def step(self, now: Moment, memory: Gathered) -> tuple[Params, Memory]:
        _, still = partition(now.params, self.trainable)
        batch = now.batch(self.split)

        def loss(moving: Params) -> jax.Array:
            return now.with_params(eqx.combine(moving, still)).loss(batch)

        slopes = jax.tree.map(jnp.add, memory.slopes, jax.grad(loss)(memory.start))
        batches = memory.batches + 1

        def moved(start: Any, slope: Any) -> Any:
            return start - self.learning_rate * slope / batches

        reached = jax.tree.map(moved, memory.start, slopes)
        return eqx.combine(reached, still), Gathered(memory.start, slopes, batches)
