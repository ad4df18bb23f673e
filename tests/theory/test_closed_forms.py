"""Closed forms against automatic derivatives and against the models they speak of."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontogeny import Analogy, GradientDescent, OneLayer, ReadoutDescent, SpanOneLayer, execute
from ontogeny.claims.papers.feature_resemblance.setting import stage_one
from ontogeny.core.types import Moment
from ontogeny.models.span import bartlett
from ontogeny.theory.resemblance import (
    gradients,
    noise_from_similarity_first,
    resemblance,
    resemblance_similarity_first,
)


def loss(Z, V, W, X, y, gain):
    """The paper's model as the paper writes it, embeddings and all hidden units included."""
    a = jax.nn.softmax(X @ Z @ X[-1])
    F = gain / W.shape[1] * jnp.einsum("kmw,w->k", W, V @ X.T @ a)
    return -jax.nn.log_softmax(F)[y]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_lemma_1_is_the_gradient(seed):
    keys = jr.split(jr.key(seed), 5)
    d, k, m, length = 7, 5, 3, 4
    Z, V = jr.normal(keys[0], (d, d)), jr.normal(keys[1], (d, d))
    W, X = jr.normal(keys[2], (k, m, d)), jr.normal(keys[3], (length, d))
    y = jr.randint(keys[4], (), 0, k)
    closed = gradients(Z, V, W, X, y, 1.7)
    automatic = jax.grad(loss, argnums=(0, 1, 2))(Z, V, W, X, y, 1.7)
    for ours, theirs in zip(closed, automatic, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5, rtol=1e-3)


def test_the_table_model_with_one_unit_per_class_is_the_papers_model():
    """Orthonormal embeddings of width d, m hidden units per class, trained as they stand, against
    tables and the mean unit alone: the same logits after the same training of all matrices."""
    task, m, learning_rate, steps = Analogy(tuples=2, ratio=3.0), 4, 0.3, 15
    vocab, width = task.vocab, 12
    model = OneLayer(width=width, mlp_width=float(m), scale=0.4)
    keys = jr.split(jr.key(3), 4)
    embeddings = jnp.linalg.qr(jr.normal(keys[0], (width, width)))[0][:vocab]
    Z, V = 0.4 * jr.normal(keys[1], (width, width)), 0.4 * jr.normal(keys[2], (width, width))
    W = 0.4 * jr.normal(keys[3], (vocab, m, width))
    batch = task.sample((), "train", jr.key(0))
    weights = batch.weights[:, 0] / batch.weights.sum()

    def full(parameters):
        def row(tokens, y):
            return loss(*parameters, embeddings[tokens], y, width**0.5)

        return weights @ jax.vmap(row)(batch.inputs, batch.targets[:, 0])

    parameters = (Z, V, W)
    for _ in range(steps):
        pull = jax.grad(full)(parameters)
        parameters = jax.tree.map(lambda p, g: p - learning_rate * g, parameters, pull)

    from ontogeny.models.one_layer import Params

    tables = Params(embeddings @ Z @ embeddings.T, embeddings @ V.T, W.sum(axis=1) / m**0.5)
    now = Moment(task, (), model, tables, jr.key(0))
    stage = GradientDescent(steps=steps, learning_rate=learning_rate)
    reduced, _ = stage.advance(now, stage.init(now), jnp.zeros((), jnp.int32), steps)
    np.testing.assert_allclose(now.with_params(reduced).loss(batch), full(parameters), rtol=1e-4)
    np.testing.assert_allclose(reduced.value, embeddings @ parameters[1].T, atol=1e-4)
    np.testing.assert_allclose(reduced.output, parameters[2].sum(axis=1) / m**0.5, atol=1e-4)


def test_descent_in_the_dual_is_descent():
    task, model = Analogy(tuples=5, ratio=2.0), OneLayer(width=24, scale=0.5)
    now = Moment(task, (), model, model.init(task, jr.key(0)), jr.key(1))
    start = jnp.zeros((), jnp.int32)
    for learning_rate in (0.1, 1.0):
        direct = GradientDescent(steps=60, learning_rate=learning_rate, trainable=("output",))
        dual = ReadoutDescent(steps=60, learning_rate=learning_rate)
        slow, _ = direct.advance(now, direct.init(now), start, 60)
        fast, _ = dual.advance(now, dual.init(now), start, 60)
        assert not jnp.allclose(slow.output, now.params.output, atol=1e-2)
        np.testing.assert_allclose(fast.output, slow.output, atol=1e-4)
        np.testing.assert_array_equal(fast.value, now.params.value)


def test_the_dual_needs_a_linear_readout():
    from ontogeny import GPT2, ConfigError

    now = Moment(Analogy(), (), GPT2(), (), jr.key(0))
    with pytest.raises(ConfigError, match="ReadoutDescent needs a linear readout: GPT2"):
        ReadoutDescent(steps=1, learning_rate=1.0).init(now)


