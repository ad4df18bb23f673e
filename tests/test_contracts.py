"""Promises that every task, model, stage and probe keeps, found by walking the package."""

import dataclasses
import pydoc

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from components import components, drawn, moment, on_examples

from ontogeny import (
    AdamW,
    Analogy,
    Experiment,
    FactorisedAttention,
    GradientDescent,
    Lego,
    MergedAttention,
    OneLayer,
    Until,
)
from ontogeny.core.fields import Component, described
from ontogeny.core.quantity import ANYTHING, RANGES
from ontogeny.core.types import Model, Probe, Solver, Stage, Task
from ontogeny.engine.tokens import in_words, names
from ontogeny.models.clauses import ClauseModel


def leaves(tree):
    return jax.tree.leaves(tree)


def equal(one, other):
    return all(jnp.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


def finite(tree):
    return all(jnp.isfinite(leaf).all() for leaf in leaves(tree))


def a_solver(stage):
    return isinstance(stage, Solver)


def a_rule(stage):
    return not isinstance(stage, Solver)


# ------------------------------------------------------------------------------- every component


@pytest.mark.parametrize(
    "component",
    [Experiment, Until, *components(Component), *components(Component, "ontogeny.llm")],
    ids=lambda kind: kind.__name__,
)
def test_every_field_says_what_it_means(component):
    for field in described(component):
        # one that is a component by default says itself what it is
        assert field.doc or isinstance(field.default, Component), f"{component.__name__}.{field}"
        assert not field.doc.endswith(".")


def test_help_tells_what_each_field_means():
    text = pydoc.render_doc(AdamW)
    for words in ("learning_rate: η, the size of a step (a number at least 0)", "default 0.999"):
        assert words in text
    assert text.count("Fields:") == 1


@on_examples(Component)
def test_every_leaf_is_a_float(example):
    assert all(isinstance(leaf, float) for leaf in leaves(example.component))


# ------------------------------------------------------------------------------------------ tasks


def rows(task, *splits):
    """Rows of some splits, or of all, of one world."""

    @jax.jit
    def draw():
        world = task.world(jr.key(0))
        return {split: task.sample(world, split, jr.key(1)) for split in splits or task.splits}

    return draw()


@on_examples(Task)
def test_the_same_key_draws_the_same_rows_and_they_fit_the_task(example):
    task = example.component
    drawn, again = rows(task), rows(task)
    assert equal(drawn, again)
    for batch in drawn.values():
        assert batch.inputs.shape[1] <= task.length
        if batch.first is not None:
            tokens, which = batch.first
            assert which.min() >= 0 and which.max() < len(tokens)
            assert jnp.array_equal(jnp.asarray(tokens)[which], batch.inputs[:, 0])
        # an answer of LEGO is a variable and a value, with outputs for each
        answers = task.variables * task.values if isinstance(task, Lego) else task.answers
        for tokens, most in ((batch.inputs, task.vocab), (batch.targets, answers)):
            if jnp.issubdtype(tokens.dtype, jnp.integer):
                assert tokens.min() >= 0 and tokens.max() < most
        assert batch.at.min() >= 0 and batch.at.max() < batch.inputs.shape[1]
        assert batch.weights.min() >= 0 and batch.weights.sum() > 0


@on_examples(Task, where=lambda task: task.held_out)
def test_what_is_held_out_is_never_trained(example):
    held_out = example.component.held_out

    def questions(batch):
        fields = (batch.inputs, batch.at, batch.weights)
        asked = zip(*map(np.asarray, fields), strict=True)
        return {tuple(row[: read[0] + 1]) for row, read, weight in asked if weight.any()}

    train, *others = map(questions, rows(example.component, "train", *held_out).values())
    assert train and all(others)
    assert all(train.isdisjoint(other) for other in others)


@on_examples(Task)
def test_tokens_and_targets_have_names_that_fit_the_rows(example):
    task = example.component
    world = jax.jit(task.world)(jr.key(0))
    called, answers = names(task, world), task.answer_names(world)  # distinct, without blanks
    assert len(called) == task.vocab
    for batch in rows(task).values():
        whole = jnp.issubdtype(batch.targets.dtype, jnp.integer)
        assert not whole or batch.targets.max() < len(answers)
        lines = in_words(task, world, batch, rows=3)
        assert len(lines) == min(3, len(batch.inputs)) and all("→" in line for line in lines)
        (first,) = in_words(task, world, batch, rows=[0])
        assert first.startswith(called[batch.inputs[0, 0]])


# ----------------------------------------------------------------------------------------- models


def moved(now):
    """A moment whose parameters are no longer as small, or as alike, as they begin."""
    floats, others = eqx.partition(now.params, eqx.is_inexact_array)
    flat, unflatten = jax.flatten_util.ravel_pytree(floats)
    floats = unflatten(flat + 0.3 * jr.normal(jr.key(5), flat.shape))
    return now.with_params(eqx.combine(floats, others))


@on_examples(Model)
def test_models_read_where_they_are_asked_and_see_nothing_that_comes_later(example):
    task, model = example.task, example.component
    by_clauses = isinstance(model, ClauseModel)  # which are read at all answers, in their order

    @jax.jit
    def traces():
        now = moved(moment(task, model))
        batch = now.batch(task.splits[0])
        row, other, at = batch.inputs[0], batch.inputs[-1], batch.at[0]
        at = at if by_clauses else jnp.arange(len(row))
        changed = jnp.where(jnp.arange(len(row)) > at[0], other, row)
        asked = at if by_clauses else at[:1]
        return [model(now.params, *each) for each in ((row, at), (row, asked), (changed, asked))]

    whole, first, changed = traces()
    assert whole.outputs.shape[1] >= task.answers and finite(whole)
    assert jnp.allclose(whole.outputs[0], first.outputs[0], atol=1e-5)
    if getattr(model, "causal", True):
        assert jnp.allclose(first.outputs[0], changed.outputs[0], atol=1e-5)
    if not isinstance(model, FactorisedAttention | MergedAttention):  # theirs is not a softmax
        for weights in whole.attention:
            assert jnp.allclose(weights.sum(axis=-1), 1.0, atol=1e-5)


# ----------------------------------------------------------------------------------------- stages


@on_examples(Stage, where=a_rule)
def test_a_zero_learning_rate_moves_nothing_and_a_small_one_moves_a_little(example):
    @jax.jit
    def moved(stage):
        now = moment(example.task, example.model)
        start = jnp.zeros((), jnp.int32)
        return now.params, stage.advance(now, stage.init(now), start, stage.steps)[0]

    assert equal(*moved(dataclasses.replace(example.component, learning_rate=0.0)))
    before, after = moved(example.component)
    assert finite(after) and not equal(before, after)
    assert [leaf.shape for leaf in leaves(before)] == [leaf.shape for leaf in leaves(after)]


@on_examples(Stage, where=a_solver)
def test_solvers_find_parameters_that_the_model_runs_with(example):
    now = drawn(example.task, example.model)
    solved = example.component.solve(now)
    assert jax.tree.structure(solved) == jax.tree.structure(now.params) and finite(solved)
    loss = jax.jit(lambda params: now.with_params(params).loss(now.batch(now.task.splits[0])))
    assert jnp.isfinite(loss(solved))
    params, _ = example.component.step(now, example.component.init(now))
    assert equal(params, now.params)  # the engine puts the solution in place, no step does


def test_a_stage_moves_only_the_groups_it_names():
    now = moment(Analogy(tuples=4, ratio=3.0), OneLayer(width=20, scale=0.5))
    stage = GradientDescent(steps=1, learning_rate=1.0, trainable=("value",))
    params, _ = jax.jit(lambda: stage.step(now, stage.init(now)))()
    assert jnp.array_equal(params.output, now.params.output)
    assert jnp.array_equal(params.key_query, now.params.key_query)
    assert not jnp.array_equal(params.value, now.params.value)


def test_drawn_rows_come_as_often_as_they_count():
    from ontogeny.training.descent import drawn

    batch = Analogy(tuples=4, ratio=3.0).sample((), "train", jr.key(0))
    rows = drawn(batch, 7000, jr.key(2))
    similarity = jnp.mean(rows.inputs[:, 1] == 16)
    assert jnp.allclose(similarity, 6 / 7, atol=0.02)
    assert jnp.allclose(rows.weights, 1.0)


# ----------------------------------------------------------------------------------------- probes


@on_examples(Probe)
def test_probes_answer_with_finite_numbers_of_one_shape(example):
    @jax.jit
    def answers():
        now = moment(example.task, example.model)
        return example.component(now), example.component(now.with_key(jr.key(7)))

    one, other = answers()
    assert jnp.isfinite(one).all() and jnp.isfinite(other).all()
    assert one.shape == other.shape and jnp.issubdtype(one.dtype, jnp.floating)
    least, most = RANGES.get(example.component.unit, ANYTHING)
    assert (one >= least - 1e-5).all() and (one <= most + 1e-5).all()  # up to rounding
