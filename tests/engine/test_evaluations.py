"""When probes answer: as often as asked, where asked, and without a say in what is trained."""

import numpy as np
import pytest
from small import tiny

from ontogeny import Log, execute
from ontogeny.core.evaluations import intervals
from ontogeny.engine import program
from ontogeny.engine.execute import plan
from ontogeny.engine.pools.here import Here
from ontogeny.engine.runs import specs
from ontogeny.engine.units import Interrupted, follow, train


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        (5, [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40]),
        (3, [0, 7, 14, 20, 27, 34, 40]),
        (99, list(range(41))),
        (Log(5), [0, 1, 2, 4, 9, 20, 21, 22, 24, 29, 40]),
        (Log(1), [0, 20, 40]),
        ((1, 2, 19, 30), [0, 1, 2, 19, 20, 30, 40]),
        ((), [0, 20, 40]),
    ],
)
def test_evaluations_are_where_they_are_asked_for_and_at_the_end_of_each_stage(asked, steps):
    assert tiny(evaluations=asked).evaluated_at == steps


def test_a_stage_of_one_step_is_evaluated_once():
    assert [each.end for each in intervals(Log(30), (1, 3))] == [1, 1, 2, 3]
    assert [each.steps for each in intervals(20, (1, 2))] == [1, 1, 1]


@pytest.mark.parametrize("asked", [1, Log(7), (1, 5, 33)])
def test_when_it_is_evaluated_has_no_say_in_what_is_trained(asked):
    often, other = (execute({"x": tiny(evaluations=n)}, seeds=2)["x"] for n in (20, asked))
    for step in other.steps:
        for name in ("train loss", "resemblance"):
            np.testing.assert_allclose(
                often.at(name, int(step)).values, other.at(name, int(step)).values, rtol=1e-5
            )


def test_intervals_of_any_length_share_one_program(monkeypatch):
    traced = []
    advance = program.advance
    monkeypatch.setattr(program, "advance", lambda *a: (traced.append(1), advance(*a))[1])
    execute({"x": tiny(evaluations=Log(8), width=26)}, seeds=2)
    assert len(traced) == 2 * 2  # a stage each, once to run it and once to count its cost


@pytest.mark.parametrize("after", [2, 6, 11])
def test_resumed_between_evaluations_of_unlike_distance_it_is_as_if_uninterrupted(store, after):
    experiment = tiny(evaluations=Log(6))
    both = specs("x", experiment, range(2))
    (unit,) = plan(both, Here(), store)
    news = []
    with pytest.raises(Interrupted):
        follow(train(unit, store, lambda: "stop" if len(news) >= after else None), news.append)
    assert news[-1].done == pytest.approx(1 - plan(both, Here(), store)[0].cost / unit.cost)
    whole = execute({"x": experiment}, seeds=2)["x"]
    resumed = execute({"x": experiment}, seeds=2, store=store)["x"]
    for name, values in whole.answers.items():
        np.testing.assert_array_equal(values, resumed.answers[name])
