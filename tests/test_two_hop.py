"""Two hops: the task, the program behind it solved three ways, and the stages and probes of it."""

import time

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontogeny import (
    Accuracy,
    AdamW,
    Asymmetry,
    ConfigError,
    EmbeddingMLP,
    Experiment,
    LogitTemplates,
    Loss,
    Margin,
    MarginDescent,
    MinimalNorm,
    NormGap,
    OutOfContext,
    RelativeMargin,
    RowSums,
    SymmetricOptimum,
    SymmetricPart,
    TheoryCorrelation,
    TokenSum,
    TwoHop,
    execute,
)
from ontogeny.core.types import Moment
from ontogeny.models.embedding_mlp import Factors
from ontogeny.theory.minimal_norm import Inaccurate, Infeasible, Unsolved, margins, minimal_norm
from ontogeny.theory.two_hop import (
    Symmetric,
    simplified,
    symmetric,
    with_identity,
    without_identity,
)
from ontogeny.theory.two_hop_descent import composed, descent, flow

# ---------------------------------------------------------------------------------------- the task

TASKS = [
    TwoHop(subjects=4),
    TwoHop(subjects=3, complexity=2, form="first relation"),
    TwoHop(subjects=3, complexity=2, map="shifted", form="own relation"),
    TwoHop(subjects=4, complexity=2, bridges=4),
    TwoHop(subjects=2, complexity=2, hops=3, map="shifted"),
    TwoHop(subjects=4, tokens_per_entity=2, form="own relation"),
]
every_task = pytest.mark.parametrize("task", TASKS, ids=repr)


def rows(task, split, seed=0):
    """Questions and answers of a split, as the tokens that count."""
    batch = task.sample(task.world(jr.key(seed)), split, jr.key(1))
    return [
        (tuple(inputs[: at[0] + 1]), tuple(targets))
        for inputs, at, targets, weight in zip(*map(np.asarray, batch[:4]), strict=True)
        if weight[0] > 0
    ]


@every_task
def test_a_composed_answer_is_what_the_facts_lead_to(task):
    facts = dict(rows(task, "train"))
    asked = dict(rows(task, "composed"))
    assert len(asked) == task.subjects * task.complexity**task.hops
    for question, answer in asked.items():
        here = question[: task.tokens_per_entity]
        for relation in question[task.tokens_per_entity :]:
            here = facts[(*here, relation)]
        assert here == answer


@every_task
def test_compositions_are_never_trained_and_facts_never_contradict(task):
    trained = rows(task, "train")
    assert len(dict(trained)) == len(trained)
    assert set(dict(trained)).isdisjoint(dict(rows(task, "composed")))


@pytest.mark.parametrize("map", ["shifted", "collapsed"])
@pytest.mark.parametrize("complexity", [1, 2, 4])
def test_complexity_is_the_number_of_objects_a_subject_reaches(map, complexity):
    task = TwoHop(subjects=5, complexity=complexity, map=map)
    reached = {}
    for question, answer in rows(task, "composed"):
        reached.setdefault(question[0], set()).add(answer)
    assert {len(objects) for objects in reached.values()} == {complexity}


def test_the_object_depends_on_the_first_relation_only_in_the_shifted_map():
    def by_last(map):
        answers = {}
        for (subject, _, last), answer in rows(TwoHop(complexity=3, map=map), "composed"):
            answers.setdefault((subject, last), set()).add(answer)
        return {len(each) for each in answers.values()}

    assert by_last("collapsed") == {1} and by_last("shifted") == {3}
    with pytest.raises(ConfigError, match="no one answer"):
        rows(TwoHop(complexity=3, map="shifted"), "skipped")


def test_identity_is_told_of_a_fraction_of_bridges_and_noise_misleads_some():
    def told(**changes):
        task = TwoHop(subjects=500, **changes)
        return [(q[0], a[0]) for q, a in rows(task, "train") if len(q) == 1]

    assert told(identity=0.0) == []
    assert len(told(identity=1.0)) == 500 and all(b == a for b, a in told(identity=1.0))
    assert 100 < len(told(identity=0.3)) < 200
    wrong = [b != a for b, a in told(noise=0.2)]
    assert 60 < sum(wrong) < 140
    assert all(a < 500 for _, a in told(noise=0.2)), "bridges are mistaken for bridges"


