"""The PyTorch programs compute what the laboratory computes, step by step."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest

from ontogeny import (
    GPT2,
    AdamW,
    Analogy,
    ClauseTransformer,
    Descent,
    EmbeddingMLP,
    Experiment,
    InductionPair,
    Lego,
    Loss,
    Momentum,
    OneLayer,
    Templates,
    Transformer,
    Triggers,
    TwoHop,
    lane,
)
from ontogeny.bench import rivals
from ontogeny.core import Batch, Moment, parted
from ontogeny.models.induction import MEMORIES

STEPS = 4


def of(task, model, stage):
    return Experiment(task, model, (stage,), {"loss": Loss("train")}, looks=1)


CASES = {
    "OneLayer": of(Analogy(tuples=3), OneLayer(width=16, scale=0.3), Descent(steps=1, rate=0.1)),
    "its attention": of(
        Analogy(tuples=3),
        OneLayer(width=16, scale=0.3),
        Descent(steps=1, rate=0.1, parts=("key_query", "value")),
    ),
    "EmbeddingMLP": of(TwoHop(subjects=5), EmbeddingMLP(width=8), Descent(steps=1, rate=0.5)),
    "InductionPair": of(
        Triggers(length=32, reads=16, rows=4),
        InductionPair(width=16),
        Momentum(steps=1, rate=0.05, parts=MEMORIES),
    ),
    "ClauseTransformer": of(
        Lego(chain=3, variables=10, rows=4),
        ClauseTransformer(width=16, neurons=16),
        AdamW(steps=1, rate=0.01),
    ),
    "its one-hot kind": of(
        Lego(chain=3, variables=10, rows=4),
        ClauseTransformer(width=16, neurons=16, one_hot=True),
        AdamW(steps=1, rate=0.01),
    ),
    "Transformer": of(
        Templates(templates=("αα: +1", "αβ: -1"), most=32, samples=32.0),
        Transformer(width=16, heads=2, part=8, hidden=16, match=4.0, copy=2.0),
        AdamW(steps=1, rate=0.01, batch=8),
    ),
    "GPT2": of(
        Analogy(tuples=3), GPT2(width=16, depth=2, heads=2), AdamW(steps=1, rate=0.01, decay=0.1)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_loses_as_much_as_the_laboratory_at_every_step(name, tmp_path):
    experiment = CASES[name]
    (stage,) = experiment.regime
    rivals.export(experiment, stage, tmp_path / "data.npz", batches=2)
    theirs = rivals.trained(tmp_path / "data.npz", "eager", STEPS)["losses"]
    state = jax.jit(partial(lane.begin, experiment))(jnp.zeros((), jnp.int32))
    batches = [
        Batch(**{field: fields[field] for field in Batch._fields})
        for fields in rivals._batches(experiment, stage, state, 2)
    ]
    rule = stage.optimiser()

    @jax.jit
    def step(params, memory, batch):
        moving, still = parted(params, stage.parts)

        def loss(moving):
            every = eqx.combine(moving, still)
            return Moment(experiment.task, state.world, experiment.model, every, key).loss(batch)

        value, slope = jax.value_and_grad(loss)(moving)
        updates, memory = rule.update(slope, memory, moving)
        return value, eqx.combine(optax.apply_updates(moving, updates), still), memory

    params, key, ours = state.params, jax.random.key(0), []
    memory = rule.init(parted(params, stage.parts)[0])
    for turn in range(STEPS):
        value, params, memory = step(params, memory, batches[turn % 2])
        ours.append(float(value))
    assert theirs[:STEPS] == pytest.approx(ours, rel=2e-4)
    assert len(set(ours)) > 1  # it moves


def test_steps_that_were_not_taken_are_not_counted(store):
    from conftest import tiny

    from ontogeny import Until, execute

    ended = Descent(steps=20, rate=1.0, until=Until("train loss", 100.0))
    experiment = tiny(regime=(ended, Descent(steps=20, rate=0.1)))
    execute({"x": experiment}, seeds=2, store=store)
    assert rivals.taught("x", experiment, 2, store) == [2 * 4, 2 * 20]


def test_without_torch_it_says_how_to_get_it(monkeypatch):
    assert not rivals.absent()
    monkeypatch.setattr("ontogeny.environment.find_spec", lambda name: None)
    assert rivals.absent() == "it needs torch: pip install 'ontogeny[bench]'"
