"""Facts: of a subject and a relation somewhere in a sentence, what is the answer?

    n3 n9 France n1 capital n4 . → Paris      subject and relation anywhere among noise

Each relation has answers of its own (arXiv 2412.06538). One that knows the relation but not the
subject can guess among those: it hallucinates.
"""

from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, choice, count, number
from ..core.types import Batch, Task


class Facts(Task):
    """`subjects` × `relations` facts, each one of `choices` answers of its relation.

    Subjects and relations are numbers one may sweep, up to `most` of each.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    most: int = count(32)
    subjects: float = number(32.0, least=1)  # S
    relations: float = number(32.0, least=1)  # R
    choices: int = count(8)  # D
    table: str = choice("drawn", "in order")  # in order: a subject has the same answer everywhere
    noise: int = count(0, least=0)  # noise tokens; 0 takes as many as subjects and relations
    length: int = count(32, least=3)
    tokens: int = count(0, least=0)  # in the vocabulary; 0 takes as many as are needed
    rows: int = count(1024)
    test_rows: int = count(1024)

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

    def world(self, key: Key[Array, ""]) -> Int[Array, "subject relation"]:
        """Which of its relation's answers each fact is."""
        if self.table == "drawn":
            return jr.randint(key, (self.most, self.most), 0, self.choices)
        order = jnp.arange(self.most) * self.choices // self.subjects
        return jnp.broadcast_to(order[:, None], (self.most, self.most)).astype(jnp.int32)

    def sample(
        self, world: Int[Array, "subject relation"], split: str, key: Key[Array, ""]
    ) -> Batch:
        rows = self.rows if split == "train" else self.test_rows
        # all chances in one draw: which fact, where it stands, and what stands elsewhere
        chances = jr.uniform(key, (rows, self.length + 3))
        subject, relation = (
            _below(chances[:, column], limit)
            for column, limit in ((0, self.subjects), (1, self.relations))
        )
        last = self.length - 1
        first, second = _below(chances[:, 2], last), _below(chances[:, 3], last - 1)
        second = second + (second >= first)
        start = self.answers
        noise = float(self.noise) if self.noise else self.subjects + self.relations
        inputs = start + 2 * self.most + _below(chances[:, 4:], noise)
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
        """The outputs, answers of relations that there are not put out of the question."""
        there = jnp.arange(self.answers) < self.relations * self.choices
        return jnp.where(there, outputs, -1e30)


def _below(chances: Float[Array, "..."], limit: Float[Array, ""] | float) -> Int[Array, "..."]:
    """Whole numbers from zero to below the limit, which may be traced."""
    return jnp.minimum(jnp.floor(chances * limit), limit - 1).astype(jnp.int32)
