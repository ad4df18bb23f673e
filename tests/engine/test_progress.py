"""How far the work is, and how long it will take."""

from dataclasses import replace

import numpy as np
import pytest
from small import tiny

from ontogeny.engine.execute import plan
from ontogeny.engine.pools.here import Here
from ontogeny.engine.progress import Counted
from ontogeny.engine.runs import specs
from ontogeny.engine.units import News


def test_the_expected_time_is_said_before_work_begins_and_grows_with_it():
    (unit,) = plan(specs("x", tiny(), [0]), Here())
    large = replace(unit, cost=1e5)
    small, counted = Counted(), Counted()
    small.planned([unit], 1)
    counted.planned([large], 1)
    assert 0 < small.seconds_left < counted.seconds_left
    assert counted.left.startswith("about ") and counted.left.endswith(("min", " h"))


def estimates(monkeypatch, thought, taken):
    """Units one after the other, of which each takes something else than was thought: by what
    factor the time left is wrong, second by second from the first minute on."""
    now, found = [0.0], []
    monkeypatch.setattr("ontogeny.engine.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr("ontogeny.engine.progress.slowness", lambda: 1.0)
    (unit,) = plan(specs("x", tiny(), [0]), Here())
    units = [replace(unit, cost=cost, first=False) for cost in thought]
    counted, end = Counted(), sum(taken)
    counted.planned(units, 1)
    for each, seconds in zip(units, taken, strict=True):
        counted.began(each)
        for step in range(1, 11):
            now[0] += seconds / 10
            counted.evaluated(each, News(step, 10, 0.0, step / 10))
            if 60 <= now[0] < 0.98 * end:
                found.append(counted.seconds_left / (end - now[0]))
        counted.finished(each)
    assert counted.seconds_left < 1 and counted.fraction == pytest.approx(1.0)
    return np.array(found)


@pytest.mark.parametrize("wrong", [0.2, 0.5, 1.0, 2.0, 5.0])
def test_the_time_left_follows_what_is_seen(monkeypatch, wrong):
    """A machine that is slower or faster than was thought: right within a factor of two."""
    wrongs = estimates(monkeypatch, [18 / wrong] * 20, [18] * 20)
    assert wrongs.min() > 0.5 and wrongs.max() < 2


def test_the_time_left_is_right_though_each_unit_is_thought_wrongly(monkeypatch):
    """Costs are right on the whole, and nine in ten within a factor of 2.6: the first unit says
    little about the others."""
    chance = np.random.default_rng(0)
    for _ in range(20):
        thought = np.sort(chance.lognormal(3, 1, 100))[::-1]  # the costliest first
        taken = thought * chance.lognormal(0, 0.58, 100)
        wrongs = estimates(monkeypatch, list(thought), list(taken))
        assert np.mean((wrongs > 0.5) & (wrongs < 2)) > 0.95


def test_stages_count_by_what_they_take():
    """Ten cheap steps and ten that take a hundred times as long: by half of the steps next to
    nothing is done."""
    (unit,) = plan(specs("x", tiny(steps=10, evaluations=10), [0]), Here())
    assert unit.done(0) == 0 and unit.done(len(unit.specs[0].experiment.evaluated_at)) == 1
    uneven = replace(unit, ahead=((1, 0.0), (10, 1.0), (10, 100.0)))
    assert uneven.done(11) == pytest.approx(10 / 1010)
    assert uneven.done(16) == pytest.approx(510 / 1010)
    later = replace(unit, ahead=((5, 100.0),))  # planned from a checkpoint on
    assert later.done(16) == 0 and later.done(17) == pytest.approx(1 / 5)
