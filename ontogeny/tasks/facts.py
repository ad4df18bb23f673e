"""Factual recall: given a subject and a relation somewhere in a sequence, what is the answer?

    n3 n9 France n1 capital n4 . → Paris      subject and relation at any positions, among noise

Each relation has answers of its own (arXiv 2412.06538). One that knows the relation but not the
subject can guess among those: it hallucinates.
"""

from collections.abc import Iterable
from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, Example, choice, count, number
from ..core.types import Batch, Task
from .distinct import below


class Facts(Task):
    """`subjects` × `relations` facts, each one of `choices` answers of its relation.

    Subjects and relations are numbers one may sweep, up to `most` of each.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    most: int = count(32, doc="the largest S and R, which decides the shapes")
    subjects: float = number(32.0, least=1, doc="S, how many subjects")
    relations: float = number(32.0, least=1, doc="R, how many relations")
    choices: int = count(8, doc="D, how many answers each relation has of its own")
    table: str = choice(
        "drawn",
        "in order",
        doc="how facts are chosen: at random, or in order, the same for all relations",
    )
    # S + R noise tokens, D = 8 and 32 tokens a sequence are those of the published program
    noise: int = count(0, least=0, doc="how many noise tokens; 0 takes S + R")
    length: int = count(32, least=3, doc="tokens in a sequence, the end included")
    tokens: int = count(0, least=0, doc="tokens in the vocabulary; 0 takes as many as are needed")
    rows: int = count(1024, doc="fresh training sequences a step")
    test_rows: int = count(1024, doc="test sequences an evaluation")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        small = cls(most=4, subjects=3, relations=4, choices=3, length=5, rows=20, test_rows=10)
        return [Example(small)]

    def __check_init__(self) -> None:
        super().__check_init__()
        for name in ("subjects", "relations"):
            if getattr(self, name) > self.most:
                raise ConfigError(f"Facts.{name}={getattr(self, name):g} is above most={self.most}")
        if self.tokens and self.tokens < self._needed:
            raise ConfigError(
                f"Facts.tokens={self.tokens}: {self.choices} answers for each of {self.most} "
                f"relations, with subjects, relations and noise, are {self._needed} tokens"
            )

    # the tokens in order: answers, subjects, relations, noise, the end

    @property
    def answers(self) -> int:
        return self.choices * self.most

    @property
    def _noise(self) -> int:
        return self.noise or 2 * self.most

    @property
    def _needed(self) -> int:
        return self.answers + 2 * self.most + self._noise + 1

    @property
    def vocab(self) -> int:
        return self.tokens or self._needed

    def token_names(self, world: Int[Array, "subject relation"]) -> tuple[str, ...]:
        """`a2_0` is the first answer of relation r2."""
        most, choices = range(self.most), range(self.choices)
        answers = [f"a{relation}_{answer}" for relation in most for answer in choices]
        asked = [f"{kind}{n}" for kind in "sr" for n in most]
        noise = [f"n{n}" for n in range(self._noise)]
        unused = [f"unused{n}" for n in range(self._needed, self.vocab)]
        return (*answers, *asked, *noise, ".", *unused)

    def world(self, key: Key[Array, ""]) -> Int[Array, "subject relation"]:
        """Which of its relation's answers each fact is."""
        if self.table == "drawn":
            return jr.randint(key, (self.most, self.most), 0, self.choices)
        # ⌊D s / S⌋, as published: each answer of a relation has its own run of subjects
        order = jnp.arange(self.most) * self.choices // self.subjects
        return jnp.broadcast_to(order[:, None], (self.most, self.most)).astype(jnp.int32)

    def sample(
        self, world: Int[Array, "subject relation"], split: str, key: Key[Array, ""]
    ) -> Batch:
        rows = self.rows if split == "train" else self.test_rows
        # one draw for all: which fact, at which positions, and the noise elsewhere
        drawn = jr.uniform(key, (rows, self.length + 3))
        subject, relation = (
            below(drawn[:, column], limit)
            for column, limit in ((0, self.subjects), (1, self.relations))
        )
        last = self.length - 1
        first, second = below(drawn[:, 2], last), below(drawn[:, 3], last - 1)
        second = second + (second >= first)  # any position but the first one's
        start = self.answers
        # the shapes have room for 2 `most` noise tokens; as many are drawn from as S and R say now
        noise = float(self.noise) if self.noise else self.subjects + self.relations
        inputs = start + 2 * self.most + below(drawn[:, 4:], noise)
        row = jnp.arange(rows)
        inputs = jnp.pad(inputs, ((0, 0), (0, 1)), constant_values=self._needed - 1)
        inputs = inputs.at[row, first].set(start + subject)
        inputs = inputs.at[row, second].set(start + self.most + relation)
        answer = relation * self.choices + world[subject, relation]
        read = jnp.full((rows, 1), last)
        return Batch(inputs, read, answer[:, None], jnp.ones((rows, 1)))

    def relation(self, targets: Int[Array, "row read"]) -> Int[Array, "row read"]:
        """The relation that was asked for, from the answer."""
        return targets // self.choices

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        return super().loss(self.possible(outputs), batch)

    def correct(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Bool[Array, "row read"]:
        return super().correct(self.possible(outputs), batch)

    def possible(self, outputs: Float[Array, "row read answer"]) -> Float[Array, "row read answer"]:
        """The outputs, with those of relations beyond R masked: R is traced, the shapes are not."""
        exists = jnp.arange(self.answers) < self.relations * self.choices
        return jnp.where(exists, outputs, -1e30)  # finite: 0 · ∞ would be no number
