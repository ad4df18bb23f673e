"""Weights as associative memories."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from mechanisms_setting import moment

from ontogeny import (
    Associations,
    ConfigError,
    LemmaError,
    LinearMemory,
)
from ontogeny.theory import memory


def test_the_lemma_is_the_gradient():
    rng = np.random.default_rng(0)
    U, E = rng.normal(size=(7, 5)), rng.normal(size=(9, 5))
    often, true = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(7), size=9)
    W = jnp.asarray(rng.normal(size=(5, 5)))

    def loss(W):
        return -jnp.sum(often[:, None] * true * jax.nn.log_softmax(E @ W.T @ U.T, axis=1))

    predicted = np.asarray(jax.nn.softmax(E @ W.T @ U.T, axis=1))
    said = memory.gradient(U, E, predicted, true, often)
    np.testing.assert_allclose(jax.grad(loss)(W), said, atol=1e-6)
    now = moment(Associations(most=9, items=9), LinearMemory(width=5))
    assert jax.jit(LemmaError())(now._replace(params=now.params._replace(weights=W))) < 1e-6


def test_stored_pairs_are_recalled_and_interference_is_as_predicted():
    rng = np.random.default_rng(0)
    axes = np.eye(12)
    wanted = rng.integers(0, 6, 6)
    assert (
        memory.recalled(memory.stored(axes[6:], axes[:6], wanted), axes[6:], axes[:6], wanted) == 1
    )

    def one_step(items, width):
        U, E = (rng.normal(size=(items, width)) for _ in range(2))
        U, E = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (U, E))
        W = memory.stored(U - U.mean(axis=0), E, np.arange(items))
        return memory.recalled(W, U, E, np.arange(items))

    for items, width in ((100, 64), (246, 64), (700, 96)):
        seen = np.mean([one_step(items, width) for _ in range(6)])
        assert memory.one_step_recall(items, width) == pytest.approx(seen, abs=0.04)


def test_the_guide_lines_are_solved():
    items = memory.capacity(32**2, memory.LINEAR)
    assert items * math.log(items) == pytest.approx(32**2 / 1.3)


def test_items_beyond_the_number_neither_count_nor_answer():
    task = Associations(most=8, items=5)
    batch = task.sample(task.world(jr.key(0)), "train", jr.key(0))
    outputs = jr.normal(jr.key(1), (8, 1, 8)).at[:, :, 6].set(99.0)
    assert task.loss(outputs, batch) < 10
    few = Associations(most=5, items=5)
    same = few.sample(few.world(jr.key(0)), "train", jr.key(0))
    assert jnp.allclose(task.loss(outputs, batch), few.loss(outputs[:5, :, :5], same))
    with pytest.raises(ConfigError, match="above most"):
        Associations(most=4, items=5)
