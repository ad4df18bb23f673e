"""A fast path equals the definition: outputs, residual, attention and gradients of both."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from components import components

from ontogeny import (
    GPT2,
    Analogy,
    ConfigError,
    Experiment,
    GradientDescent,
    Lego,
    Loss,
    TwoHop,
    execute,
)
from ontogeny.core.types import Batch, FirstTokens, Model

EXAMPLES = [
    pytest.param(example, id=f"{kind.__name__}{number}")
    for kind in components(Model, "ontogeny.models")
    if kind.batched is not Model.batched
    for number, example in enumerate(kind.examples())
]
SPELLED = TwoHop(subjects=4, tokens_per_entity=2)  # rows of five tokens that begin with one of four


def compared(model, task):
    """The fast path and the definition, on rows read in any order, at parameters that are all
    alive; without the batch's own knowledge of its first tokens, and with it."""
    params = jax.tree.map(
        lambda leaf: leaf + 0.1 * jnp.sin(jnp.arange(leaf.size)).reshape(leaf.shape),
        model.init(task, jr.key(0)),
    )
    batch = task.sample(task.world(jr.key(1)), "train", jr.key(2))
    at = batch.at
    if not isinstance(task, Lego):  # where answers are read, come what may
        at = jr.randint(jr.key(3), (len(batch.inputs), 3), 0, batch.inputs.shape[1])

    def gone_through(run):
        def weighed(params):
            trace = run(params)
            parts = jax.tree.leaves(trace)
            keys = jr.split(jr.key(4), len(parts))
            weights = [jr.normal(k, part.shape) for k, part in zip(keys, parts, strict=True)]
            return sum(map(jnp.vdot, parts, weights)), trace

        return jax.jit(jax.grad(weighed, has_aux=True))(params)

    definition = gone_through(lambda p: jax.vmap(model, (None, 0, 0))(p, batch.inputs, at))
    for first in (None,) if batch.first is None else (None, batch.first):
        found = gone_through(lambda p, f=first: model.batched(p, batch.inputs, at, f))
        assert jax.tree.structure(found) == jax.tree.structure(definition)
        for ours, wanted in zip(*map(jax.tree.leaves, (found, definition)), strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=2e-4, atol=2e-4 * _size(wanted))


def _size(array):
    return max(1e-3, float(jnp.max(jnp.abs(array), initial=0.0)))


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_fast_path_is_the_definition(example):
    compared(example.component, example.task or SPELLED)


class Careless(GPT2):
    """Reads a little wrong."""

    def batched(self, params, inputs, at, first=None):
        return super().batched(params, inputs, jnp.minimum(at, 2), first)


class Forgetful(GPT2):
    """Gives the right outputs, and no gradient to the positions."""

    def batched(self, params, inputs, at, first=None):
        still = params._replace(positions=jax.lax.stop_gradient(params.positions))
        return super().batched(still, inputs, at, first)


@pytest.mark.parametrize("wrong", [Careless, Forgetful])
def test_a_fast_path_that_differs_is_found_out(wrong):
    with pytest.raises(AssertionError):
        compared(wrong(width=8, depth=2, heads=2, scale=0.5), SPELLED)


# ------------------------------------------------------------------------------ first tokens


def rows(*inputs, first=None):
    inputs = jnp.array(inputs)
    ones = jnp.ones((len(inputs), 1), int)
    return Batch(inputs, ones, ones, 1.0 * ones, first)


def begins(batch):
    return (jnp.asarray(batch.first.tokens)[batch.first.which] == batch.inputs[:, 0]).all()


def test_first_tokens_stay_right_when_rows_are_taken_and_batches_concatenated():
    known = np.array([5, 7])
    one = rows([5, 1], [7, 2], [5, 3], first=FirstTokens(known, jnp.array([0, 1, 0])))
    same = rows([7, 4], first=FirstTokens(known, jnp.array([1])))
    other = rows([9, 4], [8, 0], first=FirstTokens(jnp.array([8, 9]), jnp.array([1, 0])))
    assert begins(one.take(jnp.array([2, 1, 1])))
    together, apart = Batch.concatenate([one, same]), Batch.concatenate([one, other])
    assert begins(together) and len(together.first.tokens) == 2
    assert begins(apart) and len(apart.first.tokens) == 4
    assert Batch.concatenate([one, rows([1, 2])]).first is None


class Mistaken(Analogy):
    """Says that every row begins with a source."""

    def sample(self, world, split, key):
        batch = super().sample(world, split, key)
        sources = np.arange(self.tuples)
        return batch._replace(first=FirstTokens(sources, batch.first.which))


class Shifted(Analogy):
    """Says that every row begins with the token after its own."""

    def sample(self, world, split, key):
        batch = super().sample(world, split, key)
        return batch._replace(first=batch.first._replace(tokens=batch.first.tokens + 1))


@pytest.mark.parametrize("kind", [Mistaken, Shifted])
def test_a_batch_that_is_wrong_about_its_first_tokens_is_an_error(kind):
    model = GPT2(width=8, depth=1, heads=2)
    training, probes = (GradientDescent(steps=1, learning_rate=0.1),), {"loss": Loss("train")}
    wrong = Experiment(kind(tuples=4), model, training, probes, evaluations=1)
    with pytest.raises(ConfigError, match=f"{kind.__name__}: the batch of split 'train' is wrong"):
        execute({"it": wrong}, seeds=1)
