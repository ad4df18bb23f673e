"""Hops: composed, built by hand, read layer by layer."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from mechanisms_setting import moment

from ontogeny import (
    Accuracy,
    AttentionStack,
    BuiltHops,
    ConfigError,
    Decoder,
    HopAttention,
    Hops,
    HopsByLayer,
)
from ontogeny.models.rotary import rotary


@pytest.mark.parametrize("cyclic", [True, False])
def test_hops_compose_what_is_shown_and_what_is_hidden(cyclic):
    task = Hops(values=3, hops=4, cyclic=cyclic, rows=6)
    hidden = np.asarray(task.world(jr.key(0)))
    for split, hops in (("1 hop", 1), ("2 hops", 2), ("hardest", 4)):
        batch = task.sample(jnp.asarray(hidden), split, jr.key(1))
        shown = np.asarray(batch.inputs).reshape(6, 4, 3)
        for row in range(6):
            for place, (target, counted) in enumerate(
                zip(batch.targets[row], batch.weights[row], strict=True)
            ):
                a, y = divmod(place, 3)
                for hop in range(a, a + hops):
                    y = shown[row, hop % 4, hidden[hop % 4, y]]
                assert counted == (cyclic or a + hops <= 4)
                assert not counted or target == task.asked.index(hops) * 3 + y
    with pytest.raises(ConfigError, match="not a power of two"):
        Hops(hops=6)


@pytest.mark.parametrize("hops", [2, 8])
def test_built_hops_make_no_mistake_and_sit_where_theory_puts_them(hops):
    task = Hops(values=3, hops=hops, rows=16)
    layers = len(task.asked)
    now = moment(task, AttentionStack(width=task.length + task.vocab + 3 * layers, depth=layers))
    now = now.with_params(BuiltHops().solve(now))
    right, evaluations, found = jax.jit(
        lambda: (Accuracy("mixture")(now), HopAttention()(now), HopsByLayer()(now))
    )()
    assert right == 1 and jnp.allclose(jnp.diag(evaluations), 1.0, atol=1e-4)
    for which in range(layers):
        assert (found[which + 1 :, which] > 0.99).all() and found[which, which] < 0.9
    shallow = AttentionStack(width=now.model.width, depth=1)
    if layers > 1:
        with pytest.raises(ConfigError, match=f"depth={layers}"):
            BuiltHops().solve(now._replace(model=shallow))
    with pytest.raises(ConfigError, match="positions and"):
        AttentionStack(width=4).init(task, jr.key(0))


def test_rotary_positions_depend_on_distance_alone():
    x = jr.normal(jr.key(0), (2, 1, 8))

    def score(positions):
        query, key = rotary(x, jnp.array(positions))
        return query[0] @ key[0]

    assert jnp.allclose(score([3, 7]), score([10, 14]), atol=1e-5)
    assert not jnp.allclose(score([3, 7]), score([3, 8]), atol=1e-3)


def test_a_decoder_read_layer_by_layer_needs_equal_parts():
    with pytest.raises(ConfigError, match="cannot be shared by 4 layers"):
        Decoder(width=8, heads=2, depth=4, readout="each").init(Hops(values=3, hops=2), jr.key(0))
