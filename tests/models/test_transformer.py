"""The transformer of template tasks, and its two identities."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from templates_setting import SMALL, TASK, moment, outputs, trained

from ontogeny import (
    AdamW,
    ConfigError,
    MimeticTransformer,
    Templates,
    Transformer,
)
from ontogeny.theory.template_sets import (
    COPY,
)


def with_identities(params, a, b):
    attention = params.attention
    a, b = jnp.full_like(attention.a, a), jnp.full_like(attention.b, b)
    return params._replace(attention=attention._replace(a=a, b=b))


def test_what_is_read_at_cls_alone_is_what_attention_everywhere_has_there():
    model = Transformer(**SMALL, kq_identity=2.0, vo_identity=3.0)
    params = with_identities(model.init(TASK, jr.key(0)), 0.3, 0.2)
    layer = jax.tree.map(lambda leaf: leaf[1], params.attention)
    x, seen = jr.normal(jr.key(3), (4, 8)), jnp.array([True, False, True, True])
    whole, weights = model._everywhere(layer, x, seen)
    last, last_weights = model._at_cls(layer, x, seen)
    np.testing.assert_allclose(last[0], whole[-1], atol=1e-5)
    np.testing.assert_allclose(last_weights[:, 0], weights[:, -1], atol=1e-6)


def test_identities_are_added_to_the_products_of_weights():
    model = Transformer(**{**SMALL, "heads": 1, "depth": 1}, kq_identity=2.0, vo_identity=3.0)
    params = with_identities(model.init(TASK, jr.key(0)), 0.3, 0.2)
    layer = jax.tree.map(lambda leaf: leaf[0], params.attention)
    x, seen = jr.normal(jr.key(3), (4, 8)), jnp.ones(4, bool)
    key_query = layer.query[:, 0] @ layer.key[:, 0].T / 2 + 2.0 * 0.3 * jnp.eye(8)  # √4 = 2
    value_out = layer.value[:, 0] @ layer.out[0] + 3.0 * 0.2 * jnp.eye(8)
    direct = jax.nn.softmax(x @ key_query @ x.T, axis=-1) @ x @ value_out
    np.testing.assert_allclose(model._everywhere(layer, x, seen)[0], direct, atol=1e-5)


def test_identities_begin_at_zero_and_without_a_factor_stay_there():
    now = moment(Transformer(**SMALL))
    assert not now.params.attention.a.any() and not now.params.attention.b.any()

    @jax.jit
    @jax.vmap
    def pull(factor):
        both = lambda model: (model.kq_identity, model.vo_identity)  # noqa: E731
        then = now._replace(model=eqx.tree_at(both, now.model, (factor, factor)))
        loss = lambda params: then.with_params(params).loss(now.batch("train"))  # noqa: E731
        return jax.grad(loss)(now.params).attention

    found = pull(jnp.array([0.0, 1.0]))
    for part in (found.a, found.b):
        assert not part[0].any() and part[1].all()


def test_weights_start_as_torch_has_them_and_embeddings_standard_normal():
    params = Transformer(width=32, heads=4, head_dim=16, mlp_width=48).init(TASK, jr.key(0))
    for weights, into in (
        (params.attention.query, 32),
        (params.attention.out, 64),
        (params.mlp.mlp_out.weight, 48),
        (params.mlp.mlp_out.bias, 48),
    ):
        bound = into**-0.5
        assert 0.9 * bound < jnp.abs(weights).max() <= bound
    assert abs(float(params.tokens.std()) - 1) < 0.1


def test_mimetic_heads_start_near_the_identity():
    model = MimeticTransformer(width=16, heads=2, head_dim=16, mlp_width=8, alpha=0.1, beta=0.7)
    attention = model.init(TASK, jr.key(0)).attention
    product = jnp.einsum("ldhp,lehp->lhde", attention.query, attention.key)
    diagonal = jnp.diagonal(product, axis1=-2, axis2=-1)
    assert jnp.allclose(diagonal.mean(), 0.7, atol=0.05)
    assert jnp.abs(product - 0.7 * jnp.eye(16)).mean() < 0.1


def test_tied_embeddings_need_answers_that_are_tokens():
    with pytest.raises(ConfigError, match="answers of Templates are not its tokens"):
        Transformer(**SMALL, tied=True).init(TASK, jr.key(0))
    symbolic = Templates.of(*COPY, most=8, samples=8, test_rows=4)
    now = moment(Transformer(**SMALL, tied=True), symbolic)
    assert outputs(now, now.batch("test")).shape == (4, 1, symbolic.vocab)


def test_training_the_last_layer_moves_nothing_else():
    now = moment(Transformer(**SMALL))
    params = trained(now, AdamW(steps=1, learning_rate=0.1, trainable=("head",))).params
    assert jnp.array_equal(params.attention.value, now.params.attention.value)
    assert not jnp.array_equal(params.head.weight, now.params.head.weight)
