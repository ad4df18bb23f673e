"""Descent on two hops in a few numbers is descent on all parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ontogeny import (
    EmbeddingMLP,
    TwoHop,
)
from ontogeny.claims.papers.identity_bridge.emergence import COMPLEXITIES_LOST, flips
from ontogeny.core.types import Moment
from ontogeny.models.embedding_mlp import Factors
from ontogeny.theory.two_hop_descent import Descent
from ontogeny.theory.two_hop_symmetry import COMPOSED, Structure


@pytest.mark.parametrize(
    ("structure", "ratio"),
    [
        (Structure(3), 1.0),
        (Structure(6, form="none"), 1.0),
        (Structure(4), 2.5),
        (Structure(3, 2, "first relation"), 1.0),
        (Structure(2, 3, "own relation"), 2.0),
    ],
    ids=str,
)
def test_descent_in_a_few_numbers_is_descent_on_all_parameters(structure, ratio):
    """From orthogonal rows, as a wide network has them, on the task itself."""
    size, learning_rate, steps = 0.3, 1.0, 60
    N, complexity, form = structure
    told = form != "none"
    task = TwoHop(
        subjects=N,
        complexity=complexity,
        identity=float(told),
        form=form if told else "alone",
        ratio=ratio,
    )
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
    *_, reduced = Descent(structure, ratio).path(steps, learning_rate, size)
    subjects, bridges, objects = (np.asarray(names) for names in world.names)
    relations = task.symbols + np.arange(task.vocab - task.symbols)
    rows = np.concatenate([subjects, bridges, relations])
    columns = np.concatenate([bridges, objects])
    whole = np.asarray(params.embed @ params.project)[rows][:, columns]
    np.testing.assert_allclose(structure.matrix(reduced), whole, atol=2e-5)


def test_flow_is_the_limit_of_small_steps_and_takes_a_million_subjects():
    *_, stepped = Descent(Structure(6)).path(4000, 0.005, 0.3)
    (flowed,) = Descent(Structure(6)).flow([20.0], 0.3)
    np.testing.assert_allclose(stepped, flowed, atol=2e-3)
    times = [10.0**power for power in range(10)]
    many, none = Structure(10**6), Structure(10**6, form="none")
    bridged, plain = (
        each.margin(Descent(each).flow(times, 0.05)[-1], COMPOSED) for each in (many, none)
    )
    assert plain < bridged < 0


def test_with_more_relations_a_composition_is_won_lost_and_won_back_later():
    """The margin is not monotone in time: by how much more so, the higher the complexity."""
    path = list(Descent(Structure(10, 2)).path(2000, 2.0, 512**-0.6))
    right = np.array([Structure(10, 2).margin(values, COMPOSED) > 0 for values in path])
    lost = np.flatnonzero(~right)[-1]
    assert right[:lost].any() and right[lost + 1 :].all() and lost < 1500


def test_the_claim_on_complexity_is_about_the_steps_that_the_reduction_gives():
    for complexity, lost_and_won in COMPLEXITIES_LOST.items():
        assert flips(Structure(20, complexity))[-2:] == lost_and_won
