"""What a model that is asked for a fact knows: the relation, the subject, or neither."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, split
from ..core.types import Batch, Moment, Probe
from ..tasks.facts import Facts

Chances = Float[Array, "row read relation choice"]


class _OfRelation(Probe):
    split: str = split("test")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        task = now.task
        if not isinstance(task, Facts):
            raise ConfigError(f"{type(self).__name__} is about Facts, not {type(task).__name__}")
        batch = now.batch(self.split)
        chances = jax.nn.softmax(task.possible(now.trace(batch).outputs), axis=-1)
        blocks = chances.reshape(*chances.shape[:2], -1, task.choices)
        asked = task.relation(batch.targets)[..., None, None]
        own = jnp.take_along_axis(blocks, asked, axis=2)[:, :, 0]
        return batch.mean(self._of(now, batch, own))

    @abstractmethod
    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        """What is asked of the chances that the answers of the right relation have."""


class RelationMass(_OfRelation):
    """The chance of an answer that fits the relation, right or wrong."""

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        return jnp.sum(own, axis=-1)


class RelationLoss(_OfRelation):
    """The part of the loss that is not knowing the relation: minus the log of that chance."""

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        return -jnp.log(jnp.sum(own, axis=-1) + 1e-30)


class RelationEntropy(_OfRelation):
    """How undecided the model is among the answers of the right relation: log D is a guess."""

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        inside = own / (jnp.sum(own, axis=-1, keepdims=True) + 1e-30)
        return -jnp.sum(inside * jnp.log(inside + 1e-30), axis=-1)


class Hallucination(_OfRelation):
    """KL of p(a|r), what the relation alone says, from the model: zero if it ignores the subject.

    A model that knows the fact, p(a|s,r), is far from it.
    """

    def _of(
        self, now: Moment, batch: Batch, own: Float[Array, "row read choice"]
    ) -> Float[Array, "row read"]:
        assert isinstance(now.task, Facts)
        counted = jnp.arange(now.task.most)[:, None, None] < now.task.subjects
        among = jax.nn.one_hot(now.world, now.task.choices) * counted
        often = jnp.sum(among, axis=0) / now.task.subjects
        expected = often[now.task.relation(batch.targets)]
        gap = jnp.log(expected + 1e-30) - jnp.log(own + 1e-30)
        return jnp.sum(jnp.where(expected > 0, expected * gap, 0.0), axis=-1)
