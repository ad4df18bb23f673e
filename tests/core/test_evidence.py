"""What numbers over seeds can and cannot say."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ontogeny import Evidence, Measurement, Outcome, Reported
from ontogeny.core import words
from ontogeny.core.curves import monotone

SUPPORTED, CONTRADICTED, UNDECIDED = Outcome.SUPPORTED, Outcome.CONTRADICTED, Outcome.UNDECIDED


def measured(*values, **keywords):
    return Measurement.of("it", values, **keywords)


def six(low, high):
    return measured(*np.linspace(low, high, 6))


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        (six(0.9, 0.92).above(0.8), SUPPORTED),
        (six(0.9, 0.92).above(0.95), CONTRADICTED),
        (six(0.7, 0.9).above(0.8), UNDECIDED),
        (six(0.1, 0.12).below(0.2), SUPPORTED),
        (six(0.1, 0.12).below(0.05), CONTRADICTED),
        (six(0.99, 1.01).near(1.0, within=0.1), SUPPORTED),
        (six(0.99, 1.01).near(2.0, within=0.1), CONTRADICTED),
        (six(0.5, 1.5).near(1.0, within=0.25), UNDECIDED),
        (six(90, 110).within_factor(100, 2), SUPPORTED),
        (six(90, 110).within_factor(400, 2), CONTRADICTED),
        (six(90, 110).within_factor(200, 2), UNDECIDED),
        (six(5.0, 1.0).agrees(six(5.01, 1.02), within=0.1), SUPPORTED),
        (six(5.0, 1.0).agrees(six(6.0, 2.01), within=0.1), CONTRADICTED),
        (six(5.0, 1.0).within_factor(six(5.01, 1.02), 1.1), SUPPORTED),
        (six(0, 10).exceeds(six(-1, 9.01), by=0.5), SUPPORTED),
        (six(-1, 9.01).exceeds(six(0, 10)), CONTRADICTED),
        (six(0, 10).exceeds(six(10, 0)), UNDECIDED),
    ],
)
def test_most_seeds_decide(evidence, outcome):
    assert evidence.outcome == outcome
    assert Evidence.from_json(json.loads(json.dumps(evidence.as_json()))) == evidence


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        (measured(0.9, 0.91, 0.92).on_average().above(0.8), SUPPORTED),
        (measured(0.9, 0.91, 0.92).on_average().above(0.95), CONTRADICTED),
        (measured(0.5, 0.9, 0.99).on_average().above(0.8), UNDECIDED),
        (measured(0.1, 0.11, 0.12).on_average().below(0.2), SUPPORTED),
        (measured(0.99, 1.0, 1.01).on_average().near(1.0, within=0.1), SUPPORTED),
        (measured(0.99, 1.0, 1.01).on_average().near(2.0, within=0.1), CONTRADICTED),
        (measured(0.99, 1.0, 1.01).on_average().near(1.1, within=0.1), UNDECIDED),
        (measured(5.0, 1.0, 3.0).on_average().exceeds(measured(4.0, 0.0, 2.01)), SUPPORTED),
        (measured(9, 10, 11).on_average().within_factor(10, 2), SUPPORTED),
        (measured(1, 1, 1).on_average().above(0), UNDECIDED),
    ],
)
def test_averages_are_judged_by_their_mean(evidence, outcome):
    assert evidence.outcome == outcome and evidence.tested == "mean"


def test_one_seed_decides_nothing():
    evidence = measured(1.0).above(0.5)
    assert evidence.outcome == UNDECIDED and evidence.note == "one seed decides nothing"


def test_equal_numbers_of_three_seeds_are_three_successes_and_no_more():
    evidence = measured(1.0, 1.0, 1.0).above(0.99, paper=1.0)
    assert evidence.outcome == UNDECIDED and words.held(evidence) == "3 of 3"
    assert measured(*[1.0] * 5).above(0.99).outcome == SUPPORTED


def test_what_is_exact_needs_one_seed_and_says_why():
    found = measured(1.0).above(0.99).judged(((1, 0.05),), exact="nothing is drawn")
    assert found.outcome == SUPPORTED and not found.note
    assert words.held(found) == "exact"
    assert measured(0.5).above(0.99).judged((), exact="so").outcome == CONTRADICTED


def test_what_was_decided_at_one_look_stays_decided():
    """There the judgement might have ended; what came after would undo it otherwise."""
    stops = ((5, 0.032), (10, 0.012))
    values = [1.0] * 5 + [0.0] * 3 + [1.0] * 2
    assert measured(*values).above(0.5).judged(stops).outcome == SUPPORTED
    assert measured(*values[::-1]).above(0.5).judged(stops).outcome == UNDECIDED


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_never_supports(bad):
    failures = ("seed 1: train loss not a finite number by step 10",)
    rest = [1.0] * 9
    for evidence in (
        measured(bad, *rest, failures=failures).above(0.5),
        measured(bad, *rest, failures=failures).near(1.0, within=10.0),
        measured(1.0, *rest).exceeds(measured(bad, *[0.0] * 9, failures=failures)),
    ):
        assert evidence.outcome == UNDECIDED and "by step 10" in evidence.note


def test_a_point_of_a_curve_decides_nothing():
    point = measured(0.5, 0.7).beside(0.1, series="plain", x=64)
    assert (point.outcome, point.series, point.x, point.paper) == (Outcome.NOTED, "plain", 64, 0.1)
    assert not point.decides and point.text == "plain at 64"


@pytest.mark.parametrize(
    ("evidence", "agreement"),
    [
        (six(0.92, 0.94).above(0.5, paper=0.95), "agrees"),
        (six(0.5, 0.52).above(0.5, paper=0.95), "differs"),
        (six(0.5, 1.3).above(0.5, paper=0.95), "open"),
        (six(90, 110).reported(60), "differs"),
        (six(90, 110).reported(80), "agrees"),  # within a factor of 1.5
        (six(90, 110).reported(55, factor=2), "agrees"),
        (six(90, 110).reported(105, within=1), "open"),
        (six(0.92, 0.94).reported(0.93, fitted="κ was chosen for it"), "fitted"),
        (six(9, 11).near(10, within=3, paper=10), "agrees"),
        (six(0.9, 0.91).above(0.5), None),
    ],
)
def test_the_papers_number_is_compared_apart_from_the_finding(evidence, agreement):
    unit = "fraction" if evidence.ours < 2 else ""
    evidence = replace(evidence, quantity=evidence.quantity.reduced("mean", unit))
    assert evidence.agreement == agreement


def test_small_fractions_are_compared_by_their_difference():
    assert Reported(0.01).range("fraction") == pytest.approx((-0.04, 0.06))
    assert Reported(0.01).range("steps") == pytest.approx((0.01 / 1.5, 0.015))
    assert Reported(-1.0).range("") == pytest.approx((-1.5, -1 / 1.5))


def test_a_difference_shows_both_sides():
    late, joint = measured(0.3, 0.4), measured(0.9, 0.8)
    evidence = joint.exceeds(late, by=0.1)
    assert evidence.text == "it exceeds it by 0.1"
    assert words.value(evidence).endswith("= 0.85 − 0.35") and evidence.ours == pytest.approx(0.5)
    ratio = joint.within_factor(late, 3)
    assert words.value(ratio).endswith("= 0.85 / 0.35")


def test_an_interval_stays_in_what_is_possible():
    found = Measurement.of("accuracy", [0.0, 0.1, 0.3]).named("accuracy", "fraction").above(0.5)
    assert found.low == 0.0 and 0 < found.high <= 1
    assert measured(0.0, 0.1, 0.3).above(0.5).low < 0


@pytest.mark.parametrize(
    ("unit", "least", "most"),
    [("fraction", 0, 1), ("cosine", -1, 1), ("loss", 0, 50), ("size", 0, 50), ("entropy", 0, 50)],
)
def test_what_is_put_together_stays_in_what_is_possible_too(unit, least, most):
    """Numbers at the ends of their range: the intervals of the seeds alone leave it."""
    low = measured(least, least, least, most).named("low", unit)
    high = measured(least, most, most, most).named("high", unit)
    has_most = unit in ("fraction", "cosine")
    for item in (low, high):
        assert least <= item.above(0).low < item.above(0).high
        assert item.above(0).high <= most or not has_most
    gap = most - least
    for difference in ((high - low).above(0), high.exceeds(low), high.agrees(low, within=1)):
        assert difference.low >= -gap or not has_most
        assert difference.high <= gap or not has_most
    assert (high + low).above(0).low >= 2 * least
    assert monotone({1: low, 2: high}, rises=True).low >= -gap or not has_most
    wide = measured(0.01, 0.01, 0.01, 9.0).named("size", "size")
    assert (wide / wide.map(np.sqrt, "root", "size")).above(0).low >= 0


def test_entropies_are_as_near_to_a_papers_as_nats():
    assert (
        Reported(0.01).range("entropy")
        == Reported(0.01).range("nats")
        == pytest.approx((-0.04, 0.06))
    )
    assert Reported(2.0).range("size") == Reported(2.0).range("")  # a factor


def test_a_verdict_in_a_line():
    row = {"outcome": "supported", "numbers": {"agrees": 5, "differs": 1, "open": 1, "fitted": 2}}
    assert words.verdict(row) == "finding supported; numbers 5 of 7 agree, 2 fitted"
    assert words.verdict(row | {"numbers": {}}) == "finding supported"
    assert [words.duration(x) for x in (12, 600, 7200)] == ["12 s", "10 min", "2.0 h"]
