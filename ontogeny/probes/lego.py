"""Rollouts of a model of LEGO, its attention, and the theorems' features."""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, choice, split
from ..core.types import Moment, Probe
from ..models.block_sparse import BlockSparse, feature_magnitudes
from ..models.clauses import ClauseModel, ClauseTransformer, lego, sentences_of
from ..models.rollout import rollout_all_correct, rollout_correct
from ..tasks.lego import Lego, Sentence


class _OfClauses(Probe):
    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(), _small(), ClauseTransformer(width=8, mlp_width=6))]


class _OfTheory(Probe):
    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(), _small(), BlockSparse())]


class RolloutAccuracy(_OfClauses):
    """The fraction of chains that are right from the first answer to the last in a rollout: the
    model writes every answer itself, each the most probable."""

    unit = "fraction"

    split: str = split("train", run=False, doc="the split whose first answers rollouts start from")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        # not the accuracy of Definition 3.6 (eq. 5), which is given true answers: the experiments
        # of section 7 of arXiv 2511.07378 count rollouts, in which errors add up
        model, task = read_by_clauses(now)
        return jnp.mean(rollout_all_correct(model, now.params, now.batch(self.split), task))


class RolloutAccuracyByStep(_OfClauses):
    """The fraction of rollouts whose first, second, … answer is right."""

    unit = "fraction"

    split: str = split("train", run=False, doc="the split whose first answers rollouts start from")

    def __call__(self, now: Moment) -> Float[Array, " answer"]:
        model, task = read_by_clauses(now)
        return jnp.mean(rollout_correct(model, now.params, now.batch(self.split), task), axis=0)


class Retrieval(_OfClauses):
    """The attention of each answer to a clause that the next one needs: the predicate that begins
    at its variable, or itself. A mean over heads and sentences."""

    unit = "fraction"

    split: str = split("train", doc="the split whose sentences are read")
    clause: str = choice("predicate", "itself", doc="attention to which of the two")

    def __call__(self, now: Moment) -> Float[Array, " answer"]:
        which = ("predicate", "itself").index(self.clause)
        return jnp.mean(retrieved(now, self.split)[..., which], axis=0)


class AttentionLeakage(_OfClauses):
    """ε: the attention off the two needed clauses, a mean over answers, heads and sentences."""

    unit = "fraction"

    split: str = split("train", doc="the split whose sentences are read")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        # eq. 19 of arXiv 2511.07378
        return 1 - jnp.mean(jnp.sum(retrieved(now, self.split), axis=2))


class Gap(_OfClauses):
    """Δ: the mean absolute difference of the attention to the two needed clauses."""

    unit = "fraction"

    split: str = split("train", doc="the split whose sentences are read")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        found = retrieved(now, self.split)
        # eq. 20
        return jnp.mean(jnp.abs(found[..., 0] - found[..., 1]))


class ClauseAttention(_OfClauses):
    """The attention from answers to clauses, averaged over heads and sentences: a heat map."""

    unit = "fraction"

    split: str = split("train", doc="the split whose sentences are read")

    def __call__(self, now: Moment) -> Float[Array, "answer clause"]:
        read_by_clauses(now)
        return jnp.mean(now.trace(now.batch(self.split)).attention[0], axis=(0, 1))


class Diagonals(_OfTheory):
    """Of Q43 and of Q44: the mean of the diagonal, and the largest entry off it."""

    def __call__(self, now: Moment) -> Float[Array, "block 2"]:
        theory(now)
        found = []
        for block in (now.params.q43, now.params.q44):
            off = block * (1 - jnp.eye(len(block)))
            found.append(jnp.stack([jnp.mean(jnp.diag(block)), jnp.max(jnp.abs(off))]))
        return jnp.stack(found)


class Features(_OfTheory):
    """V/B of the neuron that learnt to map a value y to j (equations 17 and 18): of y, of other
    values; of the actions that map y to j, of other actions (means of each)."""

    def __call__(self, now: Moment) -> Float[Array, "to value 4"]:
        model, task = theory(now)
        by_action, by_value = feature_magnitudes(now.params, model.neurons_per_class)
        table = jnp.asarray(task.group.table)

        def mean(values: Array, where: Array) -> Float[Array, "..."]:
            return jnp.sum(values * where, axis=-1) / jnp.sum(where)

        def learnt(to: Array, value: Array) -> Float[Array, " kind"]:
            # the fibre of Definition 6.3; a single action if the group is simply transitive
            sending, same = table[:, value] == to, jnp.arange(task.values) == value
            actions, values = by_action[to], by_value[to]
            # of m neurons the proof has exactly one learn a combination: the one that responds most
            chosen = jnp.argmax(mean(actions, sending) + values[:, value])
            own, others = mean(values[chosen], same), mean(values[chosen], ~same)
            fitting, rest = mean(actions[chosen], sending), mean(actions[chosen], ~sending)
            return jnp.stack([own, others, fitting, rest])

        states = jnp.arange(task.values)
        over_values = jax.vmap(learnt, (None, 0))
        return jax.vmap(over_values, (0, None))(states, states) / (model.clip * jnp.log(task.vocab))


class Promise(_OfTheory):
    """The largest V of a combination (g, y) among the neurons of its answer g(y)."""

    def __call__(self, now: Moment) -> Float[Array, "action value"]:
        model, task = theory(now)
        by_action, by_value = feature_magnitudes(now.params, model.neurons_per_class)
        table = jnp.asarray(task.group.table)

        def most(action: Array, value: Array) -> Float[Array, ""]:
            to = table[action, value]
            # Definition 6.2: half of each, as attention to the two clauses starts uniform
            return jnp.max(by_action[to, :, action] + by_value[to, :, value]) / 2

        over_values = jax.vmap(most, (None, 0))
        actions, values = jnp.arange(task.group.order), jnp.arange(task.values)
        return jax.vmap(over_values, (0, None))(actions, values)


class Combinations(_OfClauses):
    """The probability of g(y), for every g and y, in a chain of one action."""

    unit = "fraction"

    def __call__(self, now: Moment) -> Float[Array, "action value"]:
        _, task = read_by_clauses(now)
        actions, values = jnp.indices((task.group.order, task.values)).reshape(2, -1)
        # two variables stand for all: which they are should not matter
        variables = jnp.broadcast_to(jnp.arange(2), (len(actions), 2))
        answers = jnp.stack([values, jnp.asarray(task.group.table)[actions, values]], axis=1)
        predicates = jnp.stack([variables[:, 1], actions, variables[:, 0]], axis=1)[:, None]
        batch = task.batch(Sentence(predicates, jnp.stack([variables, answers], axis=2)))
        outputs = now.trace(batch).outputs[:, 0, task.variables :]
        probability = jnp.take_along_axis(jax.nn.softmax(outputs), answers[:, 1:], axis=1)
        return probability.reshape(task.group.order, task.values)


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
    # over heads before anything else, as the paper's heat maps are
    weights = jnp.mean(now.trace(batch).attention[0], axis=1)
    predicates, answers = sentences_of(task, batch)
    # exactly one predicate: the variables of a chain are distinct (Assumption 3.2)
    needed = answers[:, :, None, 0] == predicates[:, None, :, 2]
    chain = predicates.shape[1]
    predicate = jnp.sum(weights[..., :chain] * needed, axis=2)
    itself = jnp.diagonal(weights[..., chain:], axis1=1, axis2=2)
    return jnp.stack([predicate, itself], axis=2)


def _small() -> Lego:
    """What examples are tried on."""
    return Lego(action="S3", chain=2, variables=9, rows=6)