def test_shown_and_unshown_compositions_have_no_bridge_in_common():
    task = TwoHop(subjects=10, complexity=2, in_training=0.4)
    firsts = dict(rows(task, "first hop"))
    shown, unshown = (
        {firsts[q[:2]] for q, _ in rows(task, s)}
        for s in ("composed in training", "composed not in training")
    )
    assert shown and unshown and shown.isdisjoint(unshown)
    assert len(rows(task, "train with compositions")) == len(rows(task, "train")) + 2 * len(shown)


def test_worlds_differ_in_names_alone():
    one, other = (TwoHop(subjects=6).world(jr.key(seed)).names for seed in (0, 1))
    assert any(not jnp.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert all(jnp.array_equal(jnp.sort(a), jnp.sort(b)) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"complexity": 3, "bridges": 10}, "bridges=10 cannot be cut into complexity=3"),
        ({"complexity": 0}, "complexity must be at least 1"),
        ({"subjects": 1}, "subjects must be at least 2"),
        ({"hops": 1}, "hops must be at least 2"),
        ({"identity": 1.5}, "identity must be at most 1, not 1.5"),
        ({"form": "lone"}, "form cannot be 'lone': did you mean 'alone'"),
    ],
)
def test_a_task_that_cannot_be_is_refused_by_name(fields, message):
    with pytest.raises(ConfigError, match=message):
        TwoHop(**fields)
    with pytest.raises(ConfigError, match="leaves none"):
        OutOfContext(names=2, in_training=2)


# --------------------------------------------------------------------------------------- the theory

numbers = st.floats(-2, 2, allow_nan=False)


@settings(max_examples=50, deadline=None)
@given(st.tuples(*[numbers] * 12), st.integers(2, 7))
def test_lemma_2_is_the_nuclear_norm(values, N):
    form = Symmetric(*values)
    assert form.norm(N) == pytest.approx(np.linalg.norm(form.matrix(N), "nuc"), abs=1e-6)


def facts(N, identity, ask=False):
    """Token counts and targets of the structured setting, in the order of the theory."""
    eye, none = np.eye(N), np.zeros((N, N))
    r1, r2 = ([[1.0, 0.0]] * N, [[0.0, 1.0]] * N)
    bridges, objects = np.arange(N), N + np.arange(N)
    if ask:
        return np.hstack([eye, none, np.ones((N, 2))]), objects
    first, second = np.hstack([eye, none, r1]), np.hstack([none, eye, r2])
    same = np.hstack([none, eye, np.zeros((N, 2))])[: N * identity]
    return np.vstack([first, second, same]), np.concatenate(
        [bridges, objects, bridges[: len(same)]]
    )


REFERENCE = {5: (8.4082, 12.5804), 20: (38.2182, 51.1449), 50: (98.14, 126.9517)}
REFERENCE |= {100: (198.0995, 252.5587)}


@pytest.mark.parametrize("N", [4, 10])
def test_three_ways_agree_with_identity(N):
    counts, targets = facts(N, identity=True)
    whole = minimal_norm(counts, targets, 2 * N)
    twelve, eight, one = symmetric(N, True), simplified(N), with_identity(N)
    norms = [whole.primal, twelve.primal, eight.value, one.norm(N), one.norm(N)]
    np.testing.assert_allclose(norms, twelve.dual, rtol=2e-5)
    assert whole.dual <= whole.primal and whole.gap < 1e-4
    assert min(one.slacks(True).values()) > -1e-12
    leads = margins(whole.W, *facts(N, True, ask=True))
    np.testing.assert_allclose(leads, one.b1, atol=1e-3)
    assert min(one.margins().values()) == pytest.approx(one.b1)
    assert one.b1 == pytest.approx(twelve.solution.b1, abs=1e-4)
    assert one.b1 == pytest.approx(eight.solution.b1, abs=1e-4)


