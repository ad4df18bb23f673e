"""Out-of-context reasoning: one fact implies another. For some names both are in training.

    fact          n r1 . → c      in training for every name
    implication   n r2 . → a      in training for some names of each class, tested on the others

Answers are read at the stop, which attends to every name in training. (The attention of r2 to a
name that it never occurs with is never trained.)
"""

from collections.abc import Iterable
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..core.fields import ConfigError, Example, count
from ..core.types import Batch, Task, World


class OutOfContext(Task):
    """`ann lives . → rome`, `ann speaks . → latin`, `bob lives . → rome`; `bob speaks . → ?`"""

    splits: ClassVar[tuple[str, ...]] = ("train", "facts", "in training", "implied")
    held_out: ClassVar[tuple[str, ...]] = ("implied",)
    # as published: 80 names, 20 answers of each kind, a quarter of the names with both in training
    classes: int = count(20, least=2, doc="how many answers facts have, and implications too")
    names: int = count(4, least=2, doc="how many names each class has")
    in_training: int = count(1, doc="how many names of each class have their implication trained")
    length: ClassVar[int] = 3

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(classes=3))]

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.in_training >= self.names:
            raise ConfigError(
                f"OutOfContext.in_training={self.in_training} leaves none of names={self.names} "
                "to be tested"
            )

    @property
    def answers(self) -> int:
        """Those of facts, then those of implications."""
        return 2 * self.classes

    @property
    def vocab(self) -> int:
        """Answers, names, two relations and the stop."""
        return self.answers + self.names * self.classes + 3

    def token_names(self, world: World) -> tuple[str, ...]:
        """Name n belongs to class n mod `classes`, whose answers are c and a of that number."""
        answers = [f"{kind}{n}" for kind in "ca" for n in range(self.classes)]
        return (*answers, *(f"n{n}" for n in range(self.names * self.classes)), "r1", "r2", ".")

    def world(self, key: Key[Array, ""]) -> World:
        """Nothing is drawn: names are exchangeable."""
        return ()

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        facts = self._rows(0, range(self.names))
        trained = self._rows(1, range(self.in_training))
        match split:
            case "train":
                return Batch.concatenate([facts, trained])
            case "facts":
                return facts
            case "in training":
                return trained
            case _:
                return self._rows(1, range(self.in_training, self.names))

    def _rows(self, relation: int, names: range) -> Batch:
        """One relation asked of some names of every class."""
        # name n belongs to class n mod 20 in the published data: the class runs fastest
        number, kind = np.meshgrid(names, range(self.classes), indexing="ij")
        name = self.answers + number.reshape(-1, 1) * self.classes + kind.reshape(-1, 1)
        asked = np.full_like(name, self.vocab - 3 + relation)
        stop = np.full_like(name, self.vocab - 1)
        return Batch(
            jnp.asarray(np.hstack([name, asked, stop])),
            jnp.full(name.shape, 2),
            jnp.asarray(relation * self.classes + kind.reshape(-1, 1)),
            jnp.ones(name.shape),
        )
