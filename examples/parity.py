"""Sparse parity: which bits matter? Made step by step in docs/tutorial.md."""

from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

import ontogeny as og
from ontogeny.core import fields
from ontogeny.core.curves import monotone


class SparseParity(og.Task):
    """`0 1 1 0 1 → 1`: the parity of some of the bits; which of them matter is to be found out."""

    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    vocab: ClassVar[int] = 2
    bits: int = fields.count(16, doc="how many bits a string has")
    relevant: int = fields.count(3, doc="how many of them the answer depends on")
    rows: int = fields.count(256, doc="fresh strings a step")

    @property
    def length(self) -> int:
        return self.bits

    def world(self, key: Key[Array, ""]) -> Int[Array, " relevant"]:
        """Which bits matter: drawn once for a run."""
        return jr.permutation(key, self.bits)[: self.relevant]

    def sample(self, world: Int[Array, " relevant"], split: str, key: Key[Array, ""]) -> og.Batch:
        rows = {"train": self.rows, "test": 1024}[split]
        inputs = jr.bernoulli(key, shape=(rows, self.bits)).astype(int)
        targets = inputs[:, world].sum(axis=1, keepdims=True) % 2
        read_at = jnp.full_like(targets, self.bits - 1)  # the answer is read at the last bit
        return og.Batch(inputs, read_at, targets, jnp.ones(targets.shape))


class RelevantShare(og.Probe):
    """The share of the first layer's squared weights that read the bits that matter."""

    unit = "fraction"

    def __call__(self, now: og.Moment) -> Float[Array, ""]:
        reads = now.params.tokens[:, 1] - now.params.tokens[:, 0]  # what flipping a bit changes
        sizes = jnp.sum(reads**2, axis=-1)
        return sizes[now.world].sum() / sizes.sum()


def parity(relevant: int = 3, weight_decay: float = 0.1) -> og.Experiment:
    """The parity of some bits, learnt by a perceptron with one hidden layer."""
    return og.Experiment(
        task=SparseParity(relevant=relevant),
        model=og.OneHotMLP(width=128, depth=2),
        training=(og.AdamW(steps=1000, learning_rate=3e-3, weight_decay=weight_decay),),
        probes={
            "train loss": og.Loss("train"),
            "accuracy": og.Accuracy("test"),
            "relevant share": RelevantShare(),
        },
        evaluations=og.Log(40),
    )


PAPER = og.Paper(
    "hidden-progress", "Hidden Progress in Deep Learning", "https://arxiv.org/abs/2207.08799"
)


@og.claim(
    PAPER,
    "Section 3, the number of relevant bits",
    by_relevant={relevant: parity(relevant) for relevant in (1, 2, 3, 4)},
)
def each_relevant_bit_takes_more_steps(by_relevant):
    """The more bits the answer depends on, the more steps until it is right nine times in ten."""
    steps = {bits: run.first_step_above("accuracy", 0.9) for bits, run in by_relevant.items()}
    yield monotone(steps, rises=True)


@og.claim(PAPER, "ours", learnt=parity(relevant=3))
def answers_are_right_before_other_bits_are_forgotten(learnt):
    """Answers are right while most of the weights still read other bits; these are forgotten
    later, but they are."""
    right = learnt.first_step_above("accuracy", 0.99)
    yield learnt.final("accuracy").above(0.99)
    yield learnt.first_step_above("relevant share", 0.9).exceeds(right)
    yield learnt.final("relevant share").above(0.9)
