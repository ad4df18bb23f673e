"""What the task and the probe promise, and that the claims can be judged."""

from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import pytest
from ontogeny import Moment, TokenSum, judge

from my_claims.probes import Lead
from my_claims.task import Majority

KEY = jr.key(0)


def test_answers_are_majorities_and_splits_share_no_string() -> None:
    task = Majority(length=3, fraction=0.5)
    train, test = (task.sample(task.world(KEY), split, KEY) for split in task.splits)
    assert train.inputs[3].tolist() == [1, 1, 0] and train.targets[3, 0] == 1
    assert train.inputs[4].tolist() == [0, 0, 1] and train.targets[4, 0] == 0
    assert jnp.all(train.weights + test.weights == 1) and train.weights.sum() == 4


def test_the_lead_is_that_of_the_right_answer() -> None:
    task, model = Majority(length=3), TokenSum()
    votes = {"templates": jnp.eye(2)}  # each letter adds one to its own output
    now = Moment(task, task.world(KEY), model, votes, KEY)
    batch = task.sample(now.world, "test", KEY)
    ones = batch.inputs.sum(axis=1, keepdims=True)
    assert Lead()(now) == pytest.approx(float(batch.mean(abs(2 * ones - 3))), rel=1e-5)


def test_the_claims_can_be_judged(tmp_path: Path) -> None:
    # at the scale `smoke` there are a few steps, which decide nothing
    verdicts = judge("my_claims", scale="smoke", seeds=2, store=tmp_path)
    assert len(verdicts) == 2
    for verdict in verdicts:
        assert verdict.evidence and not verdict.failed
