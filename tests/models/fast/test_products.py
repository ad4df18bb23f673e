"""Products with gradients of their own: they are what would be derived."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from ontogeny.models.fast.products import attention, product


def drawn(*shapes):
    keys = jr.split(jr.key(0), len(shapes))
    return [jr.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]


def same_gradients(ours, theirs, *arguments):
    """Of numbers that weigh every part of what is found differently."""

    def weighed(function):
        def total(arguments):
            found = jax.tree.leaves(function(*arguments))
            return sum(jnp.sum(part * drawn(part.shape)[0]) for part in found)

        return jax.jit(jax.value_and_grad(total))(arguments)

    (a, da), (b, db) = weighed(ours), weighed(theirs)
    assert jnp.allclose(a, b, rtol=1e-5)
    for x, y in zip(da, db, strict=True):
        assert jnp.any(x != 0) and jnp.allclose(x, y, atol=1e-5)


@pytest.mark.parametrize("batch", [(), (4,)])
@pytest.mark.parametrize(("into", "out"), [(3, 5), (5, 3)])
def test_a_products_gradients_are_those_of_matmul(into, out, batch):
    same_gradients(product, jnp.matmul, *drawn((*batch, 7, into), (*batch, into, out)))


def plainly(queries, keys, values, seen):
    scores = queries @ jnp.swapaxes(keys, -1, -2) / keys.shape[-1] ** 0.5
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
    return weights @ values, weights


@pytest.mark.parametrize("batch", [(), (2, 4)])
def test_attentions_gradients_are_those_of_softmax(batch):
    seen = jnp.arange(6) <= jnp.array([0, 3, 5])[:, None]
    arguments = drawn((*batch, 3, 4), (*batch, 6, 4), (*batch, 6, 5))
    ours, theirs = (lambda *x, f=f: f(*x, seen) for f in (attention, plainly))
    same_gradients(ours, theirs, *arguments)
    if batch:
        by_row = jax.vmap(jax.vmap(ours))
        same_gradients(by_row, theirs, *arguments)
