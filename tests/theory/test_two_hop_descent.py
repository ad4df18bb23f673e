"""Descent on two hops in forty numbers is descent on all parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ontogeny import (
    EmbeddingMLP,
    TwoHop,
)
from ontogeny.core.types import Moment
from ontogeny.models.embedding_mlp import Factors
from ontogeny.theory.two_hop_descent import composed, descent, flow


@pytest.mark.parametrize("identity", [True, False])
@pytest.mark.parametrize(("N", "ratio"), [(3, 1.0), (6, 1.0), (4, 2.5)])
def test_descent_in_a_few_numbers_is_descent_on_all_parameters(N, ratio, identity):
    """From orthogonal rows, as a wide network has them, on the task itself."""
    size, learning_rate, steps = 0.3, 1.0, 60
    task = TwoHop(subjects=N, identity=float(identity), ratio=ratio)
    world = task.world(jax.random.key(0))
    wide = task.vocab + task.answers
    axes = size**0.5 * jnp.eye(wide)
    begun = Factors(axes[: task.vocab], axes[task.vocab :].T)
    now = Moment(task, world, EmbeddingMLP(width=wide), begun, jax.random.key(1))
    batch = now.batch("train")
    slope = jax.jit(jax.grad(lambda params: now.with_params(params).loss(batch)))
    params = begun
    for _ in range(steps):
        params = jax.tree.map(lambda x, g: x - learning_rate * g, params, slope(params))
    *_, reduced = descent(N, steps, learning_rate, size, identity, ratio)
    subjects, bridges, objects = (np.asarray(names) for names in world.names)
    rows = np.concatenate([subjects, bridges, task.symbols + np.arange(2)])
    columns = np.concatenate([bridges, objects])
    whole = np.asarray(params.embed @ params.project)[rows][:, columns]
    np.testing.assert_allclose(reduced.twelve(N).matrix(N), whole, atol=2e-5)


def test_flow_is_the_limit_of_small_steps_and_takes_a_million_subjects():
    *_, stepped = descent(6, 4000, 0.005, 0.3)
    (flowed,) = flow(6, [20.0], 0.3)
    np.testing.assert_allclose(stepped.twelve(6), flowed.twelve(6), atol=2e-3)
    times = [10.0**power for power in range(10)]
    bridged, plain = (flow(10**6, times, 0.05, identity)[-1] for identity in (True, False))
    assert composed(plain.twelve(10**6)) < composed(bridged.twelve(10**6)) < 0


def test_a_composition_leads_as_the_templates_say():
    *_, reduced = descent(5, 300, 1.0, 0.3)
    matrix = reduced.twelve(5).matrix(5)
    logits = matrix[:5] + matrix[10] + matrix[11]  # s r1 r2
    right = logits[np.arange(5), 5 + np.arange(5)]
    logits[np.arange(5), 5 + np.arange(5)] = -np.inf
    np.testing.assert_allclose(composed(reduced.twelve(5)), right - logits.max(axis=1))
