"""What a model that is asked for a fact knows: the relation, the subject, or neither."""

from abc import abstractmethod
from collections.abc import Iterable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, split
from ..core.types import Batch, Moment, Probe
from ..tasks.facts import Facts


class _OfRelation(Probe):
    split: str = split("test", doc="the split that is answered")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from ..models.recall import RecallAttention

        task = Facts(most=4, subjects=3, relations=4, choices=3, length=5, rows=20, test_rows=10)
        return [Example(cls(), task, RecallAttention(width=8, heads=2, head_dim=4, mlp_width=6))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        task = now.task
        if not isinstance(task, Facts):
            raise ConfigError(f"{type(self).__name__} is about Facts, not {type(task).__name__}")
        batch = now.batch(self.split)
        probabilities = jax.nn.softmax(task.possible(now.trace(batch).outputs), axis=-1)
        # answers are numbered relation by relation, D to each
        blocks = probabilities.reshape(*probabilities.shape[:2], -1, task.choices)
        relation = task.relation(batch.targets)[..., None, None]
        own = jnp.take_along_axis(blocks, relation, axis=2)[:, :, 0]
        return batch.mean(self._of(now, batch, own))

    @abstractmethod
    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        """A number from the probabilities of the answers of the right relation."""


class RelationMass(_OfRelation):
    """The probability of the answers of the right relation, right or wrong."""

    unit = "fraction"

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        return jnp.sum(own, axis=-1)


class RelationLoss(_OfRelation):
    """The loss from not knowing the relation: minus the log of `RelationMass`."""

    unit = "entropy"

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        # so that a mass that underflows gives a large loss rather than an infinite one
        return -jnp.log(jnp.sum(own, axis=-1) + 1e-30)


class RelationEntropy(_OfRelation):
    """The entropy over the answers of the right relation: log D is a uniform guess."""

    unit = "entropy"

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        inside = own / (jnp.sum(own, axis=-1, keepdims=True) + 1e-30)
        return -jnp.sum(inside * jnp.log(inside + 1e-30), axis=-1)


class Hallucination(_OfRelation):
    """KL of p(a|r), what the relation alone says, from the model: zero if it ignores the subject.

    A model that knows the fact, p(a|s,r), is far from it.
    """

    unit = "entropy"

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        assert isinstance(now.task, Facts)
        # p(a|r): how many of the subjects have each answer (S is traced: later rows do not count)
        counted = jnp.arange(now.task.most)[:, None, None] < now.task.subjects
        answers = jax.nn.one_hot(now.world, now.task.choices) * counted
        frequency = jnp.sum(answers, axis=0) / now.task.subjects
        expected = frequency[now.task.relation(batch.targets)]
        gap = jnp.log(expected + 1e-30) - jnp.log(own + 1e-30)
        return jnp.sum(jnp.where(expected > 0, expected * gap, 0.0), axis=-1)
