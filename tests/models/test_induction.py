"""Induction heads: tables, heads built by hand, and their training."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from mechanisms_setting import moment

from ontogeny import (
    Accuracy,
    Associations,
    BigramGap,
    BuiltHead,
    ConfigError,
    Decoder,
    InductionPair,
    InductionScore,
    LinearMemory,
    MemoryRecall,
    Momentum,
    NoiseMargin,
    NoiseProbability,
    OneHotPair,
    PopulationStep,
    PreviousTokenScore,
    SoftRank,
    Triggers,
)
from ontogeny.bench.speed import _Direct


def test_tables_are_the_direct_computation():
    task = Triggers(length=40, rows=4, reads=40)
    ours, direct = (moment(task, model(width=16)) for model in (InductionPair, _Direct))
    batch = ours.batch("train")

    def both(now):
        def loss(params):
            return now.with_params(params).loss(batch)

        return now.trace(batch), jax.value_and_grad(loss)(now.params)

    close = jax.tree.map(
        lambda a, b: jnp.allclose(a, b, atol=1e-5), jax.jit(both)(ours), jax.jit(both)(direct)
    )
    assert all(jax.tree.leaves(close))


LOOKS = {
    **{name: MemoryRecall(name) for name in ("copying", "matching", "previous")},
    "previous token": PreviousTokenScore(),
    "induction": InductionScore(),
    "success": Accuracy("test"),
}


def test_a_head_built_by_hand_scores_one_everywhere():
    task = Triggers(source="uniform 12", length=20, triggers=2, again=False, test_rows=64)
    now = moment(task, OneHotPair(width=3 * 12 + 2 * 20))

    @jax.jit
    def look(params):
        return {name: probe(now.with_params(params)) for name, probe in LOOKS.items()}

    assert max(look(now.params).values()) < 0.9
    assert set(map(float, look(BuiltHead().solve(now)).values())) == {1.0}


def test_heads_and_probes_say_what_they_are_for():
    task = Triggers(source="uniform 12", length=20, triggers=2, test_rows=8)
    with pytest.raises(ConfigError, match="need 76"):
        OneHotPair(width=50).init(task, jr.key(0))
    with pytest.raises(ConfigError, match="starts at 0"):
        OneHotPair(width=80, mlp2="relu").init(task, jr.key(0))
    now = moment(task, Decoder(width=8, heads=2, depth=1))
    for probe, wrong in (
        (MemoryRecall(), "is about InductionPair"),
        (PreviousTokenScore(), "before the last of 1"),
        (NoiseMargin(), "last MLP"),
        (BigramGap(), "last MLP"),
        (InductionScore(), "the model has 1"),
        (SoftRank("forward3"), "no matrix 'forward3'"),
    ):
        with pytest.raises(ConfigError, match=wrong):
            probe(now)
    with pytest.raises(ConfigError, match="BuiltHead builds"):
        BuiltHead().solve(now)
    assert 0 < NoiseProbability()(now) < 1


def test_planted_triggers_are_always_there_and_nothing_to_predict_costs_nothing():
    task = Triggers(source="uniform 50", length=9, triggers=1, again=False, planted=True, rows=40)
    batch = jax.jit(lambda key: task.sample((), "train", key))(jr.key(0))
    assert (batch.inputs[:, 0] == task.commonest[0]).all()
    ends = batch.inputs[:, -1] == task.commonest[0]
    assert jnp.array_equal(ends, batch.inputs[:, -2] != task.commonest[0]) and ends.sum() > 35
    assert (batch.weights.sum(axis=1) >= ends).all()
    empty = batch._replace(weights=jnp.zeros_like(batch.weights))
    assert task.loss(jnp.ones((40, 9, 50)), empty) == 0


def test_a_population_step_is_the_mean_of_its_batches_taken_once():
    task = Triggers(source="uniform 6", length=10, triggers=1, planted=True, rows=4)
    now = moment(task, InductionPair(width=8))
    stage = PopulationStep(steps=3, learning_rate=0.5, trainable=("out2",))
    params, _ = jax.jit(lambda: stage.advance(now, stage.init(now), jnp.zeros((), jnp.int32), 3))()

    def loss(out2, key):
        then = now._replace(key=key, params=now.params._replace(out2=out2))
        return then.loss(then.batch("train"))

    keys = [jr.fold_in(now.key, step) for step in range(3)]
    slopes = jax.jit(jax.grad(loss))
    slope = sum(slopes(now.params.out2, key) for key in keys) / 3
    assert jnp.allclose(params.out2, now.params.out2 - 0.5 * slope, atol=1e-6)
    assert jnp.array_equal(params.key1, now.params.key1)


def test_momentum_gathers_gradients():
    now = moment(Associations(most=6, items=6), LinearMemory(width=4))
    batch = now.batch("train")
    slope = jax.grad(lambda w: now.with_params(now.params._replace(weights=w)).loss(batch))
    stage = Momentum(
        steps=2, learning_rate=0.1, momentum=0.5, weight_decay=0.2, trainable=("weights",)
    )
    params, _ = stage.advance(now, stage.init(now), jnp.zeros((), jnp.int32), 2)
    weights, speed = now.params.weights, 0.0
    for _ in range(2):
        speed = 0.5 * speed + slope(weights) + 0.2 * weights
        weights = weights - 0.1 * speed
    assert jnp.allclose(params.weights, weights, atol=1e-6)
