"""Kernel machines on templates, and what N predicts."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from templates_setting import TASK, moment, outputs

from ontogeny import (
    BlockError,
    ConfigError,
    CopyingAttention,
    IdealGap,
    KernelMachine,
    KernelRidge,
    OneHotMLP,
    Separation,
    Templates,
)
from ontogeny.theory.attention_kernel import attention_kernel, transformer_kernel
from ontogeny.theory.template import parse_all
from ontogeny.theory.template_kernel import (
    all_pairs,
    idealised,
    inner_product,
    learning_curve,
    number_of_pairs,
    of_templates,
    samples_to_learn,
)
from ontogeny.theory.template_sets import (
    COPY,
    ENDS_OR_TAIL,
    PAIRS_OR_TURNS,
    PRINT_NUMBER,
    SAME_DIFFERENT,
    majority,
    match_to_sample,
    random_templates,
)


def test_the_matrix_of_templates_has_the_reference_values():
    kernel = of_templates(parse_all(SAME_DIFFERENT), 1.0, 1.0)
    np.testing.assert_allclose(kernel.N, [[0.6792, 0.6595], [0.6594, 0.6454]], atol=2e-3)


@pytest.mark.parametrize("templates", [ENDS_OR_TAIL, random_templates(4, 4, 2, 1)])
def test_the_matrix_of_templates_is_the_kernel_of_strings_without_a_common_symbol(templates):
    parsed = parse_all(templates)
    names = {t: 1 + n for n, t in enumerate(dict.fromkeys(t for z in parsed for t in z.regular))}

    def strings(fresh):
        rows = []
        for z in parsed:
            own = {w: fresh + n for n, w in enumerate(z.wildcards)}
            rows.append([(names | own)[t] for t in z.tokens] + [0])
        return np.array(rows)

    direct = attention_kernel(strings(100), strings(200), 2.0, 1.0, 4096)
    np.testing.assert_allclose(of_templates(parsed, 2.0, 1.0).N, direct.value, atol=4e-3)


def test_an_estimate_of_the_least_eigenvalue_knows_its_error():
    parsed = parse_all(ENDS_OR_TAIL)
    value, error = of_templates(parsed, 4.0, 1.0).least_eigenvalue
    others = [of_templates(parsed, 4.0, 1.0, seed=seed).least_eigenvalue[0] for seed in (1, 2, 3)]
    assert 0 < error < value / 50
    assert max(abs(other - value) for other in others) < 6 * error


def test_a_kernel_of_inner_products_gives_a_singular_matrix():
    N = inner_product(parse_all(PAIRS_OR_TURNS), np.exp)
    assert np.linalg.matrix_rank(N) == 1
    assert np.linalg.matrix_rank(inner_product(parse_all(("aα: 1", "bα: -1")), np.exp)) == 2


def test_every_pattern_of_two_strings_is_counted():
    for templates in (SAME_DIFFERENT, ENDS_OR_TAIL, PRINT_NUMBER, random_templates(3, 4, 3, 1)):
        parsed = parse_all(templates)
        assert len(all_pairs(parsed)) == number_of_pairs(parsed)


def solved(samples=12, ridge=0.1, **fields):
    task = Templates.of(*ENDS_OR_TAIL, most=12, samples=float(samples), test_rows=6)
    now = moment(KernelMachine(**fields), task)
    return now.with_params(KernelRidge(ridge=ridge).solve(now))


def test_a_kernel_machine_is_ridge_regression():
    now = solved()
    train, test = (np.asarray(now.batch(split).inputs) for split in ("train", "test"))
    ended = [np.pad(strings, ((0, 0), (0, 1)), constant_values=-1) for strings in (train, test)]
    whole = np.concatenate(ended)
    attention = attention_kernel(whole, whole, 4.0, 1.0, 8192).value
    own = np.diag(attention)
    kernel = transformer_kernel(own, own, attention, 1.0, 0.5)
    labels = np.asarray(now.batch("train").targets)[:, 0]
    coefficients = np.linalg.solve(kernel[:12, :12] + 0.1 * np.eye(12), labels)
    said = outputs(now, now.batch("test"))[:, 0, 0]
    np.testing.assert_allclose(said, kernel[12:, :12] @ coefficients, atol=5e-3)


def test_samples_beyond_the_number_do_not_count():
    now = solved(samples=8)
    assert now.params.coefficients[:8].all() and not now.params.coefficients[8:].any()


def test_a_machine_of_inner_products_says_the_same_of_all_unseen_strings():
    now = solved(kernel="inner product")
    assert abs(float(Separation("test")(now))) < 1e-5
    assert float(Separation("test")(solved())) > 0.01
    assert jnp.isfinite(BlockError()(now)) and jnp.isfinite(IdealGap()(now))


def test_the_idealised_estimator_is_regression_on_blocks():
    random = np.random.default_rng(0)
    kinds, labels = random.integers(0, 3, 30), random.normal(size=30)
    features = random.normal(size=(3, 5))
    N = features @ features.T
    direct = N[:, kinds] @ np.linalg.solve(N[np.ix_(kinds, kinds)] + 0.3 * np.eye(30), labels)
    counts, sums = np.bincount(kinds).astype(float), np.bincount(kinds, labels)
    np.testing.assert_allclose(idealised(N, counts, sums, 0.3), direct)


def test_the_predicted_curve_is_that_of_the_idealised_estimator_with_more_ridge():
    kernel = of_templates(parse_all(majority(2)), 4.0, 1.0)
    labels, n = np.array([1.0, -0.5]), 64
    excess = 0.01 + np.mean(kernel.own - np.diag(kernel.N))
    said = idealised(kernel.N, np.full(2, n / 2), n / 2 * labels, excess)
    curve = learning_curve(kernel, labels, np.array([float(n)]), 0.01)
    np.testing.assert_allclose(curve[0], np.mean((said - labels) ** 2), rtol=1e-6)
    known = samples_to_learn(kernel, labels, 0.1, 0.01)
    assert abs(learning_curve(kernel, labels, np.array([known]), 0.01)[0] - 0.1) < 1e-3


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: KernelMachine().init(Templates.of(*COPY), jr.key(0)), "labels are numbers"),
        (lambda: KernelMachine().init(Templates.of(*match_to_sample()), jr.key(0)), "patterns are"),
        (lambda: KernelRidge().solve(moment(OneHotMLP(width=4))), "solves a KernelMachine"),
        (lambda: IdealGap()(moment(OneHotMLP(width=4))), "about a KernelMachine"),
        (lambda: CopyingAttention().init(TASK, jr.key(0)), "strings of one token"),
    ],
)
def test_what_does_not_fit_is_said(wrong, says):
    with pytest.raises(ConfigError, match=says):
        wrong()
