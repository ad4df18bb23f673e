"""Training on chains: self-training, labels, and what is required before it."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from lego_setting import NARROW, SMALL, at, drawn, stepped

from ontogeny import (
    Accuracy,
    AdamW,
    Analogy,
    ChainAdamW,
    ChainGradientDescent,
    ClauseTransformer,
    ConfigError,
    Experiment,
    Lego,
    Loss,
    OneLayer,
    RequireAccuracy,
    RolloutAccuracy,
    execute,
)
from ontogeny.models.clauses import sentences_of
from ontogeny.models.rollout import rollout


def test_own_labels_are_the_teachers():
    now = at(SMALL, NARROW)
    stage = ChainAdamW(steps=2, learning_rate=0.1, split="4 steps", labels="self")
    memory = stage.init(now)
    move = jax.jit(lambda params, memory: stage.step(now.with_params(params), memory))
    params, after = move(now.params, memory)
    assert eqx.tree_equal(after.teacher, now.params) and not eqx.tree_equal(params, now.params)
    batch = drawn(now.task, "4 steps")
    found = jax.jit(lambda params: rollout(NARROW, params, batch, SMALL))(now.params)
    taught = SMALL.batch(
        sentences_of(SMALL, batch)._replace(
            answers=jnp.concatenate([sentences_of(SMALL, batch).answers[:, :1], found], axis=1)
        )
    )
    wanted = jax.jit(jax.grad(lambda p: now.with_params(p).loss(taught)))(now.params)
    step = ChainGradientDescent(steps=1, learning_rate=1.0, split="4 steps", labels="self")
    reached = stepped(step, now)
    taken = jax.tree.map(lambda a, b: a - b, now.params, reached)
    for a, b in zip(jax.tree.leaves(taken), jax.tree.leaves(wanted), strict=True):
        assert jnp.allclose(a, b, atol=1e-5)


def test_values_alone_teach_no_variables_and_one_answer_alone_counts():
    now = at(SMALL, NARROW)
    stage = ChainGradientDescent(
        steps=1, learning_rate=1.0, counted="value", answer=2, split="4 steps"
    )
    params = stepped(stage, now)
    moved = params.unembed - now.params.unembed
    assert not moved[:, : SMALL.variables].any() and moved[:, SMALL.variables :].any()
    batch = drawn(now.task, "4 steps")
    only = batch._replace(weights=jnp.zeros((6, 4)).at[:, 1].set(1.0))
    slope = jax.grad(lambda p: SMALL.value_loss(now.with_params(p).trace(only).outputs, only))
    assert jnp.allclose(moved, -jax.jit(slope)(now.params).unembed, atol=1e-5)


def test_true_labels_are_plain_training():
    now = at(SMALL, NARROW)
    ours, plain = ChainAdamW(steps=1, learning_rate=0.1), AdamW(steps=1, learning_rate=0.1)
    a, b = stepped(ours, now), stepped(plain, now)
    assert eqx.tree_equal(a, b, rtol=1e-6, atol=1e-6)


def test_a_model_that_can_do_nothing_does_not_teach_itself():
    training = (
        AdamW(steps=2, learning_rate=1e-3),
        RequireAccuracy("2 steps", least=0.9),
        ChainAdamW(steps=2, learning_rate=1e-3, split="4 steps", labels="self"),
    )
    probes = {"rollout": RolloutAccuracy("2 steps")}
    run = execute({"it": Experiment(SMALL, NARROW, training, probes, evaluations=1)}, 1)["it"]
    assert "has nothing to teach itself" in run.failures[0]
    able = (training[0], RequireAccuracy("2 steps", least=0.0), training[2])
    run = execute({"it": Experiment(SMALL, NARROW, able, probes, evaluations=1)}, 1)["it"]
    assert not run.failures


def test_stages_of_chains_want_chains():
    stage = ChainAdamW(steps=1, learning_rate=0.1)
    now = at(replace(SMALL, chain_of_thought=False), NARROW)
    with pytest.raises(ConfigError, match="chain_of_thought=True"):
        stage.step(now, stage.init(now))
    now, late = at(SMALL, NARROW), ChainAdamW(steps=1, learning_rate=0.1, answer=3)
    with pytest.raises(ConfigError, match="'train' have 2 answers"):
        late.step(now, late.init(now))
    now = at(Analogy(tuples=3), OneLayer(width=14))
    with pytest.raises(ConfigError, match="models of clauses"):
        stage.step(now, stage.init(now))


def test_one_step_is_learnt_in_no_time():
    """A group of two, one action: all there is to training, once, from end to end."""
    task = Lego(action="C2", chain=1, variables=4, rows=64)
    probes = {
        "loss": Loss("train"),
        "rollout": RolloutAccuracy("1 step"),
        "told": Accuracy("1 step"),
    }
    stage = AdamW(steps=300, learning_rate=1e-2)
    run = execute(
        {"it": Experiment(task, ClauseTransformer(width=16, mlp_width=16), (stage,), probes)}, 1
    )
    assert run["it"].final("rollout").values > 0.99 and run["it"].final("told").values > 0.99
