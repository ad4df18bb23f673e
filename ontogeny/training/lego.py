"""Ways to teach a chain of thought: next clauses or their values, true answers or one's own."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ..core.fields import ConfigError, choice, count, number, split
from ..core.types import Batch, Memory, Moment, Params, Solver, Task, World
from ..models.clauses import ClauseModel, lego, sentences_of
from ..models.unaided import faultless, own_answers
from ..tasks.lego import Lego, Sentence
from .descent import AdamW, GradientDescent, _Gradient


class Learning(NamedTuple):
    """What the optimiser remembers, and who wrote the answers."""

    optimizer: Memory
    teacher: Params


class _Chained(_Gradient):
    labels: str = choice("true", "self")  # own: by the model as it was when the stage began
    counted: str = choice("clause", "value")
    answer: int = count(0, least=0)  # which answer counts; 0: all of them

    def init(self, now: Moment) -> Memory:
        own = now.params if self.labels == "self" else ()
        return Learning(super().init(now), own)

    def step(self, now: Moment, memory: Learning) -> tuple[Params, Memory]:
        model, task = _chained(self, now)
        seen = _Seen(task, model, memory.teacher, self.labels, self.counted, self.answer)
        params, optimizer = super().step(now._replace(task=seen), memory.optimizer)
        return params, Learning(optimizer, memory.teacher)


class ChainGradientDescent(_Chained, GradientDescent):
    """Gradient descent on the next clause, or on its value alone; on true answers or one's own."""


class ChainAdamW(_Chained, AdamW):
    """Adam, likewise. With labels "self" and a longer split: a round of self-training."""


class RequireAccuracy(Solver):
    """Goes on only if the model, left to itself, gets most chains of a split right.

    A model that cannot do that has nothing to teach itself: the run ends here, and says so.
    """

    split: str = split("train")
    least: float = number(0.5, least=0, most=1)

    def solve(self, now: Moment) -> Params:
        model, task = _chained(self, now)
        batch = now.batch(self.split)
        found = jax.jit(lambda params: faultless(model, params, batch, task))(now.params)
        right = float(jnp.mean(found))
        if right < self.least:
            raise ConfigError(
                f"Able: {right:.0%} of chains of {self.split!r} are right, {self.least:.0%} are "
                "wanted: a model that cannot do this has nothing to teach itself"
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
            found = own_answers(self.model, self.teacher, batch, self.task)
            answers = jnp.concatenate([sentences.answers[:, :1], found], axis=1)
            batch = self.task.batch(Sentence(sentences.predicates, answers))
        reads = batch.at.shape[1]
        if self.answer > reads:
            raise ConfigError(f"answer={self.answer} is to count: {split!r} has {reads} answers")
        if self.answer:
            counts = jnp.arange(reads) == self.answer - 1
            batch = batch._replace(weights=batch.weights * counts)
        return batch

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        loss = self.task.value_loss if self.counted == "value" else self.task.loss
        return loss(outputs, batch)


def _chained(stage: _Gradient | RequireAccuracy, now: Moment) -> tuple[ClauseModel, Lego]:
    if not isinstance(now.model, ClauseModel):
        raise ConfigError(f"{type(stage).__name__} teaches models of clauses, not {now.model}")
    task = lego(now.model, now.task)
    if not task.chain_of_thought:
        name = type(stage).__name__
        raise ConfigError(f"{name} teaches chains: the task must have chain_of_thought=True")
    return now.model, task
