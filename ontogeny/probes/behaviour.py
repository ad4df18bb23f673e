"""What the model does."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import split
from ..core.types import Moment, Probe


class Loss(Probe):
    """The task's loss on a split."""

    split: str = split("train")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        return now.loss(now.batch(self.split))


class Accuracy(Probe):
    """The fraction of a split on which the right answer has the top output."""

    split: str = split()

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        return batch.mean(now.task.correct(now.trace(batch).outputs, batch))


class ErrorRate(Probe):
    """The fraction of a split on which another answer has the top output."""

    split: str = split()

    def __call__(self, now: Moment) -> Float[Array, ""]:
        return 1 - Accuracy(self.split)(now)


class SequenceAccuracy(Probe):
    """The fraction of a split on which every token of the answer has the top output."""

    split: str = split()

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        right = now.task.correct(now.trace(batch).outputs, batch)
        return batch.mean(jnp.all(right, axis=1, keepdims=True))
