"""Probes of LEGO: a mechanism that is written down is found by every one."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lego_setting import NARROW, SMALL, TINY, asked, at, stepped

from ontogeny import (
    AttentionLeakage,
    BlockSparse,
    ClauseAttention,
    Combinations,
    ConfigError,
    Decoder,
    Diagonals,
    Features,
    Gap,
    GradientDescent,
    Lego,
    Promise,
    Retrieval,
    RolloutAccuracy,
    RolloutAccuracyByStep,
)
from ontogeny.theory.dilution import diluted, weight


def by_hand(task, model, strength=50.0, level=10.0):
    """Attention written down; and neurons for S3 or C_n: one for each value and answer."""
    params = at(task, model).params
    x, y, m = task.variables, task.values, model.neurons_per_class
    nothing = jax.tree.map(jnp.zeros_like, params.mlp)
    made = np.zeros((x, (x + y), m))
    made[range(x), range(x), 0] = level
    action, value = np.full((task.group.order, x + y, m), -level), np.full((y, x + y, m), -level)
    action[:, :x], value[:, :x] = 0, 0
    for g in range(task.group.order):
        for state in range(y):
            action[g, x + task.group.table[g, state], state] = level
    value[range(y), x:, range(y)] = level
    flat = [jnp.asarray(t.reshape(len(t), -1), jnp.float32) for t in (made, action, value)]
    neurons = nothing._replace(made=flat[0], action=flat[1], value=flat[2])
    diagonal = strength * jnp.eye(x)
    return params._replace(q43=diagonal, q44=diagonal, mlp=neurons)


@pytest.mark.parametrize("action", ["C3", "S3"])
def test_the_mechanism_written_down_is_found_by_every_probe(action):
    task = Lego(action=action, chain=2, variables=9, rows=32)
    model = BlockSparse(neurons_per_class=3, clip=4.0)
    now = at(task, model).with_params(by_hand(task, model))
    far, any_order, by_step, looked, kept, lost, gap, diagonals = asked(
        now,
        RolloutAccuracy("8 steps"),
        RolloutAccuracy("permuted"),
        RolloutAccuracyByStep("4 steps"),
        Retrieval("permuted", "predicate"),
        Retrieval("permuted", "itself"),
        AttentionLeakage("8 steps"),
        Gap("4 steps"),
        Diagonals(),
    )
    assert far == 1 and any_order == 1 and jnp.array_equal(by_step, jnp.ones(4))
    assert jnp.allclose(looked, 0.5, atol=1e-5) and jnp.allclose(kept, 0.5, atol=1e-5)
    assert lost == pytest.approx(0, abs=1e-5) and gap == pytest.approx(0, abs=1e-5)
    assert diagonals.tolist() == [[50.0, 0.0], [50.0, 0.0]]
    heat, features, promise, chances = asked(
        now, ClauseAttention("2 steps"), Features(), Promise(), Combinations()
    )
    assert jnp.allclose(heat, jnp.array([[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5]]), atol=1e-5)
    level = 10 / (4 * np.log(task.vocab))
    assert jnp.allclose(features, level * jnp.array([1, -1, 1, -1]), atol=1e-4)
    assert jnp.allclose(promise, 10.0)
    assert jnp.all(chances > 0.99)


def test_attention_elsewhere_is_counted():
    now = at(SMALL, TINY)  # attends to all clauses alike
    reads = jnp.arange(4)
    even = 1 / (4 + 1 + reads)
    predicate, itself, lost, gap = asked(
        now,
        Retrieval("4 steps", "predicate"),
        Retrieval("4 steps", "itself"),
        AttentionLeakage("4 steps"),
        Gap("4 steps"),
    )
    assert jnp.allclose(predicate, even, atol=1e-6) and jnp.allclose(itself, even, atol=1e-6)
    assert lost == pytest.approx(float(1 - 2 * even.mean()), abs=1e-6)
    assert gap == pytest.approx(0, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-3, 3.0), st.integers(2, 30), st.integers(1, 60))
def test_what_a_clause_weighs_predicts_what_is_lost(each, short, long):
    found = weight(diluted(np.array([each]), short))
    assert found == pytest.approx(each, rel=1e-6)
    lost = diluted(np.array([0.5]), long)[0]  # as much as each of the two that are needed
    assert np.allclose(lost, 1 - 2 / (long + 1 + np.arange(long)))


def test_probes_of_the_theorems_model_say_so():
    now = at(SMALL, NARROW)
    for probe in (Diagonals(), Features(), Promise()):
        with pytest.raises(ConfigError, match="about BlockSparse"):
            probe(now)
    with pytest.raises(ConfigError, match="models of clauses"):
        RolloutAccuracy("train")(at(SMALL, Decoder(width=8, heads=2)))


def test_descent_on_one_step_moves_only_neurons():
    now = at(replace(SMALL, chain=1), TINY)
    stage = GradientDescent(steps=1, learning_rate=1.0, split="1 step", trainable=("mlp",))
    params = stepped(stage, now)
    assert not params.q43.any() and not eqx.tree_equal(params.mlp, now.params.mlp)
