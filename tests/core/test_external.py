"""Experiments that train by other means are kept, resumed, judged and varied like all others."""

import numpy as np
import pytest

from ontogeny import ConfigError, External, Trainer, execute
from ontogeny.core.fields import count, number
from ontogeny.engine.execute import plan
from ontogeny.engine.pools.here import Here
from ontogeny.engine.runs import specs
from ontogeny.engine.serialize import digest, edit, record
from ontogeny.engine.units import Interrupted, follow, train


class Walk(Trainer):
    """A number that moves towards one."""

    def __init__(self, learning_rate, seed):
        self.learning_rate, self.place = learning_rate, np.random.default_rng(seed).normal()

    def evaluate(self):
        return {"loss": np.array((self.place - 1) ** 2), "at": np.array([self.place, 1.0])}

    def advance(self, start, stop):
        for _ in range(start, stop):
            self.place += self.learning_rate * (1 - self.place)

    def save(self):
        return {"place": np.array(self.place)}

    def restore(self, state):
        self.place = float(state["place"])


class Walking(External):
    learning_rate: float = number(0.1)
    steps: int = count(20)
    evaluations: int = count(10)

    @property
    def operations(self):
        return 1.0

    def begin(self, seed):
        return Walk(self.learning_rate, seed)


def test_an_external_experiment_runs_and_is_kept(store):
    run = execute({"walk": Walking()}, seeds=3, store=store)["walk"]
    assert run.steps.tolist() == list(range(0, 21, 2))
    assert run.curve("at").shape == (3, 11, 2)
    assert len(set(run.curve("loss")[:, 0])) == 3
    np.testing.assert_allclose(
        run.curve("loss")[:, -1], run.curve("loss")[:, 0] * 0.9**40, rtol=1e-5
    )
    again = execute({"walk": Walking()}, seeds=3, store=store)["walk"]
    np.testing.assert_array_equal(again.curve("loss"), run.curve("loss"))


@pytest.mark.parametrize("after", [2, 5, 10])
def test_resumed_it_is_as_if_uninterrupted(store, after):
    whole = execute({"walk": Walking()}, seeds=2)["walk"]
    both = specs("walk", Walking(), range(2))
    unit, other = plan(both, Here(), store)  # each holds a model of its own: one at a time
    assert unit.specs == (both[0],) and other.specs == (both[1],)
    evaluations = []
    asked = lambda: "stop" if len(evaluations) >= after else None  # noqa: E731
    with pytest.raises(Interrupted):
        follow(train(unit, store, asked), evaluations.append)
    resumed = execute({"walk": Walking()}, seeds=2, store=store)["walk"]
    np.testing.assert_array_equal(resumed.curve("at"), whole.curve("at"))


def test_one_that_blows_up_is_in_trouble_and_stands_still():
    run = execute({"walk": Walking(learning_rate=1e200)}, seeds=2)["walk"]
    assert len(run.failures) == 2 and "not a finite number" in run.failures[0]


def test_it_is_spelled_and_edited_by_path():
    walk = Walking()
    faster = edit(walk, "learning_rate", "0.5")
    assert faster.learning_rate == 0.5 and digest(record(walk)) != digest(record(faster))
    with pytest.raises(ConfigError, match="evaluations must be at least 1"):
        edit(walk, "evaluations", "0")


def test_its_steps_need_not_be_a_multiple_of_its_evaluations():
    run = execute({"walk": Walking(steps=20, evaluations=3)}, seeds=1)["walk"]
    assert run.steps.tolist() == [0, 7, 14, 20]
