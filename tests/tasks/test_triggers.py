"""Trigger tokens: what followed one follows it again."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from ontogeny import (
    Triggers,
)


@pytest.mark.parametrize("fixed", [True, False])
def test_what_followed_a_trigger_follows_it_again(fixed):
    task = Triggers(source="zipf 12", length=60, triggers=3, fixed=fixed, test_rows=32, reads=60)
    batch = jax.jit(lambda key: task.sample((), "test", key))(jr.key(0))
    inputs, at, targets, weights = map(np.asarray, batch[:4])
    for row, places, answers, counted in zip(inputs, at, targets, weights, strict=True):
        for place, answer, there in zip(places, answers, counted, strict=True):
            if there:
                before = np.flatnonzero(row[:place] == row[place])
                assert len(before) and all(row[before + 1] == answer)
                assert not fixed or row[place] in task.commonest
    assert weights.sum() > 300


def test_reading_few_places_draws_them_from_all_that_can_be_predicted():
    many, few = (
        jax.jit(Triggers(length=64, test_rows=64, reads=reads).sample, static_argnums=(0, 1))(
            (), "test", jr.key(0)
        )
        for reads in (64, 8)
    )
    assert jnp.array_equal(many.inputs, few.inputs)
    assert jnp.array_equal(few.weights.sum(1), jnp.minimum(many.weights.sum(1), 8))


def test_noise_comes_as_often_as_it_should_and_never_in_the_test():
    task = Triggers(length=100, triggers=1, noise=0.3, rows=400, test_rows=400, read="everywhere")
    train = task.sample((), "train", jr.key(1))
    after = np.asarray(train.targets)[np.asarray(train.inputs) == task.commonest[0]]
    assert np.mean(after == task.noise_token) == pytest.approx(0.3, abs=0.04)
    test = task.sample((), "test", jr.key(1))
    assert jnp.mean((test.targets == task.noise_token) * test.weights) < 0.02


def test_outputs_may_follow_the_bigrams_and_avoid_triggers():
    task = Triggers(triggers=2, outputs="bigram", again=False)
    triggers, outputs = task._rules(500, jr.key(0))
    assert not jnp.isin(outputs, triggers).any()
    space = task.bigrams.after[task.commonest[0]]
    assert (space[np.asarray(outputs[:, 0])] > 0).all()
