"""Together is alone; resumed is uninterrupted; one program per structure."""

import os
import re
import sys
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small import tiny

from ontogeny import Accuracy, AdamW, Decoder, GradientDescent, Loss, Store, Until, execute
from ontogeny.core.process import give_back
from ontogeny.core.types import Model
from ontogeny.engine import program as one
from ontogeny.engine.evaluation import run_ahead
from ontogeny.engine.execute import plan, recall
from ontogeny.engine.pools.here import Here
from ontogeny.engine.pools.processes import Processes
from ontogeny.engine.runs import specs
from ontogeny.engine.units import Interrupted, Unit, follow, train
from ontogeny.models.layers import unstacked
from ontogeny.training import descent


def same(one_run, other, tolerance=1e-5):
    for name, values in one_run.answers.items():
        np.testing.assert_allclose(values, other.answers[name], atol=tolerance, rtol=tolerance)


def test_running_together_is_running_alone():
    pair = {
        "a": tiny(learning_rate=0.3),
        "b": tiny(learning_rate=1.0, ratio=4.0),
        "c": tiny(width=20),
    }
    together = execute(pair, seeds=3)
    for name, experiment in pair.items():
        same(together[name], execute({name: experiment}, seeds=3)[name])


def test_more_seeds_do_not_change_the_first_ones():
    few, many = execute({"x": tiny()}, seeds=2)["x"], execute({"x": tiny()}, seeds=4)["x"]
    for name, values in few.answers.items():
        np.testing.assert_allclose(values, many.answers[name][:2], atol=1e-5)


def test_seeds_differ_and_training_does_something():
    run = execute({"x": tiny()}, seeds=3)["x"]
    losses = run.curve("train loss")
    assert len(set(losses[:, 0].tolist())) == 3
    assert (losses[:, -1] < losses[:, 0]).all()


def test_experiments_of_one_structure_are_traced_once(monkeypatch):
    traces = []
    advance = one.advance
    monkeypatch.setattr(one, "advance", lambda *a, **k: (traces.append(1), advance(*a, **k))[1])
    experiments = {
        f"{learning_rate}": tiny(learning_rate=learning_rate, width=24, steps=10)
        for learning_rate in (0.1, 0.2, 0.3)
    }
    execute(experiments, seeds=2)
    # one per stage to run, one per stage to count the cost in the plan
    assert len(traces) == 2 * 2


@pytest.mark.parametrize("after", range(2, 11))
def test_resumed_at_any_look_is_uninterrupted(store, after):
    whole = execute({"x": tiny()}, seeds=2)["x"]
    both = specs("x", tiny(), range(2))
    (unit,) = plan(both, Here(), store)
    evaluations = 0

    def stop():
        return "stop" if evaluations >= after else None

    def count(_):
        nonlocal evaluations
        evaluations += 1

    with pytest.raises(Interrupted):
        follow(train(unit, store, stop), count)
    (rest,) = plan(both, Here(), store)
    assert rest.cost < unit.cost
    resumed = execute({"x": tiny()}, seeds=2, store=store)["x"]
    same(whole, resumed, tolerance=0)
    assert not list((store.root / "partial").iterdir())


def test_a_stage_ends_for_each_run_when_it_has_passed_the_level(store):
    """Lanes that ended wait for the others unchanged; alone or together, they end at one step."""
    until = Until("train loss", level=1.6)
    training = (
        GradientDescent(steps=40, learning_rate=0.6, until=until),
        GradientDescent(steps=10, learning_rate=5.0),
    )
    experiment = tiny(training=training, evaluations=10)
    run = execute({"x": experiment}, seeds=4, store=store)["x"]
    losses = run.curve("train loss")[:, :11]
    ends = [int(np.argmax(seed < 1.6)) for seed in losses]
    assert len(set(ends)) > 1 and min(ends) > 0
    for seed, end in zip(losses, ends, strict=True):
        assert (seed[end:] == seed[end]).all()
    same(run, execute({"x": experiment}, seeds=4)["x"])
    alone = execute({"x": experiment}, seeds=1)["x"]
    np.testing.assert_allclose(alone.curve("train loss")[0], run.curve("train loss")[0], rtol=1e-5)


def test_a_run_that_blows_up_says_so_and_does_not_disturb_its_neighbours():
    mad, sane = tiny(learning_rate=1e30), tiny(learning_rate=0.5)
    runs = execute({"mad": mad, "sane": sane}, seeds=2)
    assert not runs["sane"].failures
    assert len(runs["mad"].failures) == 2
    assert "seed 0: " in runs["mad"].failures[0] and "by step" in runs["mad"].failures[0]
    same(runs["sane"], execute({"sane": sane}, seeds=2)["sane"])


