"""Solved and trained templates answer the same probes."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_hop_setting import moment

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
    RelativeMargin,
    RowSums,
    SymmetricOptimum,
    SymmetricPart,
    TheoryCorrelation,
    TwoHop,
    execute,
)
from ontogeny.theory.two_hop import (
    with_identity,
    without_identity,
)


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
