"""Descent of LEGO's attention in four numbers, exactly, for any number of variables.

Neurons are given: for every pair of an action g and a value y there are some that answer g · y, and
each makes `own` of its g and its y and `other` of any other action or value. Sentences name their
variables at random, all of them different; so renaming them changes nothing, and attention that
starts from nothing stays

    Q43 = a I + c (J - I)     from an answer to the predicates: the one it needs, and each other
    Q44 = b I + e (J - I)     from an answer to answers: itself, and each before it

with J all ones. The loss is a function L(a, b, c, e) of those numbers, and one entry of a diagonal
has a share of 1/|X| in its slope, one off it 1/(|X| (|X| - 1)): with many variables only a and b
move, which is the case of the theorems, and a million cost what ten do.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


class Scores(NamedTuple):
    """a, b, c, e."""

    q43: Float[Array, "*step"]
    q44: Float[Array, "*step"]
    q43_off_diagonal: Float[Array, "*step"]
    q44_off_diagonal: Float[Array, "*step"]


NOTHING = Scores(*(jnp.zeros(()) for _ in range(4)))


class Neurons(NamedTuple):
    """What every neuron makes of its tokens and of others, and how it answers."""

    own: float
    other: float
    bias: float
    clip: float
    copies: float = 1.0  # how many neurons there are for each pair
    power: int = 4
    knee: float = 0.5

    def answer(
        self, made: Float[Array, "row pair"], table: Int[np.ndarray, "action value"]
    ) -> Float[Array, "row value"]:
        """Outputs for every value."""
        # sReLU (Definition 3.4): x^q / (q ρ^(q-1)) from 0 to ρ, then straight, with one slope at ρ
        x = made + self.bias
        bent = self.knee / self.power * (jax.nn.relu(x) / self.knee) ** self.power
        active = jnp.where(x < self.knee, bent, x - self.knee * (1 - 1 / self.power))
        sent = jax.nn.one_hot(table.reshape(-1), table.shape[1])
        return jnp.minimum(self.copies * active @ sent, self.clip)  # clipped at B (Assumption 3.4)


def attention(scores: Scores, chain: int, answer: int) -> tuple[Array, Array]:
    """The attention of the nth answer (from 0) to each predicate and to each answer so far."""
    # no positions: what a clause draws depends on whether it names the variable asked for
    predicates = jnp.where(jnp.arange(chain) == answer, scores.q43, scores.q43_off_diagonal)
    answers = jnp.where(jnp.arange(answer + 1) == answer, scores.q44, scores.q44_off_diagonal)
    weights = jax.nn.softmax(jnp.concatenate([predicates, answers]))
    return weights[:chain], weights[chain:]


def leakage(scores: Scores, chain: int) -> Float[Array, " answer"]:
    """ε of each answer of a chain: its attention to clauses that it does not need."""
    weights = [attention(scores, chain, answer) for answer in range(chain)]
    needed = [predicates[n] + answers[-1] for n, (predicates, answers) in enumerate(weights)]
    return 1 - jnp.stack(needed)


def loss(
    scores: Scores, neurons: Neurons, table: Int[np.ndarray, "action value"], chain: int = 2
) -> Float[Array, ""]:
    """The mean cross-entropy of the values, over all chains of actions and all beginnings."""
    actions, values = table.shape
    # |G|^L |Y| rows, no sample: meant for the chains of two of Algorithm 1
    acting = np.indices((actions,) * chain + (values,)).reshape(chain + 1, -1)
    reached = [acting[-1]]
    for action in acting[:-1]:
        reached.append(table[action, reached[-1]])

    def marked(tokens: list[np.ndarray], weights: Array, kinds: int) -> Float[Array, "row kind"]:
        """For each token: own times what is paid to it, other times what is paid to others."""
        paid = weights @ np.stack([np.eye(kinds)[token] for token in tokens]).swapaxes(0, 1)
        return neurons.own * paid + neurons.other * (jnp.sum(weights) - paid)

    total = jnp.zeros(())
    for answer in range(chain):
        of_predicates, of_answers = attention(scores, chain, answer)
        of_action = marked(list(acting[:-1]), of_predicates, actions)
        of_value = marked(reached[: answer + 1], of_answers, values)
        # a neuron for each pair (g, y): [row, action, value], flattened as the table is
        made = (of_action[:, :, None] + of_value[:, None, :]).reshape(len(reached[0]), -1)
        # over the values alone, where (4) runs over all d tokens
        outputs = jax.nn.log_softmax(neurons.answer(made, table))
        total -= jnp.mean(jnp.take_along_axis(outputs, reached[answer + 1][:, None], axis=1))
    return total / chain


def slope(
    scores: Scores,
    neurons: Neurons,
    table: Int[np.ndarray, "action value"],
    variables: float,
    chain: int = 2,
) -> Scores:
    """The slope of the loss along one entry of each kind."""
    whole = jax.grad(loss)(scores, neurons, table, chain)
    # renaming makes entries of a kind alike, and each has an equal share of the whole slope
    on, off = 1 / variables, 1 / (variables * (variables - 1))
    return Scores(on * whole[0], on * whole[1], off * whole[2], off * whole[3])


def descent(
    neurons: Neurons,
    table: Int[np.ndarray, "action value"],
    variables: float,
    learning_rate: float,
    steps: int,
    chain: int = 2,
) -> Scores:
    """Gradient descent from nothing: the scores after each step, the first before any."""

    def step(scores: Scores, _: None) -> tuple[Scores, Scores]:
        down = slope(scores, neurons, table, variables, chain)
        after: Scores = jax.tree.map(lambda x, along: x - learning_rate * along, scores, down)
        return after, after

    after = jax.jit(lambda: jax.lax.scan(step, NOTHING, length=steps)[1])()
    path: Scores = jax.tree.map(jnp.append, NOTHING, after)
    return path