@pytest.mark.parametrize("N", [4, 10])
def test_three_ways_agree_without_identity_on_the_norm_and_the_sign(N):
    counts, targets = facts(N, identity=False)
    whole, twelve, closed = (
        minimal_norm(counts, targets, 2 * N),
        symmetric(N, False),
        without_identity(N),
    )
    expected = 2 * (N - 1) + (N + 1) ** -0.5
    np.testing.assert_allclose([whole.primal, twelve.primal, closed.norm(N)], expected, rtol=2e-5)
    assert twelve.dual == pytest.approx(expected, rel=1e-6)
    assert min(closed.slacks(False).values()) > -1e-12
    assert margins(whole.W, *facts(N, False, ask=True)).max() < 0
    assert min(twelve.solution.margins().values()) < 0 and min(closed.margins().values()) < 0


@pytest.mark.parametrize(("N", "norms"), REFERENCE.items())
def test_the_norms_are_the_reference_values(N, norms):
    assert without_identity(N).norm(N) == pytest.approx(norms[0], rel=1e-3)
    assert with_identity(N).norm(N) == pytest.approx(norms[1], rel=1e-3)


def test_a_million_subjects_are_solved_at_once_and_certified():
    symmetric(3, True)  # the first call imports the solver
    N, times = 10**6, []
    for _ in range(3):
        began = time.perf_counter()
        optimum = symmetric(N, True)
        times.append(time.perf_counter() - began)
    assert min(times) < 1.0
    assert optimum.primal == pytest.approx(optimum.dual, rel=1e-6)
    assert with_identity(N).norm(N) == pytest.approx(optimum.dual, rel=1e-6)
    assert with_identity(N).b1 == pytest.approx((1 - 0.5**0.5) ** 0.5, abs=1e-3)


@pytest.mark.parametrize("N", [3, 20, 1000])
def test_the_simplified_optimum_is_a_kkt_point_where_condition_12_holds(N):
    found = simplified(N)
    assert found.kkt_residual < 1e-6
    slacks = found.solution.slacks(identity=True)
    assert slacks["second hop, own bridge"] == pytest.approx(0, abs=1e-5)
    assert slacks["identity, own object"] == pytest.approx(0, abs=1e-5)
    assert found.solution.beta2 - found.solution.alpha2 == pytest.approx(2, abs=1e-4)
    assert found.solution.b1 > 0


@pytest.mark.parametrize("solve", [with_identity, without_identity, simplified])
def test_one_subject_is_no_setting(solve):
    with pytest.raises(Unsolved, match="N=1: two hops need at least 2 subjects"):
        solve(1)


