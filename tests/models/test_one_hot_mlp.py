"""Perceptrons on one-hot strings."""

import jax.numpy as jnp
import jax.random as jr
from templates_setting import TASK, moment, outputs, trained

from ontogeny import (
    AdamW,
    OneHotMLP,
)


def test_a_perceptron_cannot_tell_unseen_tokens_apart():
    """Lemma I.7, exactly: exchange the initial weights of unseen tokens, train, and the network
    says of any unseen string what the other says of the string with tokens exchanged."""
    model, stage = OneHotMLP(width=16), AdamW(steps=20, learning_rate=0.01)
    now = moment(model)
    first = TASK.vocab - 2 * TASK.test_rows  # the first token that training never shows
    exchange = jnp.concatenate(
        [jnp.arange(first), first + jr.permutation(jr.key(5), TASK.vocab - first)]
    )
    other = now.with_params(now.params._replace(tokens=now.params.tokens[:, exchange]))
    one, two = trained(now, stage), trained(other, stage)
    test = now.batch("test")
    swapped = test._replace(inputs=exchange[test.inputs])
    assert not jnp.array_equal(test.inputs, swapped.inputs)
    assert jnp.array_equal(outputs(two, test), outputs(one, swapped))


def test_told_which_places_are_equal_a_perceptron_sees_it():
    model = OneHotMLP(width=8, incidence=1.0)
    params = model.init(TASK, jr.key(0))
    params = params._replace(tokens=jnp.zeros_like(params.tokens))
    says = lambda *string: model(params, jnp.array(string), jnp.array([2])).outputs  # noqa: E731
    assert jnp.array_equal(says(1, 2, 1), says(3, 4, 3))
    assert not jnp.array_equal(says(1, 2, 1), says(1, 2, 2))
