"""A claim judged all over a region finds the boundary that was planted there."""

import json

import numpy as np
import pytest
from planted import PAPER, RATE, RATIO, WIDTH, answering, below_three, made
from small import tiny

from ontogeny import Outcome, Scale
from ontogeny.claims.claim import Claim
from ontogeny.claims.maps import Found, Map
from ontogeny.claims.region import Between, Fit, OneOf, Predicted, Region
from ontogeny.claims.status import last_said, map_of, remember, remember_map, status
from ontogeny.claims.survey import predicted, region_of, survey
from ontogeny.claims.verdict import judge, with_map
from ontogeny.core.fields import ConfigError
from ontogeny.engine.execute import execute as execute_for_real
from ontogeny.engine.execute import recall
from ontogeny.engine.schedule import OutOfTime


def test_a_planted_boundary_is_found():
    region = Region((RATIO, RATE, WIDTH))
    found = survey(made(region), answering(below_three), region, cells=64)
    assert found.outcome == Outcome.DEPENDS
    first, *others = found.matters
    assert first.setting == RATIO and first.explained.share > 0.7
    assert not any(each.explained.certain for each in others)
    at = found.boundary(RATIO)
    low, middle, high = (float(RATIO.typed(share)) for share in (at.low, at.at, at.high))
    assert low <= 3 <= high and middle == pytest.approx(3, rel=0.1) and at.holds_below
    holds, least, most = found.share(Found.HOLDS)  # log₂(3 / ½) of four doublings
    assert least < np.log2(6) / 4 < most and holds == pytest.approx(np.log2(6) / 4, abs=0.06)
    assert found.own.found == Found.HOLDS and found.answer()[0].startswith(
        "depends on task.ratio: holds below"
    )
    flip = found.nearest_flip()
    assert flip.found == Found.FAILS and 3 <= float(flip.point.typed[0]) < 5


def test_a_planted_choice_is_named():
    region = Region((RATIO, WIDTH))
    found = survey(made(region), answering(lambda each: each.model.width == 16), region, cells=48)
    assert found.matters[0].setting == WIDTH and found.boundary(WIDTH) is None
    assert "holds in 0 of 16 at 8, holds in 16 of 16 at 16" in found.answer()[0]


def test_two_settings_that_matter_only_together_are_both_named():
    region = Region((RATIO, RATE))

    def either_or(each):
        return float((each.task.ratio > 2) != (each.training[0].learning_rate > 1))

    found = survey(made(region), answering(either_or), region, cells=96)
    assert not any(each.explained.certain for each in found.matters)
    assert "together: they explain" in found.answer()[0]
    assert {"task.ratio", "training.*.learning_rate"} <= set(found.answer()[0].split())


@pytest.mark.parametrize(
    ("accuracy", "outcome"),
    [
        (lambda each: 1.0, "supported"),
        (lambda each: 0.0, "contradicted"),
        (lambda each: float(each.task.ratio > 0.6), "supported"),  # in 93 % of the region
        (lambda each: np.nan, "undecided"),
    ],
)
def test_most_of_the_region_decides(accuracy, outcome):
    region = Region((RATIO,))
    assert survey(made(region), answering(accuracy), region, cells=40).outcome == outcome


def test_what_did_not_train_says_nothing():
    """Where it holds alone it does not train: what is left contradicts."""
    region = Region((RATIO,), trained=(Fit("train loss", below=0.1),))
    execute = answering(below_three, loss=lambda each: float(each.task.ratio < 3.2))
    found = survey(made(region), execute, region, cells=40)
    assert found.outcome == Outcome.CONTRADICTED and found.count(Found.HOLDS) == 0
    untrained = next(cell for cell in found.cells if cell.found == Found.UNTRAINED)
    assert untrained.note == "x: train loss ends at 1"
    assert "did not train" in " ".join(found.answer())


def test_cells_that_are_decided_take_no_more_seeds():
    region, asked = Region((RATIO,)), []
    open_ = answering(lambda each: np.nan if each.task.ratio > 4 else 1.0, asked=asked)
    survey(made(region), open_, region, cells=32, seeds=7)
    (first, all_), (second, some) = asked
    assert (first, all_, second) == (3, 33, 7) and 4 <= some <= 12


def test_cells_that_a_task_refuses_are_dropped_counted_and_said():
    region = Region((Between("task.ratio", -4, 4),))
    found = survey(made(region), answering(below_three), region, cells=32)
    (why,) = found.refused
    assert "ratio" in why and len(found.cells) + found.refused[why] == 32
    assert f"{found.refused[why]} cells refused: {why}" in found.answer()
    nowhere = Region((Between("task.ratio", -4, -1),))
    with pytest.raises(ConfigError, match="every cell is refused"):
        survey(made(nowhere), answering(below_three), nowhere)


def test_cells_that_no_program_can_be_made_of_are_refused_too(store):
    """The model refuses so narrow a width only when it is to begin."""
    region = Region((OneOf("model.width", 2, 16),))

    def execute(experiments, n, failures=None):
        return execute_for_real(experiments, n, store=store, progress=False, failures=failures)

    found = survey(made(region, probe="success"), execute, region, seeds=1)
    ((why, count),) = found.refused.items()
    assert "width=2 is too small" in why and count == 1 and len(found.cells) == 1


