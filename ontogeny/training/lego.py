"""Training on chains of thought: on next clauses or their values, on true or own answers."""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..core.fields import ConfigError, Example, choice, count, number, split
from ..core.types import Batch, Memory, Moment, Params, Solver, Task, World
from ..models.clauses import ClauseModel, ClauseTransformer, lego, sentences_of
from ..models.rollout import rollout, rollout_all_correct
from ..tasks.lego import Lego, Sentence
from .descent import AdamW, GradientDescent, _Gradient


class Learning(NamedTuple):
    """The optimiser's state, and the parameters of the teacher that labels."""

    optimizer: Memory
    teacher: Params


class _Chained(_Gradient):
    # self: the recursive self-training of Algorithm 2 (arXiv 2511.07378), one stage a round
    labels: str = choice(
        "true", "self", doc="who answers: the task, or the model as it was when the stage began"
    )
    # Algorithms 1 and 2 train attention on the fifth token's loss alone: it needs both retrievals
    counted: str = choice(
        "clause", "value", doc="what the loss is of: the next clause, or its value alone"
    )
    answer: int = count(0, least=0, doc="which answer the loss is of, from 1 on; 0 takes all")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        stages = (
            cls(steps=3, learning_rate=0.01),
            cls(steps=3, learning_rate=0.01, labels="self", counted="value", answer=1),
        )
        return [Example(stage, *_small()) for stage in stages]

    def init(self, now: Moment) -> Memory:
        teacher = now.params if self.labels == "self" else ()
        return Learning(super().init(now), teacher)

    def step(self, now: Moment, memory: Learning) -> tuple[Params, Memory]:
        model, task = _chained(self, now)
        seen = _Seen(task, model, memory.teacher, self.labels, self.counted, self.answer)
        params, optimizer = super().step(now._replace(task=seen), memory.optimizer)
        return params, Learning(optimizer, memory.teacher)


class ChainGradientDescent(_Chained, GradientDescent):
    """Gradient descent on the next clause or its value alone, on true answers or the model's."""


class ChainAdamW(_Chained, AdamW):
    """Adam, likewise. With labels "self" and a longer split: a round of self-training."""


class RequireAccuracy(Solver):
    """Goes on only if the model's rollout accuracy on a split is high enough.

    A model without it has nothing to teach itself: the run ends here, and says so.
    """

    split: str = split("train", doc="the split that rollouts start from")
    least: float = number(0.5, least=0, most=1, doc="the least fraction of chains to be right")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(least=0.0), *_small())]

    def solve(self, now: Moment) -> Params:
        model, task = _chained(self, now)
        batch = now.batch(self.split)
        found = jax.jit(lambda params: rollout_all_correct(model, params, batch, task))(now.params)
        right = float(jnp.mean(found))
        if right < self.least:
            raise ConfigError(
                f"RequireAccuracy: the rollout accuracy on {self.split!r} is {right:.0%}, below "
                f"least={self.least:.0%}: such a model has nothing to teach itself"
            )
        return now.params


class _Seen(Task):
    """LEGO as a stage sees it: other labels, or fewer of them."""

    task: Lego
    model: ClauseModel
    teacher: Params
    labels: str
    counted: str
    answer: int

    @property
    def splits(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.task.splits

    @property
    def vocab(self) -> int:
        return self.task.vocab

    @property
    def length(self) -> int:
        return self.task.length

    def world(self, key: Key[Array, ""]) -> World:
        return self.task.world(key)

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        batch = self.task.sample(world, split, key)
        if self.labels == "self":
            sentences = sentences_of(self.task, batch)
            found = rollout(self.model, self.teacher, batch, self.task)
            # Definition 5.1: y₀ is given, and all later answers are the teacher's own, greedily
            answers = jnp.concatenate([sentences.answers[:, :1], found], axis=1)
            batch = self.task.batch(Sentence(sentences.predicates, answers))
        reads = batch.at.shape[1]
        if self.answer > reads:
            raise ConfigError(f"answer={self.answer}: the chains of {split!r} have {reads} answers")
        if self.answer:
            counts = jnp.arange(reads) == self.answer - 1
            batch = batch._replace(weights=batch.weights * counts)
        return batch

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        loss = self.task.value_loss if self.counted == "value" else self.task.loss
        return loss(outputs, batch)


def _chained(stage: _Gradient | RequireAccuracy, now: Moment) -> tuple[ClauseModel, Lego]:
    if not isinstance(now.model, ClauseModel):
        raise ConfigError(f"{type(stage).__name__} trains models of clauses, not {now.model}")
    task = lego(now.model, now.task)
    if not task.chain_of_thought:
        name = type(stage).__name__
        raise ConfigError(f"{name} trains on chains: the task must have chain_of_thought=True")
    return now.model, task


def _small() -> tuple[Lego, ClauseTransformer]:
    """What examples are tried on."""
    small = Lego(action="S3", chain=2, variables=9, rows=6)
    return small, ClauseTransformer(width=8, mlp_width=6)