def test_what_the_store_has_is_not_run_again(store, monkeypatch):
    first = execute({"x": tiny()}, seeds=2, store=store)["x"]
    monkeypatch.setattr("ontogeny.engine.execute.plan", None)
    same(first, execute({"again": tiny()}, seeds=2, store=store)["again"], tolerance=0)
    found = recall({"x": tiny()}, 2, store)
    assert found is not None and recall({"x": tiny()}, 3, store) is None


def test_units_share_the_work_and_fit_the_memory(monkeypatch):
    eight = specs("x", tiny(), range(8))
    assert len(plan(eight, Processes(2))) == 1  # too little to send
    monkeypatch.setattr("ontogeny.engine.execute.WORTH_SENDING", 1e-9)
    fours = plan(eight, Processes(2))
    assert [(len(unit.specs), unit.width) for unit in fours] == [(4, 4)] * 2
    assert all(unit.cost > 0 for unit in fours) and [unit.first for unit in fours] == [True, False]
    monkeypatch.setattr("ontogeny.engine.pools.processes.memory", lambda: 1.0)
    ones = plan(eight, Processes(2))
    assert [(len(unit.specs), unit.width) for unit in ones] == [(1, 1)] * 8


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's heap")
def test_what_is_free_is_given_back():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    pieces = [bytes(5000) for _ in range(20_000)]
    pieces = pieces[-1:]  # the heap cannot shrink from its end
    before = resident()
    give_back()
    assert before - resident() > 50e6 and len(pieces) == 1


def test_units_of_one_structure_share_one_program_however_many_lanes_they_have(monkeypatch):
    monkeypatch.setattr("ontogeny.engine.execute.WORTH_SENDING", 1e-9)
    seven = plan(specs("x", tiny(), range(7)), Processes(2))
    assert [len(unit.specs) for unit in seven] == [4, 3]
    assert {unit.width for unit in seven} == {4}  # the second is filled up


@pytest.mark.parametrize("runs", [1, 2, 3, 4])
def test_batches_that_are_filled_up_answer_like_any(runs):
    whole = execute({"x": tiny()}, seeds=4)["x"]
    unit = Unit(tuple(specs("x", tiny(), range(runs))), 1.0, width=4)
    records = follow(train(unit), lambda _: None)
    assert len(records) == runs
    for seed, record in enumerate(records):
        for name, values in record.answers.items():
            np.testing.assert_allclose(values, whole.answers[name][seed], atol=1e-5, rtol=1e-5)


def test_what_is_compiled_ahead_is_what_runs(monkeypatch, caplog):
    monkeypatch.setattr("ontogeny.engine.units.remembers_programs", lambda: True)

    def compiled():  # jax 0.6's events name no programs, its log does
        return re.findall(r"Finished XLA compilation of (\S+)", caplog.text)

    experiment = tiny(width=30, steps=10)  # not met before
    with jax.log_compiles():
        follow(train(Unit(tuple(specs("x", experiment, [0, 1])), 1.0, width=2)), lambda _: None)
    assert compiled().count("jit(evaluate_all)") == 1
    assert compiled().count("jit(advance_all)") == len(experiment.training)


@pytest.mark.parametrize("wish", ["pause", "stop"])
def test_a_unit_is_left_off_as_asked_and_goes_on_where_it_was(store, wish):
    unit = Unit(tuple(specs("x", tiny(), range(2))), 1.0, width=2)
    whole = follow(train(unit), lambda _: None)
    wishes = iter([None, None, wish])
    with pytest.raises(Interrupted):
        follow(train(unit, store, lambda: next(wishes)), lambda _: None)
    seen = []
    rest = follow(train(unit, store), seen.append)
    assert seen[0].step == 12 and seen[0].done == unit.done(4)  # it did not begin anew
    for record, expected in zip(rest, whole, strict=True):
        for name, values in expected.answers.items():
            np.testing.assert_array_equal(record.answers[name], values)


def test_a_unit_that_cannot_be_saved_is_not_paused(tmp_path, caplog):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the store's folder should be")
    unit = Unit(tuple(specs("x", tiny(), range(2))), 1.0, width=2)
    records = follow(train(unit, Store(blocked / "store"), lambda: "pause"), lambda _: None)
    assert len(records) == 2 and "no checkpoint of x" in caplog.text


