"""Which of two letters is there more often?"""

from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
from jax import Array
from ontogeny import Batch, Task
from ontogeny.core.fields import count, number


# CHANGE: a task of your own. The docstring draws an example sequence.
class Majority(Task):
    """`a b a a b → a`: all strings of two letters, a random fraction of which is trained on."""

    # Whoever trains or measures names one of these splits; those held out share no question with
    # the one that is trained on.
    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    held_out: ClassVar[tuple[str, ...]] = ("test",)

    # Fields are checked, and shown by `help(Majority)`. `count` is a whole number that decides the
    # shape of the computation; `number` is a float, which one may sweep.
    length: int = count(7, doc="letters of a string; odd, so that there is a majority")
    fraction: float = number(0.5, above=0, most=1, doc="how many of the strings are trained on")

    @property
    def vocab(self) -> int:
        """How many tokens there are: a and b."""
        return 2

    def world(self, key: Array) -> Array:
        """What stays true during a run: the order in which strings join the training set."""
        return jr.permutation(key, 2**self.length)

    def sample(self, world: Array, split: str, key: Array) -> Batch:
        """The rows of a split. A split of random rows would draw them with the key."""
        strings = jnp.arange(2**self.length)[:, None] >> jnp.arange(self.length) & 1
        trained = world < self.fraction * len(strings)
        # Both splits have all rows, and those of the other one weigh nothing: so the fraction may
        # be swept, and all its values share one compiled program.
        weights = (trained if split == "train" else ~trained).astype(jnp.float32)
        return Batch(
            inputs=strings,
            at=jnp.full((len(strings), 1), self.length - 1),  # read at the last letter
            targets=(2 * strings.sum(axis=1, keepdims=True) > self.length).astype(int),
            weights=weights[:, None],
        )
