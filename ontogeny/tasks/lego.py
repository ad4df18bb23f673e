"""LEGO: who holds what, after a chain of actions of a group (arXiv 2511.07378).

A sentence has a clause of five tokens for every action, and one for every answer so far:

    x₁ g₁ x₀ _ _   x₂ g₂ x₁ _ _   …   _ _ _ x₀ y₀   _ _ _ x₁ y₁   …

Each answer is to be followed by the next: x_t holds y_t = g_t(y_{t-1}).
"""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from ..core.fields import ConfigError, count, flag, string
from ..core.types import Batch, Task
from ..theory.groups import Action, BadGroup
from ..theory.groups import named as group
from .distinct import below, distinct

CLAUSE = 5  # tokens
FEW = 8  # actions: in shorter chains, variables are drawn one after the other
action_of = cache(group)


def split_of(chain: int) -> str:
    """The split of chains so long."""
    return "1 step" if chain == 1 else f"{chain} steps"


class Sentence(NamedTuple):
    """Clauses without their blanks: x = g(x'), and x = y."""

    predicates: Int[Array, "predicate 3"]
    answers: Int[Array, "answer 2"]


def parsed(inputs: Int[Array, " length"], answers: int, variables: int, values: int) -> Sentence:
    """The clauses of a row, of which the last so many are answers."""
    clauses = inputs.reshape(-1, CLAUSE)
    made, acting, of = clauses[:-answers, :3].T
    predicates = jnp.stack([made, acting - variables - values, of], axis=1)
    return Sentence(predicates, clauses[-answers:, 3:] - jnp.array([0, variables]))


