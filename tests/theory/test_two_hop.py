"""The convex program behind two hops, solved three ways."""

import time
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_hop_setting import moment

from ontogeny import (
    ConfigError,
    EmbeddingMLP,
    Margin,
    MinimalNorm,
    OutOfContext,
    TokenSum,
    TwoHop,
)
from ontogeny.theory.minimal_norm import (
    Inaccurate,
    Infeasible,
    Unsolved,
    directions,
    margins,
    minimal_norm,
)
from ontogeny.theory.two_hop import (
    Symmetric,
    simplified,
    with_first_relation,
    with_identity,
    without_identity,
)
from ontogeny.theory.two_hop_program import smallest
from ontogeny.theory.two_hop_symmetry import COMPOSED, IDENTITY, SKIPPED, Structure

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
    twelve, eight, one = smallest(Structure(N)), simplified(N), with_identity(N)
    norms = [whole.primal, twelve.primal, eight.value, one.norm(N), one.norm(N)]
    np.testing.assert_allclose(norms, twelve.dual, rtol=2e-5)
    assert whole.dual <= whole.primal and whole.gap < 1e-4
    assert min(one.slacks(True).values()) > -1e-12
    leads = margins(whole.W, *facts(N, True, ask=True))
    np.testing.assert_allclose(leads, one.b1, atol=1e-3)
    assert min(one.margins().values()) == pytest.approx(one.b1)
    assert one.b1 == pytest.approx(twelve.margin(COMPOSED), abs=1e-4)
    assert one.b1 == pytest.approx(eight.solution.b1, abs=1e-4)


@pytest.mark.parametrize("N", [4, 10])
def test_three_ways_agree_without_identity(N):
    counts, targets = facts(N, identity=False)
    whole, twelve, closed = (
        minimal_norm(counts, targets, 2 * N),
        smallest(Structure(N, form="none")),
        without_identity(N),
    )
    expected = 2 * (N - 1) + (N + 1) ** -0.5
    np.testing.assert_allclose([whole.primal, twelve.primal, closed.norm(N)], expected, rtol=2e-5)
    assert twelve.dual == pytest.approx(expected, rel=1e-6)
    assert min(closed.slacks(False).values()) > -1e-12
    np.testing.assert_allclose(
        margins(whole.W, *facts(N, False, ask=True)), -N / (N + 1), atol=1e-3
    )
    assert twelve.margin(COMPOSED) == pytest.approx(-N / (N + 1), abs=1e-4)
    assert min(closed.margins().values()) == pytest.approx(-N / (N + 1))
    assert twelve.margin(SKIPPED) == pytest.approx(-(N - 1) / (N + 1), abs=1e-4)


@pytest.mark.parametrize(("N", "norms"), REFERENCE.items())
def test_the_norms_are_the_reference_values(N, norms):
    assert without_identity(N).norm(N) == pytest.approx(norms[0], rel=1e-3)
    assert with_identity(N).norm(N) == pytest.approx(norms[1], rel=1e-3)


def test_a_million_subjects_are_solved_at_once_and_certified():
    smallest(Structure(3))  # the first call imports the solver
    N, times = 10**6, []
    for _ in range(3):
        began = time.perf_counter()
        optimum = smallest(Structure(N))
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


@pytest.mark.parametrize(
    "solve",
    [
        with_identity,
        without_identity,
        with_first_relation,
        simplified,
        lambda N: smallest(Structure(N)),
    ],
)
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


# ---------------------------------------------------------------- any complexity, any form


STRUCTURES = [
    Structure(3, complexity, form) for complexity in (1, 2) for form in ("none", *IDENTITY)
]
every_structure = pytest.mark.parametrize("structure", STRUCTURES, ids=str)