def test_pieces_of_one_program_wait_until_it_is_compiled(monkeypatch):
    monkeypatch.setattr("ontogeny.engine.execute.WORTH_SENDING", 1e-9)
    narrow, wide = (specs(str(width), tiny(width=width), range(4)) for width in (16, 17))
    first, second, *later = plan(narrow + wide, Processes(4))
    assert first.specs[0].label != second.specs[0].label
    assert {unit.specs[0].label for unit in later} == {"16", "17"}


def test_a_full_disk_costs_the_record_not_the_run(tmp_path, caplog):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the store's folder should be")
    run = execute({"x": tiny()}, seeds=1, store=Store(blocked / "store"))["x"]
    assert run.curve("train loss").shape == (1, 11)
    assert "is not kept" in caplog.text


def test_parameters_without_numbers_do_no_harm():
    model = Decoder(width=8, heads=2, positions="none")  # its table of positions has no rows
    probes, training = {"loss": Loss("train")}, (GradientDescent(steps=2, learning_rate=0.1),)
    run = execute({"it": tiny(model=model, training=training, probes=probes, evaluations=1)}, 2)[
        "it"
    ]
    assert np.isfinite(run.final("loss").values).all()


def test_a_look_runs_rows_of_one_shape_once_and_answers_what_each_probe_would_alone(monkeypatch):
    calls = []
    run = Model.batched
    monkeypatch.setattr(Model, "batched", lambda *all: calls.append(all) or run(*all))
    splits = ("train", "similarity", "conclusion", "sources")  # of two tokens each, and of one
    probes = {split: Loss(split) for split in splits} | {"again": Accuracy("conclusion")}
    experiment = tiny(probes=probes)
    seed, step = jax.numpy.zeros((), int), jax.numpy.ones((), int)
    state = one.begin(experiment, seed)
    together = one.evaluate(experiment, seed, state, step)
    assert len(calls) == 2
    for name, probe in probes.items():
        alone = one.evaluate(tiny(probes={name: probe}), seed, state, step)[name]
        np.testing.assert_allclose(together[name], alone, rtol=1e-6)
    now = run_ahead(one._moment(experiment, state, jax.random.key(0)), splits)
    assert set(now.known) == set(splits)
    other = jax.tree.map(lambda leaf: 2 * leaf, state.params)
    for changed in (now.with_params(other), now.with_key(jax.random.key(1))):
        assert not changed.known
    assert Loss("train")(now.with_params(other)) != Loss("train")(now)


def test_layers_that_are_stacked_are_taken_apart_one_by_one():
    stack = {"a": jax.numpy.arange(24.0).reshape(3, 2, 4), "b": jax.numpy.arange(3.0)}
    layers = unstacked(stack, 3)
    for n, layer in enumerate(layers):
        jax.tree.map(
            lambda part, whole, n=n: np.testing.assert_array_equal(part, whole[n]), layer, stack
        )

    def by_slices(tree):
        return sum(
            (n + 1) * jax.numpy.sum(leaf[n] ** 2) for leaf in tree.values() for n in range(3)
        )

    def by_layers(tree):
        parts = enumerate(unstacked(tree, 3))
        return sum((n + 1) * jax.numpy.sum(x**2) for n, layer in parts for x in layer.values())

    jax.tree.map(np.testing.assert_allclose, jax.grad(by_slices)(stack), jax.grad(by_layers)(stack))


@pytest.mark.parametrize("parts", [(), ("key_query", "value")])
def test_few_parameters_move_alike_as_one_vector(parts, monkeypatch):
    experiment = replace(
        tiny(), training=(AdamW(steps=5, learning_rate=0.1, weight_decay=0.1, trainable=parts),)
    )
    seed = jnp.zeros((), int)
    begun = one.begin(experiment, seed)

    def moved():
        state = one.enter(experiment, seed, begun, 0)
        return jax.jit(lambda state: one.advance(experiment, seed, state, seed, jnp.asarray(5), 0))(
            state
        )

    few = moved()
    monkeypatch.setattr(descent, "_FEW", 0)
    many = moved()
    sizes = [len(jax.tree.leaves(state.memory)) for state in (few, many)]
    assert sizes[0] < sizes[1] and not eqx.tree_equal(few.params, begun.params)
    for x, y in zip(jax.tree.leaves(few.params), jax.tree.leaves(many.params), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)