@pytest.mark.parametrize(
    ("settings", "more", "reason"),
    [
        ((), {}, "leaves no setting open.*ontogeny sweep made"),
        ((Between("task.ration", 1, 2),), {}, "no field 'task.ration': did you mean 'task.ratio'"),
        ((RATIO,), {"cells": 0}, "cells must be from 1"),
        ((RATIO,), {"cells": 20_000}, "cells must be from 1 to 10,000"),
        ((RATIO,), {"seeds": 0}, "seeds must be at least 1"),
    ],
)
def test_a_question_that_cannot_be_asked_says_why(settings, more, reason):
    claim = made(Region(settings))
    with pytest.raises(ConfigError, match=reason):
        survey(claim, answering(below_three), region_of(claim), **more)


def test_claims_with_one_experiment_share_their_cells(store):
    """The second claim's map runs nothing."""
    region = Region((RATIO, RATE))
    claims = [made(region, name, "success") for name in ("one", "two")]
    watched = []

    def execute(experiments, n, failures=None):
        before = len(store.names())
        runs = execute_for_real(experiments, n, store=store, progress=False, failures=failures)
        watched.append(len(store.names()) - before)
        return runs

    kept = {"recall": lambda experiments, n: recall(experiments, n, store)}
    maps = [survey(each, execute, region, cells=6, seeds=1, **kept) for each in claims]
    assert watched == [7, 0] and maps[0].cells == maps[1].cells


def test_if_time_is_over_what_is_there_is_judged():
    region, claim = Region((RATIO,)), made(Region((RATIO,)))
    done = answering(below_three)

    def late(experiments, n, failures=None):
        raise OutOfTime

    def recalled(experiments, n):
        number = next(iter(experiments)).partition(":")[0].rpartition(" ")[2]
        return done(experiments, n) if number.isdigit() and int(number) < 20 else None

    found = survey(claim, late, region, cells=32, recall=recalled)
    assert len(found.cells) == 20 and found.left == 12 and found.own is None
    assert "12 cells not run in time: the same command goes on" in found.answer()


def test_an_error_in_a_claims_own_code_is_told():
    def evidence(x):
        yield x.final("no such probe").above(0.5)

    region = Region((RATIO,))
    claim = Claim("made", "It is.", PAPER, "here", {"x": tiny()}, evidence, region=region)
    with pytest.raises(ConfigError, match="its evidence could not be weighed"):
        survey(claim, answering(below_three), region, cells=8)


def test_theory_is_asked_in_the_same_cells():
    theory = Predicted("κ < 4", lambda experiments: 4 - experiments["x"].task.ratio)
    region = Region((RATIO, RATE), theory=theory)
    claim = made(region)
    found = survey(claim, answering(below_three), region, cells=64)
    right, told = found.agreement()
    wrong = sum(3 <= float(cell.point.typed[0]) < 4 for cell in found.cells)
    assert (right, told) == (64 - wrong, 64) and wrong > 0
    assert f"theory (κ < 4) is right in {right} of 64 cells" in " ".join(found.answer())
    grid = predicted(claim, region, Scale.LAPTOP, 0, 1, points=9)
    # along log κ from ½ to 8 the prediction flips between 2.8 and 4, whatever the rate
    assert (grid[:, 5] > 0).all() and (grid[:, 7] < 0).all()


def test_a_map_survives_being_written_down():
    region = Region((RATIO, WIDTH), trained=(Fit("train loss", below=0.1),))
    execute = answering(below_three, loss=lambda each: float(each.task.ratio > 7))
    found = survey(made(region), execute, region, cells=24)
    again = Map.from_json(json.loads(json.dumps(found.as_json())))
    assert again.answer() == found.answer() and again.as_json() == found.as_json()
    assert list(again.rows()) == list(found.rows()) and len(list(found.rows())) == 24
    assert "explains" in found._repr_html_() and repr(found).startswith("Map of made: depends")


def test_the_maps_outcome_is_the_claims_and_the_single_settings_stays_beside_it(store):
    claim = made(Region((RATIO, RATE)))
    execute = answering(below_three)
    (verdict,) = judge([claim], lambda some, seeds: execute(some, 5))
    remember(store, verdict)
    assert status(claim, store)["outcome"] == "supported"
    remember_map(store, survey(claim, execute, claim.region, cells=64))
    row = last_said(claim, store, Scale.LAPTOP).verdict
    assert (row["outcome"], row["at_one_setting"]) == ("depends", "supported")
    assert row["map"]["cells"] == 64 and row["map"]["says"][0].startswith("depends on task.ratio")
    assert status(claim, store)["outcome"] == "depends"
    # a region that is no longer the one that was mapped
    other = made(Region((RATIO,)))
    assert map_of(other, store, Scale.LAPTOP) is None
    assert status(other, store)["outcome"] == "supported"


def test_a_map_that_leaves_it_open_leaves_the_verdict_as_it_is():
    region = Region((RATIO,))
    found = survey(made(region), answering(lambda each: np.nan), region, cells=10)
    row = with_map({"outcome": "contradicted"}, found)
    assert row["outcome"] == row["at_one_setting"] == "contradicted"
    assert row["map"]["outcome"] == "undecided"


def test_ten_thousand_cells_are_planned_soon():
    """Drawn and made: the engine names and groups them after that."""
    import time

    region, claim = Region((RATIO, RATE)), made(Region((RATIO, RATE)))
    began = time.process_time()
    survey(claim, answering(below_three), region, cells=2000)
    assert time.process_time() - began < 10  # a fifth of the cells, judged too, under type checks