def in_rows(structure, split="train"):
    """Token counts and targets of the task of this structure, in the order of the theory."""
    told = structure.form != "none"
    task = TwoHop(
        subjects=structure.subjects,
        complexity=structure.complexity,
        identity=float(told),
        form=structure.form if told else "alone",
    )
    now = moment(task, EmbeddingMLP())
    batch = now.batch(split)
    inputs, at, targets, weights = map(np.asarray, batch[:4])
    upto = np.arange(inputs.shape[1]) <= at
    counts = ((inputs[..., None] == np.arange(task.vocab)) & upto[..., None]).sum(axis=1) * 1.0
    names = [np.asarray(each) for each in now.world.names]
    relations = task.symbols + np.arange(task.vocab - task.symbols)
    tokens, answers = np.concatenate([*names[:2], relations]), np.concatenate(names[1:])
    asked = weights[:, 0] > 0
    return counts[asked][:, tokens], np.argsort(answers)[targets[asked, 0]]


@every_structure
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**31 - 1))
def test_blocks_have_the_nuclear_norm_of_the_whole_matrix(structure, seed):
    values = np.random.default_rng(seed).normal(size=len(structure.orbits))
    whole = np.linalg.norm(structure.matrix(values), "nuc")
    assert structure.norm(values) == pytest.approx(whole, rel=1e-9)


@every_structure
def test_kinds_of_questions_have_the_margins_of_the_tasks_rows(structure):
    values = np.random.default_rng(0).normal(size=len(structure.orbits))
    rows = in_rows(structure)
    least = min(structure.margin(values, question) for question in structure.trained)
    assert margins(structure.matrix(values), *rows).min() == pytest.approx(least)
    composed = in_rows(structure, "composed")
    ours = margins(structure.matrix(values), *composed)
    np.testing.assert_allclose(ours, structure.margin(values, COMPOSED))


@every_structure
def test_the_program_by_symmetry_is_the_program_over_all_matrices(structure):
    whole = minimal_norm(*in_rows(structure), answers=2 * 3 * structure.complexity)
    optimum = smallest(structure)
    assert optimum.primal == pytest.approx(optimum.dual, rel=1e-5)
    assert optimum.primal == pytest.approx(whole.primal, rel=2e-4)
    lead = margins(whole.W, *in_rows(structure, "composed"))
    np.testing.assert_allclose(lead, optimum.margin(COMPOSED), atol=0.02)


@pytest.mark.parametrize("N", [2, 7, 33])
def test_with_the_first_relation_the_composed_question_is_a_tie(N):
    optimum, closed = smallest(Structure(N, form="first relation")), with_first_relation(N)
    assert closed.norm(N) == pytest.approx(2 * (N - 1) + N**0.5)
    assert optimum.dual == pytest.approx(closed.norm(N), rel=1e-6)
    np.testing.assert_allclose(
        optimum.structure.matrix(optimum.values), closed.matrix(N), atol=1e-4
    )
    assert optimum.margin(SKIPPED) == pytest.approx(1, abs=1e-4)
    assert min(closed.margins().values()) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("form", ["none", "alone", "own relation"])
def test_there_is_one_optimum(form):
    structure = Structure(4, 1, form)
    rows = in_rows(structure)
    solution = minimal_norm(*rows, answers=8, tolerance=1e-7)
    assert len(directions(solution, *rows)) == 0


@pytest.mark.parametrize("N", [3, 4])
def test_there_is_one_optimum_with_the_first_relation_too(N):
    """Renaming leaves one optimum alone unchanged, and in its space there is no other."""
    rows = in_rows(Structure(N, 1, "first relation"))
    solution, closed = minimal_norm(*rows, answers=2 * N, tolerance=1e-7), with_first_relation(N)
    np.testing.assert_allclose(solution.W, closed.matrix(N), atol=1e-6)
    found = directions(solution, *rows)
    assert len(found) > 0, "or this test is of no use"
    orders = [np.array(order) for order in permutations(range(N))]
    tokens = [np.concatenate([order, N + order, [2 * N, 2 * N + 1]]) for order in orders]
    answers = [np.concatenate([order, N + order]) for order in orders]
    renamed = [found[:, a][:, :, b] for a, b in zip(tokens, answers, strict=True)]
    np.testing.assert_allclose(np.mean(renamed, axis=0), 0, atol=1e-6)
    assert len(directions(solution, *rows, inside=closed.matrix(N))) == 0
