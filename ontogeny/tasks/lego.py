"""LEGO: the value of a variable after a chain of group actions (arXiv 2511.07378).

A sentence has a predicate clause of five tokens for every action, x_t = g_t(x_{t-1}), and an answer
clause, x_t = y_t, for every answer so far; _ is the blank:

    x₁ g₁ x₀ _ _   x₂ g₂ x₁ _ _   …   _ _ _ x₀ y₀   _ _ _ x₁ y₁   …

The target after each answer is the next: the value of x_t is y_t = g_t(y_{t-1}).
"""

from collections.abc import Iterable
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from ..core.fields import ConfigError, Example, count, flag, string
from ..core.types import Batch, Task
from ..theory.groups import Action, BadGroup
from ..theory.groups import named as group
from .distinct import below, distinct

CLAUSE = 5  # tokens
FEW = 8  # actions: in shorter chains, drawing variables one by one is faster than sorting them
action_of = cache(group)  # a group is generated and checked once


def split_of(chain: int) -> str:
    """The split whose chains have this length."""
    return "1 step" if chain == 1 else f"{chain} steps"


class Sentence(NamedTuple):
    """Clauses without their blanks: x = g(x'), and x = y."""

    predicates: Int[Array, "predicate 3"]
    answers: Int[Array, "answer 2"]


def parsed(inputs: Int[Array, " length"], answers: int, variables: int, values: int) -> Sentence:
    """The clauses of a row, of which the last `answers` are answer clauses."""
    clauses = inputs.reshape(-1, CLAUSE)
    made, acting, of = clauses[:-answers, :3].T
    predicates = jnp.stack([made, acting - variables - values, of], axis=1)
    return Sentence(predicates, clauses[-answers:, 3:] - jnp.array([0, variables]))


