"""The PyTorch programs compute what the laboratory computes, step by step."""

import importlib
import json
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from ontogeny import (
    GPT2,
    AdamW,
    Analogy,
    ClauseTransformer,
    EmbeddingMLP,
    Experiment,
    GradientDescent,
    InductionPair,
    Lego,
    Loss,
    Momentum,
    OneHotMLP,
    OneLayer,
    RolloutAccuracy,
    Templates,
    Transformer,
    Triggers,
    TwoHop,
)
from ontogeny.bench import rivals
from ontogeny.core.types import Batch, Moment, partition
from ontogeny.engine import program
from ontogeny.models.induction import MEMORIES
from ontogeny.models.rollout import rollout

STEPS = 4


def of(task, model, stage):
    return Experiment(task, model, (stage,), {"loss": Loss("train")}, evaluations=1)


CASES = {
    "OneLayer": of(
        Analogy(tuples=3),
        OneLayer(width=16, scale=0.3),
        GradientDescent(steps=1, learning_rate=0.1),
    ),
    "its attention": of(
        Analogy(tuples=3),
        OneLayer(width=16, scale=0.3),
        GradientDescent(steps=1, learning_rate=0.1, trainable=("key_query", "value")),
    ),
    "EmbeddingMLP": of(
        TwoHop(subjects=5), EmbeddingMLP(width=8), GradientDescent(steps=1, learning_rate=0.5)
    ),
    "InductionPair": of(
        Triggers(length=32, reads=16, rows=4),
        InductionPair(width=16),
        Momentum(steps=1, learning_rate=0.05, trainable=MEMORIES),
    ),
    "ClauseTransformer": of(
        Lego(chain=3, variables=10, rows=4),
        ClauseTransformer(width=16, mlp_width=16),
        AdamW(steps=1, learning_rate=0.01),
    ),
    "its one-hot kind": of(
        Lego(chain=3, variables=10, rows=4),
        ClauseTransformer(width=16, mlp_width=16, one_hot=True),
        AdamW(steps=1, learning_rate=0.01),
    ),
    "Transformer": of(
        Templates(templates=("αα: +1", "αβ: -1"), most=32, samples=32.0),
        Transformer(width=16, heads=2, head_dim=8, mlp_width=16, kq_identity=4.0, vo_identity=2.0),
        AdamW(steps=1, learning_rate=0.01, batch_size=8),
    ),
    "OneHotMLP": of(
        Templates(templates=("αα: +1", "αβ: -1"), most=32, samples=32.0),
        OneHotMLP(width=16, incidence=0.5),
        AdamW(steps=1, learning_rate=0.01, batch_size=8),
    ),
    "GPT2": of(
        Analogy(tuples=3),
        GPT2(width=16, depth=2, heads=2),
        AdamW(steps=1, learning_rate=0.01, weight_decay=0.1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_loses_as_much_as_the_laboratory_at_every_step(name, tmp_path, monkeypatch):
    experiment = CASES[name]
    (stage,) = experiment.training
    rivals.export(experiment, stage, tmp_path / "data.npz", batches=2)
    monkeypatch.syspath_prepend(str(rivals.PROGRAMS))
    train = importlib.import_module("train")  # here, where torch is loaded: it takes seconds
    theirs = train.trained(tmp_path / "data.npz", STEPS, "eager")["losses"]
    state = jax.jit(partial(program.begin, experiment))(jnp.zeros((), jnp.int32))
    batches = [
        Batch(**{field: fields[field] for field in Batch._fields[:4]})
        for fields in rivals._batches(experiment, stage, state, 2)
    ]
    rule = stage.optimizer(partition(state.params, stage.trainable)[0])

    @jax.jit
    def step(params, memory, batch):
        moving, still = partition(params, stage.trainable)

        def loss(moving):
            every = eqx.combine(moving, still)
            return Moment(experiment.task, state.world, experiment.model, every, key).loss(batch)

        value, slope = jax.value_and_grad(loss)(moving)
        updates, memory = rule.update(slope, memory, moving)
        return value, eqx.combine(optax.apply_updates(moving, updates), still), memory

    params, key, ours = state.params, jax.random.key(0), []
    memory = rule.init(partition(params, stage.trainable)[0])
    for turn in range(STEPS):
        value, params, memory = step(params, memory, batches[turn % 2])
        ours.append(float(value))
    assert theirs[:STEPS] == pytest.approx(ours, rel=2e-4)
    assert len(set(ours)) > 1  # it moves


def read(path):
    with np.load(path) as file:
        return dict(file)


def test_a_program_answers_chains_as_the_laboratory_does(tmp_path, monkeypatch):
    task = Lego(chain=3, variables=20, rows=8)
    model = ClauseTransformer(width=16, mlp_width=16, one_hot=True)
    probes = {"3 steps": RolloutAccuracy("3 steps"), "6 steps": RolloutAccuracy("6 steps")}
    experiment = Experiment(
        task, model, (AdamW(steps=1, learning_rate=0.01),), probes, evaluations=1
    )
    rivals.export(experiment, experiment.training[0], tmp_path / "data.npz")
    stored = read(tmp_path / "data.npz")
    assert json.loads(str(stored["about"]))["chains"] == 2
    monkeypatch.syspath_prepend(str(rivals.PROGRAMS))
    programs = importlib.import_module("programs")
    params = {k[7:]: torch.tensor(stored[k]) for k in stored if k.startswith("params.")}
    rival = programs.ClauseTransformer(params, {"heads": model.heads})
    state = jax.jit(partial(program.begin, experiment))(jnp.zeros((), int))
    for n, split in enumerate(probes):
        batch = jax.jit(partial(task.sample, split=split))(state.world, key=jax.random.key(0))
        asked = (torch.tensor(stored[f"chains{n}.{name}"]) for name in ("predicates", "answer"))
        theirs = rival.follow(*(each.long() for each in asked))
        ours = jax.jit(partial(rollout, model, task=task))(state.params, batch)
        assert len(np.unique(ours)) > 3  # it does not always say the same
        np.testing.assert_array_equal(theirs, ours)
    timed = rivals.trained(tmp_path / "data.npz", "eager", 5)
    assert timed["following"] > 0
    assert timed["drawing"] == 0


def test_sequences_are_drawn_as_the_laboratory_draws_them(tmp_path, monkeypatch):
    task = Triggers(length=64, reads=8, rows=2000)
    experiment = of(task, InductionPair(width=8), AdamW(steps=1, learning_rate=0.01))
    rivals.export(experiment, experiment.training[0], tmp_path / "data.npz", batches=1)
    stored = read(tmp_path / "data.npz")
    monkeypatch.syspath_prepend(str(rivals.PROGRAMS))
    drawing = importlib.import_module("drawing")
    told = {k[5:]: torch.tensor(stored[k]) for k in stored if k.startswith("task.")}
    torch.manual_seed(0)
    theirs = drawing.triggers(told, json.loads(str(stored["about"]))["drawn"])
    ours = {name: stored[f"batch0.{name}"] for name in theirs}
    for name, values in theirs.items():
        assert values.shape == ours[name].shape
    often = [
        np.bincount(np.asarray(b["inputs"]).ravel(), minlength=task.vocab) / b["inputs"].size
        for b in ({k: v.numpy() for k, v in theirs.items()}, ours)
    ]
    np.testing.assert_allclose(*often, atol=0.01)
    assert float(theirs["weights"].mean()) == pytest.approx(float(ours["weights"].mean()), abs=0.02)
    inputs, at, targets, weights = (
        theirs[name].numpy() for name in ("inputs", "at", "targets", "weights")
    )
    for row in range(50):  # what counts has been told before
        for place, target, counts in zip(at[row], targets[row], weights[row], strict=True):
            before = np.flatnonzero(inputs[row, :place] == inputs[row, place])
            if counts:
                assert (inputs[row, before + 1] == target).all()
                assert len(before)


def test_steps_that_were_not_taken_are_not_counted(store):
    from small import tiny

    from ontogeny import Until, execute

    ended = GradientDescent(steps=20, learning_rate=1.0, until=Until("train loss", 100.0))
    experiment = tiny(training=(ended, GradientDescent(steps=20, learning_rate=0.1)))
    execute({"x": experiment}, seeds=2, store=store)
    assert rivals.steps_trained("x", experiment, 2, store) == [2 * 4, 2 * 20]


def test_without_torch_it_says_how_to_get_it(monkeypatch):
    assert not rivals.absent()
    monkeypatch.setattr("ontogeny.engine.environment.find_spec", lambda name: None)
    assert rivals.absent() == "it needs torch: pip install 'ontogeny[bench]'"
