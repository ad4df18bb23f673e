"""Truncated weights, copied answers and answers known by heart."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mechanisms_setting import moment

from ontogeny import (
    Accuracy,
    BigramGap,
    BuiltHead,
    ConfigError,
    Copied,
    NoiseMargin,
    NoiseProbability,
    OneHotPair,
    SoftRank,
    Triggers,
    TruncatedAccuracy,
)
from ontogeny.probes.weights import truncated


def test_truncation_keeps_the_largest_directions():
    W = np.diag([4.0, 3.0, 2.0, 1.0])
    assert jnp.allclose(truncated(jnp.asarray(W), 0.5), np.diag([4.0, 3, 0, 0]), atol=1e-5)
    assert jnp.allclose(truncated(jnp.asarray(W), 0.0), 0.0)
    assert jnp.allclose(truncated(jnp.asarray(W), 1.0), W, atol=1e-5)


def test_without_its_last_layer_a_noisy_model_answers_from_context():
    """A built head, and a feed-forward layer that always says noise."""
    task = Triggers(source="uniform 12", length=20, triggers=1, again=False, test_rows=64)
    now = moment(task, OneHotPair(width=3 * 12 + 2 * 20, mlp2="linear"))
    built = BuiltHead().solve(now)
    noise = jnp.outer(built.unembed[2], built.tokens[task.commonest[0]])
    loud = built.mlp2._replace(weight=90.0 * noise)
    now = now.with_params(built._replace(mlp2=loud))

    @jax.jit
    def look():
        cut, kept = (TruncatedAccuracy("mlp2.weight", keep=keep)(now) for keep in (0.0, 1.0))
        whole, noise = Accuracy("test")(now), NoiseProbability()(now)
        return whole, noise, cut, kept, SoftRank("mlp2.weight")(now), NoiseMargin()(now)

    whole, noise, cut, kept, rank, margin = look()
    assert whole < 0.2 and noise > 0.8 and cut == 1 and kept < 0.2
    assert jnp.allclose(rank, 1.0, atol=1e-5) and jnp.allclose(margin, 90.0, atol=1e-3)
    with pytest.raises(ConfigError, match="'mlp2' is not a matrix"):
        SoftRank("mlp2")(now)


def test_answers_are_copied_or_known_by_heart():
    """A built head says what it looks at; a layer that holds the logarithms knows the bigrams."""
    task = Triggers(source="zipf 12", length=20, triggers=2, again=False, test_rows=32)
    now = moment(task, OneHotPair(width=3 * 12 + 2 * 20, mlp2="linear"))
    built = BuiltHead().solve(now)
    after = jnp.asarray(task.bigrams.after)
    learnt = built.unembed.T @ jnp.log(jnp.maximum(after, 1e-30)).T @ built.tokens

    @jax.jit
    def look(weight):
        seen = now.with_params(built._replace(mlp2=built.mlp2._replace(weight=weight)))
        return Copied()(seen), BigramGap()(seen)

    copied, gap = look(jnp.zeros_like(learnt))
    plain = np.delete(np.arange(12), task.commonest)
    even = np.mean(np.sum(np.asarray(after)[plain] * np.log(np.asarray(after)[plain] * 12), axis=1))
    assert copied == 1 and gap == pytest.approx(even, abs=1e-4)
    assert look(learnt)[1] == pytest.approx(0, abs=1e-4)
    assert look(100 * learnt)[0] < 0.5  # so loud that nothing else is heard