class Lego(Task):
    """Chains of `chain` actions. Tokens are the variables, then values, actions and a blank.

    An answer is a variable and a value: `x |Y| + y`. With `thought`, all answers are asked for, one
    after the other; without, only the last value, right after the first answer (the word problem).
    Splits: "train", from `known` sentences or all there are; chains twice, four times, … as long;
    and "permuted", whose predicates come in any order.
    """

    action: str = string("C6")
    chain: int = count(5)  # L
    variables: int = count(200, least=2)  # |X|
    train_size: int = count(
        0, least=0
    )  # how many sentences there are to train on; 0: no end of them
    chain_of_thought: bool = flag(True)
    shuffled: bool = flag(False)  # predicates come in any order, always
    rows: int = count(256)

    def __check_init__(self) -> None:
        super().__check_init__()
        try:
            action_of(self.action)
        except BadGroup as error:
            raise ConfigError(f"Lego.action: {error}") from error
        if self.chain + 1 > self.variables:
            raise ConfigError(
                f"Lego.variables={self.variables}: a chain of {self.chain} actions is about "
                f"{self.chain + 1} variables, all different"
            )

    @property
    def group(self) -> Action:
        """The action that is followed."""
        return action_of(self.action)

    @property
    def chains(self) -> tuple[int, ...]:
        """The lengths of chains: L, 2 L, 4 L, … as far as there are variables."""
        doubled = (self.chain << power for power in range(self.variables.bit_length()))
        return tuple(chain for chain in doubled if chain < self.variables)

    @property
    def splits(self) -> tuple[str, ...]:  # type: ignore[override]
        """What may be drawn."""
        return ("train", "permuted", *map(split_of, self.chains))

    @property
    def values(self) -> int:
        """|Y|."""
        return self.group.states

    @property
    def answers(self) -> int:
        return self.variables + self.values

    @property
    def vocab(self) -> int:
        return self.answers + self.group.order + 1

    @property
    def length(self) -> int:
        chain = self.chains[-1]
        return CLAUSE * (2 * chain if self.chain_of_thought else chain + 1)

    def world(self, key: Key[Array, ""]) -> UInt32[Array, " part"]:
        """Which sentences are known, if not all are: those that this key draws."""
        return jr.key_data(key)

    def sample(self, world: UInt32[Array, " part"], split: str, key: Key[Array, ""]) -> Batch:
        chain, shuffled = self.chain, self.shuffled or split == "permuted"
        if split not in ("train", "permuted"):
            chain = self.chains[self.splits.index(split) - 2]
        parts = drawn_parts(chain, self.variables, shuffled)
        if split == "train" and self.train_size:
            drawn = jr.randint(key, (self.rows,), 0, self.train_size)
            keys = jax.vmap(jr.fold_in, (None, 0))(jr.wrap_key_data(world), drawn)
            chances = jax.vmap(lambda one: jr.uniform(one, (sum(parts),)))(keys)
        else:
            chances = jr.uniform(key, (self.rows, sum(parts)))
        return self.batch(jax.vmap(lambda row: self._drawn(row, parts))(chances))

    def batch(self, sentences: Sentence) -> Batch:
        """Sentences with all their answers, as rows: every answer is the target of the one before.

        Where nothing is to be thought, only the last answer is, of the first.
        """
        predicates, answers = sentences
        targets = answers[..., 0] * self.values + answers[..., 1]
        if self.chain_of_thought:
            shown, targets = answers[:, :-1], targets[:, 1:]
        else:
            shown, targets = answers[:, :1], targets[:, -1:]
        reads = shown.shape[1]
        rows, chain = predicates.shape[:2]
        made, acting, of = jnp.moveaxis(predicates, 2, 0)
        blank = jnp.full((rows, chain), self.vocab - 1)
        stated = jnp.stack([made, self.answers + acting, of, blank, blank], axis=2)
        nothing = jnp.full((rows, reads), self.vocab - 1)
        held = jnp.stack(
            [nothing, nothing, nothing, shown[..., 0], self.variables + shown[..., 1]], axis=2
        )
        inputs = jnp.concatenate([stated, held], axis=1).reshape(rows, -1)
        at = jnp.broadcast_to(CLAUSE * (chain + 1 + jnp.arange(reads)) - 1, targets.shape)
        return Batch(inputs, at, targets, jnp.ones(targets.shape))

    def _drawn(self, chances: Float[Array, " chance"], parts: tuple[int, ...]) -> Sentence:
        starting, acting, mixing, naming = jnp.split(chances, np.cumsum(parts)[:-1])
        chain = len(acting)
        if chain < FEW:
            variables = distinct(naming, self.variables)
        else:
            variables = jnp.argsort(naming)[: chain + 1]
        actions = below(acting, self.group.order)
        start = below(starting[0], self.values)
        table = jnp.asarray(self.group.table)

        def follow(value: Int[Array, ""], action: Int[Array, ""]) -> tuple[Array, Array]:
            after = table[action, value]
            return after, after

        _, values = jax.lax.scan(follow, start, actions, unroll=min(chain, 8))
        predicates = jnp.stack([variables[1:], actions, variables[:-1]], axis=1)
        if len(mixing):
            predicates = predicates[jnp.argsort(mixing)]
        held = jnp.concatenate([start[None], values])
        return Sentence(predicates, jnp.stack([variables, held], axis=1))

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        """Of the next clause: its value and its variable (its blanks are always blank)."""
        loss = self.value_loss(outputs, batch)
        if self.chain_of_thought:
            named, variable = outputs[..., : self.variables], batch.targets // self.values
            losses = optax.softmax_cross_entropy_with_integer_labels(named, variable)
            loss = loss + batch.mean(losses)
        return loss

    def value_loss(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Float[Array, ""]:
        """Of its value alone."""
        held, value = self._held(outputs), batch.targets % self.values
        return batch.mean(optax.softmax_cross_entropy_with_integer_labels(held, value))

    def correct(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Bool[Array, "row read"]:
        """Whether the value is right."""
        return jnp.argmax(self._held(outputs), axis=-1) == batch.targets % self.values

    def _held(self, outputs: Float[Array, "row read answer"]) -> Float[Array, "row read value"]:
        return outputs[..., self.variables : self.answers]


def drawn_parts(chain: int, variables: int, shuffled: bool) -> tuple[int, ...]:
    """How many chances decide the start, the actions, the order of predicates, the variables."""
    named = chain + 1 if chain < FEW else variables
    return 1, chain, chain if shuffled else 0, named
