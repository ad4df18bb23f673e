"""Addition modulo p, a part of whose table is held out."""

from typing import ClassVar

import jax.numpy as jnp
import jax.random as jr
from jax import Array
from ontogeny import Batch, Task
from ontogeny.core.fields import count, number


class ModularAddition(Task):
    """`a b → (a + b) mod p`: p² questions, of which a random fraction is trained on.

    For p = 5 the rows are `0 0 → 0`, `0 1 → 1`, … `4 4 → 3`.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    held_out: ClassVar[tuple[str, ...]] = ("test",)
    length: ClassVar[int] = 2
    p: int = count(31, least=2, doc="the modulus, and the number of tokens")
    fraction: float = number(0.4, above=0, most=1, doc="how much of the table is trained on")

    @property
    def vocab(self) -> int:
        return self.p

    def world(self, key: Array) -> Array:
        """The order in which questions join the training set: each seed has its own."""
        return jr.permutation(key, self.p**2)

    def sample(self, world: Array, split: str, key: Array) -> Batch:
        a, b = jnp.divmod(jnp.arange(self.p**2), self.p)
        trained = world < self.fraction * self.p**2
        # Both splits have all rows, and those of the other one weigh nothing: so the fraction is a
        # number that may be swept, and every fraction shares one compiled program.
        weights = (trained if split == "train" else ~trained).astype(jnp.float32)
        return Batch(
            inputs=jnp.stack([a, b], axis=1),
            at=jnp.ones((self.p**2, 1), jnp.int32),  # the answer is read at the second token
            targets=((a + b) % self.p)[:, None],
            weights=weights[:, None],
        )
