"""GPT-2: how it is told positions, and how large its embeddings start."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from ontogeny import GPT2, ConfigError, ScaledGPT2, TwoHop

TASK = TwoHop(subjects=4)
SIZE = {"width": 16, "depth": 2, "heads": 2}


def test_weights_are_the_same_however_positions_are_told():
    learned, *others = (
        GPT2(**SIZE, positions=how).init(TASK, jr.key(0)) for how in ("learned", "rotary", "none")
    )
    assert learned.positions.shape == (TASK.length, 16)
    for other in others:
        assert other.positions.shape == (0, 16)
        same = jax.tree.map(jnp.array_equal, other, learned._replace(positions=other.positions))
        assert all(jax.tree.leaves(same))


@pytest.mark.parametrize(("how", "moves"), [("learned", True), ("rotary", True), ("none", False)])
def test_only_without_positions_does_the_order_of_what_came_before_not_matter(how, moves):
    model = GPT2(**{**SIZE, "depth": 1}, scale=0.5, positions=how)
    task = TwoHop(subjects=4, hops=3)
    params = model.init(task, jr.key(0))
    one, other = (
        model(params, jnp.array(tokens), jnp.array([2])).outputs
        for tokens in ([1, 8, 9], [8, 1, 9])
    )
    assert np.allclose(one, other, atol=1e-5) is not moves


def test_embeddings_may_start_as_what_they_read_is_the_vocabulary():
    large = TwoHop(subjects=300)
    deviations = [
        float(jnp.std(ScaledGPT2(**SIZE, embedding=d).init(large, jr.key(0)).tokens))
        for d in ("width", "vocabulary")
    ]
    np.testing.assert_allclose(deviations, [16**-0.5, large.vocab**-0.5], rtol=0.05)


def test_rotary_positions_need_heads_of_even_width():
    with pytest.raises(ConfigError, match="each of 2 heads needs an even width"):
        GPT2(width=6, heads=2, positions="rotary")
