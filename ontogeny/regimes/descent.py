"""Following the gradient of the task's loss."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Key

from ..core import Batch, Memory, Moment, Params, Stage, Until, parted
from ..fields import count, number, split, static


class _Gradient(Stage):
    steps: int = count()
    rate: float = number(least=0)
    split: str = split("train")
    parts: tuple[str, ...] = static(default=())  # which parameters move; all if none is named
    batch: int = count(0, least=0)  # how many rows a step draws; 0 takes the whole split
    until: Until | None = None

    @abstractmethod
    def optimiser(self) -> optax.GradientTransformation:
        """The rule, as optax has it."""

    def init(self, now: Moment) -> Memory:
        moving, _ = parted(now.params, self.parts)
        return self.optimiser().init(moving)

    def step(self, now: Moment, memory: Memory) -> tuple[Params, Memory]:
        moving, still = parted(now.params, self.parts)
        batch = now.batch(self.split)
        if self.batch:
            batch = drawn(batch, self.batch, now.key)

        def loss(moving: Params) -> jax.Array:
            return now.with_params(eqx.combine(moving, still)).loss(batch)

        updates, memory = self.optimiser().update(jax.grad(loss)(moving), memory, moving)
        return eqx.combine(optax.apply_updates(moving, updates), still), memory


class Descent(_Gradient):
    """Gradient descent with weight decay: on the whole split, or on `batch` drawn rows a step."""

    decay: float = number(0.0, least=0)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.chain(optax.add_decayed_weights(self.decay), optax.sgd(self.rate))


class AdamW(_Gradient):
    """Adam with decoupled weight decay; with `decay` 0, Adam."""

    decay: float = number(0.0, least=0)
    memory1: float = number(0.9, least=0)
    memory2: float = number(0.999, least=0)

    def optimiser(self) -> optax.GradientTransformation:
        return optax.adamw(self.rate, self.memory1, self.memory2, weight_decay=self.decay)


def drawn(batch: Batch, rows: int, key: Key[Array, ""]) -> Batch:
    """Rows drawn with replacement, each as often as its weight says, then counting alike."""
    weights = jnp.sum(batch.weights, axis=1)
    upto = jnp.cumsum(weights)
    chosen = jnp.searchsorted(upto, upto[-1] * jr.uniform(key, (rows,)), side="right")
    chosen_batch = Batch(*(field[chosen] for field in batch))
    return chosen_batch._replace(weights=chosen_batch.weights / weights[chosen, None])