def test_rows_that_contradict_each_other_are_named():
    counts = np.array([[1.0, 1, 0], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(Infeasible, match=r"row 0: 0 \+ 1 → 0; row 2: 0 \+ 1 → 1"):
        minimal_norm(counts, np.array([0, 2, 1]), 3)


def test_sums_of_tokens_cannot_add_modulo_two_and_the_rows_that_say_so_are_named():
    task = TwoHop(subjects=2, complexity=2, map="shifted")
    now = moment(task, EmbeddingMLP())
    with pytest.raises(ConfigError, match=r"contradict each other: row .* → .*; row"):
        MinimalNorm().solve(now)
    MinimalNorm().solve(moment(TwoHop(subjects=2, complexity=2, map="collapsed"), EmbeddingMLP()))


def test_a_solver_that_stops_early_is_never_believed():
    counts, targets = facts(6, identity=True)
    with pytest.raises(Inaccurate, match="raise `iterations`"):
        minimal_norm(counts, targets, 12, iterations=10)


def test_the_frobenius_program_is_certified_and_shares_nothing():
    now = moment(OutOfContext(classes=3, names=3), TokenSum())
    params = MinimalNorm("frobenius").solve(now)
    least = Margin("implied")(now.with_params(params))
    np.testing.assert_allclose(least, 0, atol=1e-4)
    shared = MinimalNorm().solve(moment(OutOfContext(classes=3, names=3), EmbeddingMLP()))
    sharing = moment(OutOfContext(classes=3, names=3), EmbeddingMLP()).with_params(shared)
    assert Margin("implied")(sharing).min() > 1 / 3  # m_train / (m_train + m_test), and more


# ------------------------------------------------------------------------------ stages and probes


def moment(task, model, seed=0):
    params = model.init(task, jr.key(seed))
    return Moment(task, task.world(jr.key(seed)), model, params, jr.key(seed))


@pytest.mark.parametrize("identity", [0.0, 1.0])
def test_the_theorems_model_answers_probes_like_a_trained_one(identity):
    now = moment(TwoHop(subjects=6, identity=identity), EmbeddingMLP(width=24))
    theory = (with_identity if identity else without_identity)(6)
    for solver in (SymmetricOptimum(), MinimalNorm()):
        solved = now.with_params(solver.solve(now))
        np.testing.assert_allclose(LogitTemplates()(solved), theory.matrix(6), atol=2e-3)
        np.testing.assert_allclose(SymmetricPart()(solved), theory, atol=2e-3)
        assert TheoryCorrelation()(solved) > 0.9999
        assert Asymmetry()(solved) < 1e-5 and RowSums()(solved) < 1e-5
        assert RelativeMargin("composed")(solved) == pytest.approx(
            min(theory.margins().values()), abs=2e-3
        )
        assert Accuracy("composed")(solved) == identity


def test_templates_are_the_product_of_the_factors():
    now = moment(TwoHop(subjects=4), EmbeddingMLP(width=8))
    subjects, bridges, objects = now.world.names
    order = jnp.concatenate([subjects, bridges, jnp.array([12, 13])])
    product = (now.params.embed @ now.params.project)[order]
    np.testing.assert_allclose(
        LogitTemplates()(now), product[:, jnp.concatenate([bridges, objects])], atol=1e-6
    )


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000))
def test_the_certificate_of_a_norm_never_promises_too_much(seed):
    """However templates are made, the bound they certify stays below the true optimum."""
    now = moment(TwoHop(subjects=5), EmbeddingMLP(width=24))
    solved = SymmetricOptimum().solve(now)
    noise = jax.tree.map(lambda p: 0.1 * jr.normal(jr.key(seed), p.shape), solved)
    params = jax.tree.map(lambda p, n: 3 * p + n, solved, noise)
    made = now.with_params(params)
    matrix = params.embed @ params.project
    least = float(jnp.min(Margin("train")(made)))
    gap = float(NormGap()(made))
    if least > 0:
        bound = (1 - gap) * float(jnp.linalg.norm(matrix, "nuc")) / least
        assert bound <= with_identity(5).norm(5) * (1 + 1e-5)
    else:
        assert gap == 1.0


def test_descent_comes_near_the_smallest_templates():
    probes = {"train loss": Loss("train"), "gap": NormGap(), "like theory": TheoryCorrelation()}
    training = (MarginDescent(steps=2000, learning_rate=1.0),)
    model = EmbeddingMLP(width=32, gamma=0.8)
    made = Experiment(TwoHop(subjects=5), model, training, probes, evaluations=2)
    run = execute({"it": made}, 2)["it"]
    assert run.final("gap").values.max() < 0.05 and run.final("like theory").values.min() > 0.99


def solver_experiment(**changes):
    fields = {"subjects": 4} | changes
    probes = {"train loss": Loss("train"), "success": Accuracy("composed")}
    training = (SymmetricOptimum(), AdamW(steps=4, learning_rate=1e-3))
    return Experiment(TwoHop(**fields), EmbeddingMLP(width=16), training, probes, evaluations=2)


def test_a_solver_is_a_stage_among_others_and_its_trouble_stays_in_its_lane():
    runs = execute({"good": solver_experiment(), "bad": solver_experiment(noise=0.5)}, 2)
    assert runs["good"].steps.tolist() == [0, 1, 3, 5] and not runs["good"].failures
    assert runs["good"].final("success").values.tolist() == [1.0, 1.0]
    assert runs["bad"].failures[0] == "seed 0: SymmetricOptimum needs TwoHop.noise=0.0"
    assert np.isnan(runs["bad"].final("train loss").values).all()


def test_models_without_templates_and_factors_too_narrow_are_refused():
    from ontogeny import GPT2

    with pytest.raises(ConfigError, match="GPT2 has no templates"):
        SymmetricOptimum().solve(moment(TwoHop(subjects=4), GPT2(width=8, depth=1, heads=1)))
    with pytest.raises(ConfigError, match="width=2 is below the solution's rank"):
        SymmetricOptimum().solve(moment(TwoHop(subjects=4), EmbeddingMLP(width=2)))


# ------------------------------------------------------------------------------ in a few numbers


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
