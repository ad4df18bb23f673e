"""Facts: told somewhere, answered by their table, hallucinated by relation."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from mechanisms_setting import moment

from ontogeny import (
    ConfigError,
    Facts,
    Hallucination,
    RelationEntropy,
    RelationLoss,
    RelationMass,
    UniformAttention,
)
from ontogeny.core.types import Trace
from ontogeny.theory.hallucination import sequential


def test_facts_are_told_somewhere_and_answered_by_their_table():
    task = Facts(most=6, subjects=5, relations=4, choices=3, length=7, rows=200)
    world = task.world(jr.key(0))
    batch = task.sample(world, "train", jr.key(1))
    inputs, answers = np.asarray(batch.inputs), np.asarray(batch.targets)[:, 0]
    start = task.answers
    for row, answer in zip(inputs, answers, strict=True):
        (subject,) = row[(row >= start) & (row < start + 5)] - start
        (relation,) = row[(row >= start + 6) & (row < start + 10)] - start - 6
        assert answer == relation * 3 + world[subject, relation]
    assert (inputs[:, -1] == task.vocab - 1).all()
    assert len({int(np.flatnonzero((row >= start) & (row < start + 6))[0]) for row in inputs}) == 6
    with pytest.raises(ConfigError, match="3 answers for each of 6 relations"):
        Facts(most=6, subjects=5, relations=4, choices=3, tokens=20)
    with pytest.raises(ConfigError, match="relations=9 is above most=6"):
        Facts(most=6, subjects=5, relations=9)


class Says(UniformAttention):
    """Answers as told: by row of a small table, picked by the relation."""

    knows: str = "relation"

    def __call__(self, params, inputs, at):
        start = 24
        asked = jnp.max(jnp.where((inputs >= start + 8) & (inputs < start + 12), inputs, 0))
        block = jnp.arange(24) // 3 == asked - start - 8
        outputs = jnp.where(block, 0.0, -50.0) if self.knows == "relation" else jnp.zeros(24)
        return Trace(outputs[None], outputs[None, None])


@pytest.mark.parametrize("knows", ["relation", "nothing"])
def test_one_who_knows_the_relation_alone_hallucinates(knows):
    task = Facts(
        most=8, subjects=6, relations=4, choices=3, table="in order", length=6, test_rows=64
    )
    now = moment(task, Says(knows=knows))
    probes = (RelationEntropy(), RelationMass(), RelationLoss(), Hallucination())
    entropy, *guesses = jax.jit(lambda: [probe(now) for probe in probes])()
    assert jnp.allclose(entropy, math.log(3), atol=1e-3)
    expected = [1, 0, 0] if knows == "relation" else [0.25, math.log(4), math.log(4)]
    assert jnp.allclose(jnp.array(guesses), jnp.array(expected), atol=1e-3)


def test_six_numbers_are_descent_itself():
    """The map against autodiff on all pairs of a subject and a relation, without noise."""
    S, R, D, learning_rate, start = 6, 3, 3, 0.5, 0.3
    subject, relation = (axis.ravel() for axis in np.meshgrid(range(S), range(R), indexing="ij"))
    answer = relation * D + subject * D // S

    def loss(weights):
        attend, says = weights
        tokens = jnp.stack([subject, S + relation], axis=1)
        outputs = jnp.sum(attend[tokens][..., None] * says[tokens], axis=1)
        chances = jax.nn.log_softmax(outputs, axis=1)
        return -jnp.mean(chances[jnp.arange(S * R), answer])

    weights = jnp.full(S + R, start), jnp.full((S + R, R * D), start)
    found = []
    slope = jax.jit(jax.value_and_grad(loss))
    for _ in range(40):
        value, slopes = slope(weights)
        found.append(float(value))
        weights = jax.tree.map(lambda w, g: w - learning_rate * g, weights, slopes)
    theory = sequential(S, R, D, learning_rate, start, 39)
    np.testing.assert_allclose(theory.loss, found, rtol=1e-4)
    assert found[-1] < found[0] - 0.5
    assert np.isnan(theory.falls_below(-1.0))
    step = theory.falls_below(found[20] + 1e-6)
    assert step == 20 and theory.falls_below(found[20] + 1e-6, every=15) == 30
