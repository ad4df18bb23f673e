"""Orthogonal inputs, several of which share a label.

x0 → y0    x1 → y1    x2 → y0    x3 → y1        two labels, shared by two inputs each
"""

from collections.abc import Iterable
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Key

from ..core.fields import Example, count
from ..core.types import Batch, Task, World


class Labelled(Task):
    """`x3 → y1`, `x13 → y1`: inputs have nothing in common but their label.

    The first `labels` inputs have each label once, the next `labels` again, and so on.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "first", "second")
    labels: int = count(20, doc="how many labels")
    shared: int = count(2, least=2, doc="how many inputs share a label")
    length: ClassVar[int] = 1

    @property
    def vocab(self) -> int:
        """Inputs, then labels."""
        return self.labels * (self.shared + 1)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(labels=3, shared=3))]

    def token_names(self, world: World) -> tuple[str, ...]:
        inputs = [f"x{n}" for n in range(self.labels * self.shared)]
        return (*inputs, *(f"y{n}" for n in range(self.labels)))

    def world(self, key: Key[Array, ""]) -> World:
        """Nothing is drawn: inputs are exchangeable."""
        return ()

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        chosen = {"train": slice(None), "first": slice(0, 1), "second": slice(1, 2)}[split]
        # [share, label]: row i of "first" and row i of "second" have one label
        tokens = jnp.arange(self.labels * self.shared).reshape(self.shared, self.labels)[chosen]
        inputs = tokens.reshape(-1, 1)
        targets = self.labels * self.shared + inputs % self.labels
        return Batch(inputs, jnp.zeros_like(inputs), targets, jnp.ones(inputs.shape))