def test_alignment_in_depth_is_read_off_the_lengths():
    """Two features that share a vector and differ by noise of squared length δ² each."""
    from ontogeny.theory.depth import alignment

    keys = jr.split(jr.key(0), 3)
    one, other, shared = (jr.normal(key, (20000,)) / 20000**0.5 for key in keys)
    left, right = 0.3 * one + 2 * shared, 0.3 * other + 2 * shared
    cosine = left @ right / jnp.linalg.norm(left) / jnp.linalg.norm(right)
    assert jnp.allclose(alignment(0.3**2, (left @ left)[None])[0], cosine, atol=1e-3)


def test_distances_grow_with_depth_as_labels_crowd_the_width():
    """Two inputs of one label, C vectors added along as many random directions of width d."""
    from ontogeny.theory.depth import alignment

    width, labels, keys = 400, 100, jr.split(jr.key(0), 4)
    means, added, one, other = (
        jr.normal(key, shape) / width**0.5
        for key, shape in zip(keys, [(labels, width)] * 2 + [(width,)] * 2, strict=True)
    )
    left, right = means[0] + 0.01 * one, means[0] + 0.01 * other
    after = [h + 2 * (means @ h) @ added for h in (left, right)]
    lengths = jnp.array([left @ left, after[0] @ after[0]])
    distances = jnp.array([jnp.sum((a - b) ** 2) for a, b in ((left, right), after)]) / 2
    predicted = alignment(distances[0], lengths, labels / width)
    assert jnp.allclose((1 - predicted) * lengths / distances, 1, atol=0.25)
    assert distances[1] > 1.5 * distances[0], "or there is nothing to predict"


def test_the_predicted_alignment_is_about_deep_linear_networks():
    from ontogeny import GPT2, ConfigError
    from ontogeny.probes.depth import PredictedAlignment

    now = Moment(Analogy(), (), GPT2(), (), jr.key(0))
    with pytest.raises(ConfigError, match="is about DeepLinear, not GPT2"):
        PredictedAlignment()(now)


def test_the_predicted_resemblance():
    assert resemblance(1.0) == pytest.approx(2**-0.5)
    assert resemblance(5.0) == pytest.approx(5 / 26**0.5)
    assert resemblance(4.0, noise=0.01) < resemblance(4.0)
    for noise in (0.0, 0.01, 0.3):
        cosine = resemblance_similarity_first(noise)
        assert noise_from_similarity_first(cosine) == pytest.approx(noise)


def test_the_prediction_with_noise_is_what_training_gives():
    """The noise is read off training on similarity alone; joint training then follows at any κ."""
    first = execute({"x": stage_one("similarity")}, seeds=2)["x"]
    noise = noise_from_similarity_first(float(first.final("resemblance").values.mean()))
    assert 0.0001 < noise < 0.05
    runs = execute({f"{k}": stage_one("train", float(k)) for k in (1, 3, 8)}, seeds=2)
    for ratio, run in runs.items():
        ours = run.final("resemblance").values.mean()
        assert ours == pytest.approx(resemblance(float(ratio), noise), abs=0.01)


def test_descent_in_the_span_of_the_rows_is_descent():
    """V and the outputs of a wide model, written in the basis that they span, train alike."""
    task, width, rule = (
        Analogy(tuples=3, ratio=2.0),
        64,
        GradientDescent(steps=1, learning_rate=0.5),
    )
    full, small = OneLayer(width=width, scale=0.3), SpanOneLayer(width=64.0, scale=0.3)
    start = full.init(task, jr.key(0))
    rows = np.concatenate([start.value, start.output])
    _, triangular = np.linalg.qr(rows.T)
    value, output = jnp.split(jnp.asarray(triangular.T, jnp.float32), 2)
    params = {"full": start, "small": start._replace(value=value, output=output)}
    assert value.shape == (task.vocab, 2 * task.vocab)
    losses = {}
    for name, model in (("full", full), ("small", small)):
        now = Moment(task, task.world(jr.key(1)), model, params[name], jr.key(2))
        memory, losses[name] = rule.init(now), []
        for _ in range(5):
            losses[name].append(float(now.loss(now.batch("train"))))
            moved, memory = rule.step(now, memory)
            now = now.with_params(moved)
    np.testing.assert_allclose(losses["full"], losses["small"], rtol=1e-5)
    assert losses["full"][-1] < losses["full"][0]


def test_rows_are_drawn_in_their_span_as_if_in_all_dimensions():
    """Inner products have the means and variances of Gaussian rows of d entries."""
    width, draws = 50.0, 4000
    keys = jr.split(jr.key(0), (draws, 2))
    rows = jax.vmap(lambda pair: bartlett(pair[0], pair[1], 4, width))(keys)
    grams = np.asarray(rows @ jnp.swapaxes(rows, 1, 2))
    error = 5 / draws**0.5
    np.testing.assert_allclose(grams.mean(0) / width, np.eye(4), atol=error)
    variance = width * (1 + np.eye(4))
    np.testing.assert_allclose(grams.var(0) / variance, 1, atol=3 * error)
    assert np.isnan(bartlett(*keys[0], 4, 2.0)).any()  # no room for four rows
