"""How well the model answers."""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import Example, split
from ..core.types import Moment, Probe


class Loss(Probe):
    """The task's loss on a split."""

    unit = "loss"

    split: str = split("train", doc="the split that the loss is of")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        return now.loss(now.batch(self.split))


class _OnSplit(Probe):
    split: str = split(doc="the split that is answered")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls("conclusion"))]


class Accuracy(_OnSplit):
    """The fraction of a split on which the right answer has the top output."""

    unit = "fraction"

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        return batch.mean(now.task.correct(now.trace(batch).outputs, batch))


class ErrorRate(_OnSplit):
    """The fraction of a split on which another answer has the top output."""

    unit = "fraction"

    def __call__(self, now: Moment) -> Float[Array, ""]:
        return 1 - Accuracy(self.split)(now)


class SequenceAccuracy(_OnSplit):
    """The fraction of a split on which every token of the answer has the top output."""

    unit = "fraction"

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        right = now.task.correct(now.trace(batch).outputs, batch)
        return batch.mean(jnp.all(right, axis=1, keepdims=True))