class Lego(Task):
    """Chains of `chain` actions. Tokens are the variables, then values, actions and a blank.

    A target is a variable and a value, `x |Y| + y`. With a chain of thought the targets are all
    answers, one after the other; without, only the last value, right after the first answer (the
    word problem). Splits: "train"; "permuted", with predicates in random order; and chains of L,
    2 L, 4 L, … actions.
    """

    action: str = string("C6", doc="the group and what it acts on, such as C6, S5 or D4")
    chain: int = count(5, doc="L, how many actions a training chain has")
    variables: int = count(200, least=2, doc="|X|, how many variables")
    train_size: int = count(
        0, least=0, doc="sentences in a fixed training set; 0 draws fresh ones every step"
    )
    chain_of_thought: bool = flag(True, doc="whether the answers in between are written out")
    shuffled: bool = flag(False, doc="whether predicates come in random order in all splits")
    rows: int = count(256, doc="sentences a step or an evaluation")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        small = partial(cls, action="S3", chain=2, variables=9, rows=6)
        return [Example(small()), Example(small(train_size=20))]

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
        """The group action."""
        return action_of(self.action)

    @property
    def chains(self) -> tuple[int, ...]:
        """The lengths of chains: L, 2 L, 4 L, … as long as there are variables for them."""
        # 5, 10, 20, … 160 in the figures, which takes 161 variables
        doubled = (self.chain << power for power in range(self.variables.bit_length()))
        return tuple(chain for chain in doubled if chain < self.variables)

    @property
    def splits(self) -> tuple[str, ...]:  # type: ignore[override]
        """Two of training length, and one for every length of chains."""
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

    def token_names(self, world: UInt32[Array, " word"]) -> tuple[str, ...]:
        """Actions on at most ten states as cycles, `(012)(34)`; of more, by number."""

        def cycles(table: list[int]) -> str:
            written, left = "", set(range(self.values))
            while left:
                state, cycle = min(left), ""
                while state in left:
                    left.remove(state)
                    state, cycle = table[state], f"{cycle}{state}"
                written += f"({cycle})" if len(cycle) > 1 else ""
            return written or "()"

        actions = [f"g{n}" for n in range(self.group.order)]
        if self.values <= 10:
            actions = list(map(cycles, self.group.table.tolist()))
        variables = [f"x{n}" for n in range(self.variables)]
        return (*variables, *(f"y{n}" for n in range(self.values)), *actions, "_")

    def answer_names(self, world: UInt32[Array, " word"]) -> tuple[str, ...]:
        """A target is a variable and a value; without a chain of thought the value alone counts."""
        named = [f"x{n}=" if self.chain_of_thought else "" for n in range(self.variables)]
        return tuple(f"{name}y{value}" for name in named for value in range(self.values))

    def world(self, key: Key[Array, ""]) -> UInt32[Array, " word"]:
        """The key that draws the fixed training set: sentence i is drawn from it and i."""
        return jr.key_data(key)

    def sample(self, world: UInt32[Array, " word"], split: str, key: Key[Array, ""]) -> Batch:
        chain, shuffled = self.chain, self.shuffled or split == "permuted"
        if split not in ("train", "permuted"):
            chain = self.chains[self.splits.index(split) - 2]
        draws = draws_per_sentence(chain, self.variables, shuffled)
        if split == "train" and self.train_size:
            # the set is never stored: a sentence is drawn again whenever a step takes it
            which = jr.randint(key, (self.rows,), 0, self.train_size)
            keys = jax.vmap(jr.fold_in, (None, 0))(jr.wrap_key_data(world), which)
            uniform = jax.vmap(lambda one: jr.uniform(one, (sum(draws),)))(keys)
        else:
            uniform = jr.uniform(key, (self.rows, sum(draws)))
        return self.batch(jax.vmap(lambda row: self._drawn(row, draws))(uniform))

    def batch(self, sentences: Sentence) -> Batch:
        """Sentences with all their answers, as rows: each answer is the target of the one before.

        Without a chain of thought only the last answer is a target, of the first.
        """
        predicates, answers = sentences
        targets = answers[..., 0] * self.values + answers[..., 1]
        if self.chain_of_thought:
            given, targets = answers[:, :-1], targets[:, 1:]
        else:
            given, targets = answers[:, :1], targets[:, -1:]
        reads = given.shape[1]
        rows, chain = predicates.shape[:2]
        made, acting, of = jnp.moveaxis(predicates, 2, 0)
        blank = jnp.full((rows, chain), self.vocab - 1)
        stated = jnp.stack([made, self.answers + acting, of, blank, blank], axis=2)
        blank = jnp.full((rows, reads), self.vocab - 1)
        answered = jnp.stack(
            [blank, blank, blank, given[..., 0], self.variables + given[..., 1]], axis=2
        )
        inputs = jnp.concatenate([stated, answered], axis=1).reshape(rows, -1)
        # an answer clause is read at its last token
        at = jnp.broadcast_to(CLAUSE * (chain + 1 + jnp.arange(reads)) - 1, targets.shape)
        return Batch(inputs, at, targets, jnp.ones(targets.shape))

    def _drawn(self, uniform: Float[Array, " draw"], draws: tuple[int, ...]) -> Sentence:
        starting, acting, ordering, naming = jnp.split(uniform, np.cumsum(draws)[:-1])
        chain = len(acting)
        if chain < FEW:
            variables = distinct(naming, self.variables)
        else:
            variables = jnp.argsort(naming)[: chain + 1]  # without replacement (Assumption 3.2)
        actions = below(acting, self.group.order)
        start = below(starting[0], self.values)
        table = jnp.asarray(self.group.table)

        def follow(value: Int[Array, ""], action: Int[Array, ""]) -> tuple[Array, Array]:
            after = table[action, value]
            return after, after

        _, values = jax.lax.scan(follow, start, actions, unroll=min(chain, 8))
        predicates = jnp.stack([variables[1:], actions, variables[:-1]], axis=1)
        if len(ordering):
            predicates = predicates[jnp.argsort(ordering)]
        values = jnp.concatenate([start[None], values])
        return Sentence(predicates, jnp.stack([variables, values], axis=1))

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        """Cross-entropy of the next clause: of its value and its variable (the rest is blank)."""
        loss = self.value_loss(outputs, batch)
        if self.chain_of_thought:
            named, variable = outputs[..., : self.variables], batch.targets // self.values
            # tokens of a clause are independent given what was read, so that their losses add (6b)
            losses = optax.softmax_cross_entropy_with_integer_labels(named, variable)
            loss = loss + batch.mean(losses)
        return loss

    def value_loss(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Float[Array, ""]:
        """Cross-entropy of the value alone."""
        # among the values alone, where (4) has all d tokens compete
        logits, value = self._value_logits(outputs), batch.targets % self.values
        return batch.mean(optax.softmax_cross_entropy_with_integer_labels(logits, value))

    def correct(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Bool[Array, "row read"]:
        """Whether the value is right."""
        # the variable does not count: a chain is judged by its values
        return jnp.argmax(self._value_logits(outputs), axis=-1) == batch.targets % self.values

    def _value_logits(
        self, outputs: Float[Array, "row read answer"]
    ) -> Float[Array, "row read value"]:
        return outputs[..., self.variables : self.answers]


def draws_per_sentence(chain: int, variables: int, shuffled: bool) -> tuple[int, ...]:
    """How many draws decide the start, the actions, the order of predicates, the variables."""
    named = chain + 1 if chain < FEW else variables
    return 1, chain, chain if shuffled else 0, named
