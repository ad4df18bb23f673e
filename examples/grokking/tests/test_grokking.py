"""What the task, the model and the probes promise, and that the claims can be judged."""

from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from ontogeny import Moment, Outcome, judge

from grokking.model import SquareMLP
from grokking.probes import FourierConcentration, SquaredWeights
from grokking.task import ModularAddition

KEY = jr.key(0)


def test_answers_are_sums_and_splits_share_no_question() -> None:
    task = ModularAddition(p=7, fraction=0.5)
    world = task.world(KEY)
    train, test = (task.sample(world, split, KEY) for split in task.splits)
    assert jnp.all(train.inputs.sum(axis=1) % 7 == train.targets[:, 0])
    assert jnp.all(train.weights + test.weights == 1)
    assert train.weights.sum() == 25  # of 49


def moment(tokens: jax.Array) -> Moment:
    task, model = ModularAddition(p=7), SquareMLP(width=3)
    params = model.init(task, KEY)._replace(tokens=tokens)
    return Moment(task, task.world(KEY), model, params, KEY)


def test_a_cosine_is_one_frequency_and_a_single_token_is_all() -> None:
    angles = 2 * jnp.pi * jnp.arange(7) / 7
    cosines = jnp.broadcast_to(jnp.cos(2 * angles)[None, :, None], (2, 7, 3))
    assert FourierConcentration()(moment(cosines)) == pytest.approx(1, abs=1e-5)
    single = jnp.zeros((2, 7, 3)).at[:, 0].set(1.0)
    assert FourierConcentration()(moment(single)) == pytest.approx(1 / 3, abs=1e-5)


def test_squared_weights_are_summed_over_all_parameters() -> None:
    now = moment(jnp.ones((2, 7, 3)))
    output = jax.tree.leaves(now.params)[1]
    assert SquaredWeights()(now) == pytest.approx(42 + float(jnp.sum(output**2)), rel=1e-5)


def test_cosines_add() -> None:
    """Squares of sums of cosines have the products that addition needs: with these weights, and no
    training, every answer is right."""
    p, units = 7, 3 * 4
    frequency, shift = jnp.divmod(jnp.arange(units), 4)
    angles = 2 * jnp.pi * jnp.arange(p)[:, None] * (frequency + 1) / p
    phase = shift * jnp.pi / 4  # sums over them leave cos(ω(a + b - c))
    tokens = jnp.stack([jnp.cos(angles + phase)] * 2)
    output = jnp.cos(angles + 2 * phase).T
    task, model = ModularAddition(p=p), SquareMLP(width=units)
    now = Moment(task, task.world(KEY), model, model.init(task, KEY), KEY)
    batch = task.sample(now.world, "test", KEY)
    outputs = now.with_params(now.params._replace(tokens=tokens, output=output)).trace(batch)
    assert jnp.all(jnp.argmax(outputs.outputs, axis=-1) == batch.targets)


def test_every_claim_can_be_judged(tmp_path: Path) -> None:
    # at the scale `smoke` there are a few steps, which decide nothing
    verdicts = judge(["grokking", "progress-measures"], scale="smoke", seeds=2, store=tmp_path)
    assert len(verdicts) == 5
    for verdict in verdicts:
        assert verdict.evidence and not verdict.failed
        assert verdict.outcome in list(Outcome)
