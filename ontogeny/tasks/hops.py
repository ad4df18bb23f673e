"""k-fold composition: compose k permutations in context with k that are fixed and not in context.

A sequence lists k permutations σ_1 … σ_k of N values; each follows another, π_1 … π_k, which is
fixed for the run and never an input (arXiv 2505.23683):

    f(σ, x) = (σ_k π_k … σ_1 π_1)(x)

    2 0 1 | 1 2 0        N = 3 values, k = 2: σ_1(0) σ_1(1) σ_1(2) | σ_2(0) σ_2(1) σ_2(2)

The token at position (a, b) is σ_a(b); the target there is where 1, 2, 4, … hops that begin with
σ_a π_a lead from b. Cyclic: after the k-th comes the first, so that k hops may begin anywhere.
"""

from collections.abc import Iterable

import jax.numpy as jnp
import jax.random as jr
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, Example, count, flag
from ..core.types import Batch, Task

HOPS = (1, 2, 4, 8, 16)


def split_of(hops: int) -> str:
    """The split that asks for so many hops."""
    return "1 hop" if hops == 1 else f"{hops} hops"


class Hops(Task):
    """`hops` functions of `values` values. An answer `h N + y` says: after 2^h hops, y.

    "hardest" asks for all k hops, "mixture" at each position for 1, 2, 4, … or k, drawn. Each
    number of hops has its own outputs, and the loss is among those.
    """

    values: int = count(4, least=2, doc="N, how many values the permutations are of")
    hops: int = count(4, doc="k, how many permutations a sequence lists; a power of two")
    cyclic: bool = flag(True, doc="whether the first permutation follows the last")
    rows: int = count(64, doc="fresh sequences a step or an evaluation")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [
            Example(cls(values=3, hops=4, rows=5)),
            Example(cls(values=3, hops=2, cyclic=False, rows=5)),
        ]

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.hops not in HOPS:
            raise ConfigError(
                f"Hops.hops={self.hops} is not a power of two up to {HOPS[-1]}: hops are doubled"
            )

    @property
    def splits(self) -> tuple[str, ...]:  # type: ignore[override]
        """What may be asked: everything, the hardest, or one number of hops."""
        return ("mixture", "hardest", *map(split_of, self.asked))

    @property
    def asked(self) -> tuple[int, ...]:
        """The numbers of hops that are asked for: 1, 2, 4, … k."""
        return tuple(hops for hops in HOPS if hops <= self.hops)

    @property
    def vocab(self) -> int:
        return self.values * len(self.asked)

    @property
    def length(self) -> int:
        return self.values * self.hops

    def token_names(self, world: Int[Array, "hop value"]) -> tuple[str, ...]:
        """`2` is a value, and what one hop leads to; `2@4` is what four hops lead to."""
        after = ["" if hops == 1 else f"@{hops}" for hops in self.asked]
        return tuple(f"{value}{hops}" for hops in after for value in range(self.values))

    def world(self, key: Key[Array, ""]) -> Int[Array, "hop value"]:
        """The permutations π, which are not in context."""
        return _permutations(key, self.hops, self.values)

    def sample(self, world: Int[Array, "hop value"], split: str, key: Key[Array, ""]) -> Batch:
        drawing, choosing = jr.split(key)
        given = _permutations(drawing, self.rows, self.hops, self.values)
        reached = self.reached(world, given)
        match split:
            case "mixture":
                which = jr.randint(choosing, (self.rows, self.length), 0, len(self.asked))
            case "hardest":
                which = jnp.full((self.rows, self.length), len(self.asked) - 1)
            case _:
                which = jnp.full((self.rows, self.length), self.splits.index(split) - 2)
        # [row, asked, position]: at each position the number of hops that is asked there
        values = jnp.take_along_axis(reached, which[:, None], axis=1)[:, 0]
        start = jnp.repeat(jnp.arange(self.hops), self.values)
        # a chain that would run past the k-th permutation has no answer, and no weight
        inside = self.cyclic | (start + jnp.asarray(HOPS)[which] <= self.hops)
        at = jnp.broadcast_to(jnp.arange(self.length), which.shape)
        return Batch(given.reshape(self.rows, -1), at, which * self.values + values, 1.0 * inside)

    def reached(
        self, fixed: Int[Array, "hop value"], given: Int[Array, "row hop value"]
    ) -> Int[Array, "row asked position"]:
        """Where 1, 2, 4, … hops lead from each position (a, b), by doubling."""
        # σ_a(π_a(b)): one hop from (a, b)
        step = jnp.take_along_axis(given, jnp.broadcast_to(fixed, given.shape), axis=2)
        found = [step]
        for hops in self.asked[:-1]:
            # 2h hops from (a, b) are h hops from (a + h, where h hops lead from b): each doubling
            # is what one layer adds in the theorem's construction
            onwards = jnp.roll(found[-1], -hops, axis=1)  # the same many hops, from a + hops on
            found.append(jnp.take_along_axis(onwards, found[-1], axis=2))
        return jnp.stack([each.reshape(len(given), -1) for each in found], axis=1)

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        own, value = self._own(outputs, batch)
        return batch.mean(optax.softmax_cross_entropy_with_integer_labels(own, value))

    def correct(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Bool[Array, "row read"]:
        own, value = self._own(outputs, batch)
        return jnp.argmax(own, axis=-1) == value

    def _own(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> tuple[Float[Array, "row read value"], Int[Array, "row read"]]:
        """The outputs of the number of hops asked for, and the value among them."""
        which, value = jnp.divmod(batch.targets, self.values)
        blocks = outputs.reshape(*outputs.shape[:2], len(self.asked), self.values)
        return jnp.take_along_axis(blocks, which[..., None, None], axis=2)[:, :, 0], value


class BackwardHops(Hops):
    """The same written from right to left, for causal models: what comes next is read before.

        0 2 1 | 1 0 2        σ_2(2) σ_2(1) σ_2(0) | σ_1(2) σ_1(1) σ_1(0)

    A permutation is asked about only once it has been read whole, that is at its value of 0: before
    that, where it leads may not be known.
    """

    def sample(self, world: Int[Array, "hop value"], split: str, key: Key[Array, ""]) -> Batch:
        batch = super().sample(world, split, key)
        return Batch(
            batch.inputs[:, ::-1],
            self.length - 1 - batch.at,
            batch.targets,
            batch.weights * (batch.at % self.values == 0),
        )


def _permutations(key: Key[Array, ""], *shape: int) -> Int[Array, "..."]:
    return jnp.argsort(jr.uniform(key, shape), axis=-1)
