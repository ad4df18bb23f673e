"""The language of templates, the kernel of attention on them, and its derivatives."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontogeny import ConfigError, Templates
from ontogeny.tasks.distinct import distinct
from ontogeny.theory.attention_kernel import attention_kernel, canonical, ridge, transformer_kernel
from ontogeny.theory.kernel_derivatives import FORMULAS, exact, published
from ontogeny.theory.template import BadTemplate, disjoint, parse, parse_all, pattern, substituted


def test_a_template_is_read_as_it_is_written():
    template = parse("αβα: +1")
    assert template.tokens == ("α", "β", "α") and template.value == 1.0
    assert template.wildcards == ("α", "β") and str(template) == "αβα: +1"
    program = parse("α = 1 ; β = -1 ; print ( α ) : +1")
    assert program.regular == ("=", "1", ";", "-1", "print", "(", ")")
    assert parse("α β2 β2: β2").label == "β2" and parse("αβ: β").value is None


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["αβ"], "'αβ' is no template"),
        (["αβ: γ"], "'αβ: γ': the label is a wildcard that does not occur"),
        (["αβ: x"], "'αβ: x': the label is a token that does not occur"),
        (["αα: 1", "αβα: 2"], "'αβα: 2' has length 3, 'αα: 1' 2"),
        (["αα: 1", "αβ: α"], "'αα: 1' and 'αβ: α': labels are all numbers or all symbols"),
        (["αβ: 1", "βα: 2"], "'αβ: 1' and 'βα: 2' overlap"),
        (["αx: 1", "αβ: 2"], "overlap: some string matches both"),
        ([], "at least one"),
    ],
)
def test_templates_that_make_no_task_are_shown(texts, message):
    with pytest.raises(BadTemplate, match=message):
        parse_all(texts)


symbols = st.lists(st.sampled_from("αβγxy"), min_size=3, max_size=3)


@settings(max_examples=200, deadline=None)
@given(symbols, symbols)
def test_disjoint_templates_are_those_that_no_string_matches_both(one, other):
    left, right = (parse(f"{''.join(tokens)}: 1") for tokens in (one, other))

    def matching(template):
        """All strings over a few tokens that match, by the definition."""
        tokens = "xyabcd"
        free = [t for t in tokens if t not in template.regular]
        from itertools import permutations

        for chosen in permutations(free, len(template.wildcards)):
            become = dict(zip(template.wildcards, chosen, strict=True))
            yield tuple(become.get(token, token) for token in template.tokens)

    assert disjoint(left, right) == set(matching(left)).isdisjoint(matching(right))


def test_the_kernel_is_the_reference_on_same_and_different():
    templates = parse_all(["αα.: +1", "αβ.: -1"])  # the stop stands for the token that is read
    X, Y = (np.array(substituted(templates, fresh)) for fresh in (0, 100))
    reference = {
        (1.0, 1.0): [[0.6792, 0.6595], [0.6594, 0.6454]],
        (2.0, 1.0): [[0.8468, 0.7999], [0.7990, 0.7675]],
        (1.0, 0.5): [[0.2803, 0.2653], [0.2651, 0.2523]],
    }
    for (beta, gamma), expected in reference.items():
        found = attention_kernel(X, Y, beta, gamma, points=2048)
        np.testing.assert_allclose(found.value, expected, atol=4e-3)
        assert found.error.max() < 2e-3
        assert np.linalg.det(found.value) > 3 * found.error.max() ** 2


def test_the_kernel_knows_strings_by_their_pattern_alone():
    strings = np.array([[5, 9, 5], [7, 7, 2]])
    renamed = np.array([[1, 4, 1], [3, 3, 8]])
    np.testing.assert_array_equal(canonical(strings), [pattern(row) for row in strings.tolist()])
    one, other = (attention_kernel(s, s, 1.0, 1.0, points=64).value for s in (strings, renamed))
    np.testing.assert_array_equal(one, other)


def test_the_cosine_layer_in_closed_form_is_its_mean():
    rng = np.random.default_rng(0)
    covariance = np.array([[0.7, 0.3], [0.3, 0.5]])
    u, v = rng.multivariate_normal([0, 0], covariance, size=400_000).T
    drawn = np.mean(np.cos(1.5 * u + 0.4) * np.cos(1.5 * v + 0.4))
    closed = transformer_kernel(np.array([0.7]), np.array([0.5]), np.array([[0.3]]), 1.5, 0.4)
    assert closed[0, 0] == pytest.approx(drawn, abs=3e-3)


def test_ridge_regression_without_ridge_interpolates():
    kernel = np.array([[2.0, 0.5], [0.5, 1.0]])
    labels = np.array([1.0, -1.0])
    np.testing.assert_allclose(kernel @ ridge(kernel, labels, 0.0), labels)
    assert np.abs(kernel @ ridge(kernel, labels, 10.0)).max() < 0.5


@pytest.mark.parametrize("order", FORMULAS, ids=str)
def test_the_published_derivatives_are_exact(order):
    """On every pattern of two strings of length two and a dozen of length three."""
    rng = np.random.default_rng(3)
    strings = [*np.indices((3,) * 4).reshape(4, -1).T, *rng.integers(0, 3, (12, 6))]
    for both in strings[:: 3 if order == (4, 2) else 1]:
        X, Y = np.eye(3)[both].reshape(2, -1, 3)
        assert published(order, X, Y) == pytest.approx(exact(order, X, Y), rel=1e-9, abs=1e-9)


def test_the_power_series_is_that_of_the_kernel():
    """Summed at small β, exact derivatives give what quasi-random points give."""
    strings = np.array([[0, 0, 1], [0, 2, 1]])
    hot = np.eye(3)[strings]
    beta, orders = 0.3, (0, 2, 4, 6)
    found = attention_kernel(strings[:1], strings[1:], beta, 0.0, points=4096)
    factorials = {0: 1, 2: 2, 4: 24, 6: 720}
    series = sum(exact((n, 0), hot[0], hot[1]) * beta**n / factorials[n] for n in orders)
    assert found.value[0, 0] == pytest.approx(series, abs=1e-4)


# ---------------------------------------------------------------------------------------- the task

PROGRAMS = ("α = 1 ; β = 2 ; print ( α ) : +1", "α = 1 ; β = 2 ; print ( β ) : -1")


def drawn(task, split, seed=0):
    batch = task.sample(task.world(jr.key(seed)), split, jr.key(0))
    keep = np.asarray(batch.weights[:, 0]) > 0
    return np.asarray(batch.inputs)[keep], np.asarray(batch.targets)[keep, 0]


@pytest.mark.parametrize("split", Templates.splits)
def test_samples_match_the_template_whose_label_they_have(split):
    task = Templates.of(*PROGRAMS, most=64, samples=40)
    patterns = {z.value: pattern(z.tokens) for z in task.parsed}
    strings, labels = drawn(task, split)
    trained = split in ("train", "seen")
    assert len(strings) == (40 if trained else 100) and set(labels) == {1.0, -1.0}
    for string, label in zip(strings.tolist(), labels, strict=True):
        assert pattern(string) == patterns[label]
        assert string[1] == task.regular.index("=")


def test_alphabets_of_the_splits_have_no_symbol_in_common():
    task = Templates.of("αβγ: 1", "ααβ: 2", most=64, samples=64)
    seen = [set(drawn(task, split)[0].ravel()) for split in ("train", "validation", "test")]
    assert seen[0].isdisjoint(seen[1]) and seen[1].isdisjoint(seen[2])
    assert seen[2].isdisjoint(seen[0]) and max(map(max, seen)) < task.vocab
    few = Templates.of("αβγ: 1", "ααβ: 2", most=64, samples=64, alphabet=4)
    assert set(drawn(few, "train")[0].ravel()) == {0, 1, 2, 3}
    assert few.diversity == pytest.approx(4 / 3) and task.diversity == pytest.approx(64 / 3)


def test_a_symbolic_label_is_what_its_wildcard_became():
    task = Templates.of("αxβ: β", "αyβ: α", most=50, samples=50)
    strings, labels = drawn(task, "test")
    x = task.regular.index("x")
    expected = np.where(strings[:, 1] == x, strings[:, 2], strings[:, 0])
    np.testing.assert_array_equal(labels, expected)
    assert task.answers == task.vocab


def test_labels_have_noise_in_training_alone_and_templates_their_weights():
    few = {"most": 4000, "samples": 4000.0, "noise": 0.5, "weights": (3.0, 1.0)}
    task = Templates(templates=("αα: 1", "αβ: -1"), **few)
    strings, labels = drawn(task, "train")
    same = strings[:, 0] == strings[:, 1]
    assert np.mean(same) == pytest.approx(0.75, abs=0.03)
    assert np.std(labels[same]) == pytest.approx(0.5, abs=0.03)
    assert set(drawn(task, "test")[1]) == {1.0, -1.0}


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 9), st.integers(0, 1000))
def test_symbols_of_a_sample_are_distinct_and_each_as_likely(size, seed):
    chances = jr.uniform(jr.key(seed), (3000, 3))
    numbers = np.asarray(jax.jit(distinct)(chances, float(size)))
    assert numbers.min() >= 0 and numbers.max() < size
    assert all(len(set(row)) == 3 for row in numbers.tolist())
    for place in range(3):
        shares = np.bincount(numbers[:, place], minlength=size) / 3000
        assert np.abs(shares - 1 / size).max() < 0.05


def test_a_number_is_right_if_its_label_is_the_nearest():
    task = Templates.of("ααβ: 1", "αβα: -1", "αββ: 3", most=4, samples=4)
    strings = jnp.zeros((3, 3), jnp.int32)
    batch = type(task.sample(task.world(jr.key(0)), "test", jr.key(0)))(
        strings, jnp.ones((3, 1), jnp.int32), jnp.array([[1.0], [-1.0], [3.0]]), jnp.ones((3, 1))
    )
    outputs = jnp.array([1.9, 0.2, 2.1]).reshape(3, 1, 1)
    assert task.correct(outputs, batch)[:, 0].tolist() == [True, False, True]
    expected = (0.9**2 + 1.2**2 + 0.9**2) / 3
    assert float(task.loss(outputs, batch)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("texts", "fields", "message"),
    [
        (("αβ: 1", "βα: 2"), {}, "Templates: 'αβ: 1' and 'βα: 2' overlap"),
        (("αβγδ: 1",), {"samples": 3.0}, "alphabet: 3 symbols are too few for the 4 wildcards of"),
        (("αβ: 1",), {"samples": 2000.0}, "samples=2000 is above most=1024"),
        (("αβ: 1",), {"weights": (1.0, 2.0)}, "2 weights for 1 templates"),
    ],
)
def test_a_template_task_that_cannot_be_shows_why(texts, fields, message):
    with pytest.raises(ConfigError, match=message):
        Templates(templates=texts, **fields)
