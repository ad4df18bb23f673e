"""Associations: each of N tokens has an answer, and the question is how many can be stored.

z1 → u1      z2 → u2      …      zN → uN       one token in, one token out
"""

from collections.abc import Iterable
from typing import ClassVar

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, Example, count, number
from ..core.types import Batch, Task


class Associations(Task):
    """`z → f(z)` for the first `items` of `most` tokens.

    Each has an answer of its own, or, given `classes`, one of so many, drawn. `items` is a number
    one may sweep: tokens beyond it neither count nor can be answers.
    """

    splits: ClassVar[tuple[str, ...]] = ("train",)
    length: ClassVar[int] = 1
    most: int = count(256, doc="the largest N, which decides the shapes")
    items: float = number(256.0, least=1, doc="N, how many associations there are")
    classes: int = count(0, least=0, doc="how many answers there are; 0 gives each item its own")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(most=6, items=5)), Example(cls(most=6, items=5, classes=3))]

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.items > self.most:
            raise ConfigError(f"Associations.items={self.items:g} is above most={self.most}")

    @property
    def vocab(self) -> int:
        return max(self.most, self.classes)

    @property
    def answers(self) -> int:
        return self.classes or self.most

    def token_names(self, world: Int[Array, " item"]) -> tuple[str, ...]:
        return tuple(f"z{n}" for n in range(1, self.vocab + 1))

    def answer_names(self, world: Int[Array, " item"]) -> tuple[str, ...]:
        return tuple(f"u{n}" for n in range(1, self.answers + 1))

    def world(self, key: Key[Array, ""]) -> Int[Array, " item"]:
        """The answers. Embeddings are drawn at random, so that without classes any will do."""
        if self.classes:
            return jr.randint(key, (self.most,), 0, self.classes)
        return jnp.arange(self.most)

    def sample(self, world: Int[Array, " item"], split: str, key: Key[Array, ""]) -> Batch:
        tokens = jnp.arange(self.most)[:, None]
        # N is traced, so that one program runs a sweep over it: the shapes are those of `most`, and
        # rows beyond N have no weight
        counted = 1.0 * (tokens < self.items)
        return Batch(tokens, jnp.zeros_like(tokens), world[:, None], counted)

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        # finite: the cross-entropy of a row without weight would be ∞, and 0 · ∞ no number
        return super().loss(self._possible(outputs, -1e30), batch)

    def correct(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Bool[Array, "row read"]:
        return super().correct(self._possible(outputs, -jnp.inf), batch)

    def _possible(
        self, outputs: Float[Array, "row read answer"], never: float
    ) -> Float[Array, "row read answer"]:
        """The outputs, those that no item has as its answer put out of the question."""
        possible = jnp.arange(self.answers) < (self.classes or self.items)
        return jax.lax.select(
            jnp.broadcast_to(possible, outputs.shape), outputs, jnp.full_like(outputs, never)
        )
