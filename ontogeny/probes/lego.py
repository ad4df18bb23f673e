"""What a model of LEGO does when left to itself, and where it looks."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, choice, split
from ..core.types import Moment, Probe
from ..models.block_sparse import BlockSparse, feature_magnitudes
from ..models.clauses import ClauseModel, lego, sentences_of
from ..models.unaided import faultless, right_unaided
from ..tasks.lego import Lego, Sentence


class RolloutAccuracy(Probe):
    """How many chains are right from the first answer to the last when the model writes them all
    itself, each answer the likeliest."""

    alone = True
    split: str = split("train")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        model, task = read_by_clauses(now)
        return jnp.mean(faultless(model, now.params, now.batch(self.split), task))


class RolloutAccuracyByStep(Probe):
    """How often each answer is right when the model writes them all itself."""

    alone = True
    split: str = split("train")

    def __call__(self, now: Moment) -> Float[Array, " answer"]:
        model, task = read_by_clauses(now)
        return jnp.mean(right_unaided(model, now.params, now.batch(self.split), task), axis=0)


class Retrieval(Probe):
    """How much of its attention each answer gives to a clause that the next one needs: to the
    predicate that begins at its variable, or to itself. The mean over heads and sentences."""

    split: str = split("train")
    clause: str = choice("predicate", "itself")

    def __call__(self, now: Moment) -> Float[Array, " answer"]:
        place = ("predicate", "itself").index(self.clause)
        return jnp.mean(retrieved(now, self.split)[..., place], axis=0)


class AttentionLeakage(Probe):
    """ε: how much attention goes to any other clause. A mean over answers, heads and sentences."""

    split: str = split("train")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        return 1 - jnp.mean(jnp.sum(retrieved(now, self.split), axis=2))


class Gap(Probe):
    """Δ: how differently the two clauses that are needed are attended to."""

    split: str = split("train")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        found = retrieved(now, self.split)
        return jnp.mean(jnp.abs(found[..., 0] - found[..., 1]))


class ClauseAttention(Probe):
    """The attention from answers to clauses, averaged over heads and sentences: a heat map."""

    split: str = split("train")

    def __call__(self, now: Moment) -> Float[Array, "answer clause"]:
        read_by_clauses(now)
        return jnp.mean(now.trace(now.batch(self.split)).attention[0], axis=(0, 1))


class Diagonals(Probe):
    """Of Q43 and of Q44: the mean of their diagonals, and the largest number off them."""

    def __call__(self, now: Moment) -> Float[Array, "block 2"]:
        theory(now)
        found = []
        for block in (now.params.q43, now.params.q44):
            off = block * (1 - jnp.eye(len(block)))
            found.append(jnp.stack([jnp.mean(jnp.diag(block)), jnp.max(jnp.abs(off))]))
        return jnp.stack(found)


class Features(Probe):
    """V/B of the neuron that learnt to send a value y to j: of y, of other values; of the actions
    that send y to j, and of others (means of each)."""

    def __call__(self, now: Moment) -> Float[Array, "to value 4"]:
        model, task = theory(now)
        by_action, by_value = feature_magnitudes(now.params, model.neurons)
        table = jnp.asarray(task.group.table)

        def mean(values: Array, where: Array) -> Float[Array, "..."]:
            return jnp.sum(values * where, axis=-1) / jnp.sum(where)

        def learnt(to: Array, value: Array) -> Float[Array, " kind"]:
            sending, same = table[:, value] == to, jnp.arange(task.values) == value
            actions, values = by_action[to], by_value[to]
            chosen = jnp.argmax(mean(actions, sending) + values[:, value])
            own, others = mean(values[chosen], same), mean(values[chosen], ~same)
            fitting, rest = mean(actions[chosen], sending), mean(actions[chosen], ~sending)
            return jnp.stack([own, others, fitting, rest])

        states = jnp.arange(task.values)
        over_values = jax.vmap(learnt, (None, 0))
        return jax.vmap(over_values, (0, None))(states, states) / (model.clip * jnp.log(task.vocab))


class Promise(Probe):
    """The largest V of a combination (g, y) among the neurons of its answer g(y)."""

    def __call__(self, now: Moment) -> Float[Array, "action value"]:
        model, task = theory(now)
        by_action, by_value = feature_magnitudes(now.params, model.neurons)
        table = jnp.asarray(task.group.table)

        def most(action: Array, value: Array) -> Float[Array, ""]:
            to = table[action, value]
            return jnp.max(by_action[to, :, action] + by_value[to, :, value]) / 2

        over_values = jax.vmap(most, (None, 0))
        actions, values = jnp.arange(task.group.order), jnp.arange(task.values)
        return jax.vmap(over_values, (0, None))(actions, values)


class Combinations(Probe):
    """How likely the model finds g(y), for every g and y, from a chain of one action."""

    def __call__(self, now: Moment) -> Float[Array, "action value"]:
        _, task = read_by_clauses(now)
        actions, values = jnp.indices((task.group.order, task.values)).reshape(2, -1)
        variables = jnp.broadcast_to(jnp.arange(2), (len(actions), 2))
        held = jnp.stack([values, jnp.asarray(task.group.table)[actions, values]], axis=1)
        predicates = jnp.stack([variables[:, 1], actions, variables[:, 0]], axis=1)[:, None]
        batch = task.batch(Sentence(predicates, jnp.stack([variables, held], axis=2)))
        outputs = now.trace(batch).outputs[:, 0, task.variables :]
        chances = jnp.take_along_axis(jax.nn.softmax(outputs), held[:, 1:], axis=1)
        return chances.reshape(task.group.order, task.values)


def read_by_clauses(now: Moment) -> tuple[ClauseModel, Lego]:
    """The model and the task, if they are of clauses."""
    if not isinstance(now.model, ClauseModel):
        raise ConfigError(f"this probe is about models of clauses, not {type(now.model).__name__}")
    return now.model, lego(now.model, now.task)


def theory(now: Moment) -> tuple[BlockSparse, Lego]:
    """The theorems' model, and the task."""
    model, task = read_by_clauses(now)
    if not isinstance(model, BlockSparse):
        raise ConfigError(f"this probe is about BlockSparse, not {type(model).__name__}")
    return model, task


def retrieved(now: Moment, split: str) -> Float[Array, "row answer 2"]:
    """The attention of each answer to the predicate that begins at its variable, and to itself."""
    _, task = read_by_clauses(now)
    batch = now.batch(split)
    weights = jnp.mean(now.trace(batch).attention[0], axis=1)
    predicates, answers = sentences_of(task, batch)
    wanted = answers[:, :, None, 0] == predicates[:, None, :, 2]
    chain = predicates.shape[1]
    looked = jnp.sum(weights[..., :chain] * wanted, axis=2)
    own = jnp.diagonal(weights[..., chain:], axis1=1, axis2=2)
    return jnp.stack([looked, own], axis=2)
