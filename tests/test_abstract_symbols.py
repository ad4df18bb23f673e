"""Template tasks: their sets, the transformer's identities, kernel machines, what N predicts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from ontogeny import (
    GPT2,
    AdamW,
    BlockError,
    ConfigError,
    CopyingAttention,
    Experiment,
    IdealGap,
    KernelMachine,
    KernelRidge,
    Loss,
    MimeticTransformer,
    Moment,
    OneHotMLP,
    Separation,
    Templates,
    Transfer,
    Transformer,
    execute,
)
from ontogeny.theory.attention_kernel import attention_kernel, transformer_kernel
from ontogeny.theory.template import BadTemplate, is_wildcard, parse_all
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
    PRINT_STRING,
    SAME_DIFFERENT,
    SYMBOLIC_WORD_PROBLEM,
    WORD_PROBLEM,
    distribution_of_three,
    majority,
    match_to_sample,
    random_templates,
    raven,
    symbolic_majority,
)

# ------------------------------------------------------------------------------ sets of templates


@pytest.mark.parametrize(
    ("templates", "number"),
    [
        *((SAME_DIFFERENT, 2), (ENDS_OR_TAIL, 2), (PAIRS_OR_TURNS, 2), (COPY, 1)),
        *((PRINT_NUMBER, 2), (PRINT_STRING, 2), (WORD_PROBLEM, 2), (SYMBOLIC_WORD_PROBLEM, 2)),
        *((majority(2), 2), (majority(6), 32), (symbolic_majority(3), 4)),
        *((distribution_of_three(), 144), (match_to_sample(), 40), (raven(), 37)),
        *((random_templates(7, 5, 3, 1), 7), (random_templates(2, 2), 2)),
    ],
)
def test_a_set_has_as_many_disjoint_templates_as_the_paper_says(templates, number):
    assert len(parse_all(templates)) == number
    assert Templates.of(*templates, most=16, samples=16).length == len(
        parse_all(templates)[0].tokens
    )


def test_majorities_count_symbols():
    for template in parse_all(majority(4)):
        first, *rest = template.tokens
        assert template.value == (1.0 if rest.count(first) >= 2 else -1.0)
    for template in parse_all(symbolic_majority(5)):
        assert template.tokens.count(template.label) >= 3


def test_psychometric_labels_complete_the_pattern():
    for template in parse_all(distribution_of_three()):
        row, options = template.tokens[3:5], template.tokens[5:]
        assert sorted((*row, options[int(template.value) - 1])) == sorted("αβγ")
    for template in parse_all(match_to_sample()):
        parts = [template.tokens[place : place + 3] for place in (0, 3, 6)]
        shapes = [[part.index(token) for token in part] for part in parts]
        assert shapes[0] == shapes[1 if template.value > 0 else 2] and shapes[1] != shapes[2]
    for template in parse_all(raven())[:-1]:
        assert sorted((*template.tokens[6:], template.label)) == sorted("αβγ")


def test_random_templates_have_labels_of_mean_zero_and_variance_one():
    labels = np.array([template.value for template in parse_all(random_templates(9, 6, seed=4))])
    assert abs(labels.mean()) < 1e-3 and abs(labels.std() - 1) < 1e-3
    assert random_templates(3, 4, seed=1) != random_templates(3, 4, seed=2)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: majority(3), "even length, not 3"),
        (lambda: symbolic_majority(4), "odd length, not 4"),
        (lambda: random_templates(3, 2, 2), "found 2 of 3 templates of length 2"),
        (lambda: random_templates(2, 2, 99), "at most 24 wildcards"),
    ],
)
def test_a_set_that_cannot_be_is_refused(wrong, says):
    with pytest.raises(BadTemplate, match=says):
        wrong()


# -------------------------------------------------------------------------------- the transformer

TASK = Templates.of(*ENDS_OR_TAIL, most=12, samples=12, test_rows=6)
SMALL = {"width": 8, "heads": 2, "head_dim": 4, "mlp_width": 6}


def moment(model, task=TASK, seed=0):
    params = jax.jit(lambda key: model.init(task, key))(jr.key(seed))
    return Moment(task, jax.jit(task.world)(jr.key(1)), model, params, jr.key(2))


def trained(now, stage):
    """The same moment after a stage."""

    @jax.jit
    def advance(params):
        then = now.with_params(params)
        return stage.advance(then, stage.init(then), jnp.zeros((), jnp.int32), stage.steps)[0]

    return now.with_params(advance(now.params))


def outputs(now, batch):
    return jax.jit(lambda params: now.with_params(params).trace(batch).outputs)(now.params)


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


# ------------------------------------------------------------------------------------ perceptrons


def test_a_perceptron_cannot_tell_unseen_tokens_apart():
    """Lemma I.7, exactly: exchange the initial weights of unseen tokens, train, and the network
    says of any unseen string what the other says of the string with tokens exchanged."""
    model, stage = OneHotMLP(width=16), AdamW(steps=20, learning_rate=0.01)
    now = moment(model)
    first = TASK.vocab - 2 * TASK.test_rows  # the first token that training never shows
    exchange = jnp.concatenate(
        [jnp.arange(first), first + jr.permutation(jr.key(5), TASK.vocab - first)]
    )
    other = now.with_params(now.params._replace(tokens=now.params.tokens[:, exchange]))
    one, two = trained(now, stage), trained(other, stage)
    test = now.batch("test")
    swapped = test._replace(inputs=exchange[test.inputs])
    assert not jnp.array_equal(test.inputs, swapped.inputs)
    assert jnp.array_equal(outputs(two, test), outputs(one, swapped))


def test_told_which_places_are_equal_a_perceptron_sees_it():
    model = OneHotMLP(width=8, incidence=1.0)
    params = model.init(TASK, jr.key(0))
    params = params._replace(tokens=jnp.zeros_like(params.tokens))
    says = lambda *string: model(params, jnp.array(string), jnp.array([2])).outputs  # noqa: E731
    assert jnp.array_equal(says(1, 2, 1), says(3, 4, 3))
    assert not jnp.array_equal(says(1, 2, 1), says(1, 2, 2))


# ---------------------------------------------------------------------------------- kernel machines


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


# --------------------------------------------------------------------------------------- copying


def test_transfer_to_the_same_split_is_one_and_parts_are_its_own():
    task = Templates.of(*COPY, most=8, samples=8, test_rows=4)
    now = moment(CopyingAttention(width=32, heads=2, head_dim=8, vo_identity=1.0), task)
    assert jnp.allclose(Transfer("train", trainable=("value",))(now), 1.0, atol=1e-4)
    assert float(Transfer("test", trainable=("b",))(now)) > 0.5
    assert abs(float(Transfer("test", trainable=("value",))(now))) < 0.5


def test_an_experiment_without_training_is_looked_at_once():
    task = Templates.of(*COPY, most=8, samples=8, test_rows=4)
    experiment = Experiment(task, CopyingAttention(width=8), (), {"loss": Loss("test")})
    run = execute({"x": experiment}, seeds=2)["x"]
    assert run.curve("loss").shape == (2, 1)


def test_a_task_of_templates_trains_any_model():
    task = Templates.of(*symbolic_majority(3), most=8, samples=8, test_rows=4)
    assert not any(is_wildcard(token) for token in task.regular)
    experiment = Experiment(
        task,
        GPT2(width=8, depth=1, heads=2),
        (AdamW(2, 0.01),),
        {"loss": Loss("test")},
        evaluations=1,
    )
    assert np.isfinite(execute({"x": experiment}, seeds=1)["x"].final("loss").values).all()
