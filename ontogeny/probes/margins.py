"""By how much the right answer leads."""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, split
from ..core.types import Batch, Moment, Probe
from ..tasks.two_hop import TwoHop
from ..theory.margin import gaps


class Margin(Probe):
    """The logit of the right answer minus the best other, row by row: negative if it is wrong."""

    unit = "logits"

    split: str = split(doc="the split that is answered")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls("conclusion"))]

    def __call__(self, now: Moment) -> Float[Array, " row"]:
        return _leads(now, now.batch(self.split))


class RelativeMargin(Probe):
    """The least margin on a split, in units of the least margin on the training split.

    It does not change if the weights of a homogeneous model are scaled.
    """

    asked: str = split(doc="the split that is answered")
    trained: str = split("train", doc="the split whose least margin is the unit")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls("conclusion"))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        asked, trained = now.batch(self.asked), now.batch(self.trained)
        counted = jnp.where(trained.weights[:, 0] > 0, _leads(now, trained), jnp.inf)
        # were a training row wrong, its negative margin would turn the sign of all
        unit = jnp.abs(jnp.min(counted))
        return jnp.min(_leads(now, asked)) / jnp.where(unit > 0, unit, 1.0)


class ObjectAccuracy(Probe):
    """The fraction of a split that is right if only objects compete for the answer."""

    unit = "fraction"

    split: str = split("composed", doc="the split that is answered")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from ..models.embedding_mlp import EmbeddingMLP

        return [Example(cls(), TwoHop(subjects=4), EmbeddingMLP(width=8))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.task, TwoHop) or now.task.tokens_per_entity > 1:
            raise ConfigError("ObjectAccuracy is about TwoHop with tokens_per_entity=1")
        objects = now.task.numbers(now.task.hops)
        batch = now.batch(self.split)
        best = jnp.argmax(now.trace(batch).outputs[..., objects.start : objects.stop], axis=-1)
        return batch.mean(best + objects.start == batch.targets)


def _leads(now: Moment, batch: Batch) -> Float[Array, " row"]:
    return jnp.min(gaps(now.trace(batch).outputs, batch.targets), axis=(1, 2))
