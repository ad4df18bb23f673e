"""What numbers over seeds can and cannot say."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from ontogeny import AdamW, ConfigError, Measurement, Outcome, Run
from ontogeny.core.evidence import exponent, falls_below, interval, prediction
from ontogeny.core.notebook import verdict_table

SUPPORTED, CONTRADICTED, UNDECIDED = Outcome.SUPPORTED, Outcome.CONTRADICTED, Outcome.UNDECIDED


def measured(*values, **keywords):
    return Measurement("it", np.array(values, float), **keywords)


def test_the_interval_is_students():
    values = np.array([0.1, 0.5, 0.4, 0.9])
    expected = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert interval(values) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("evidence", "outcome"),
    [
        (measured(0.9, 0.91, 0.92).above(0.8), SUPPORTED),
        (measured(0.9, 0.91, 0.92).above(0.95), CONTRADICTED),
        (measured(0.5, 0.9, 0.99).above(0.8), UNDECIDED),
        (measured(0.1, 0.11, 0.12).below(0.2), SUPPORTED),
        (measured(0.1, 0.11, 0.12).below(0.05), CONTRADICTED),
        (measured(0.99, 1.0, 1.01).near(1.0, within=0.1), SUPPORTED),
        (measured(0.99, 1.0, 1.01).near(2.0, within=0.1), CONTRADICTED),
        (measured(0.5, 1.0, 1.5).near(1.0, within=0.1), UNDECIDED),
        (measured(0.99, 1.0, 1.01).near(1.1, within=0.1), UNDECIDED),
        (measured(5.0, 1.0, 3.0).agrees(measured(5.01, 1.02, 3.0), within=0.1), SUPPORTED),
        (measured(5.0, 1.0, 3.0).agrees(measured(6.0, 2.01, 4.0), within=0.1), CONTRADICTED),
    ],
)
def test_the_interval_decides(evidence, outcome):
    assert evidence.outcome == outcome


def test_comparisons_are_paired_by_seed():
    """Far apart from seed to seed, but always by the same step: the pairs decide."""
    low, high = measured(0.0, 5.0, 10.0), measured(1.0, 6.01, 11.0)
    assert high.exceeds(low, by=0.5).outcome == SUPPORTED
    assert low.exceeds(high).outcome == CONTRADICTED
    assert high.exceeds(measured(10.0, 0.0, 6.0)).outcome == UNDECIDED


def test_one_seed_decides_nothing():
    evidence = measured(1.0).above(0.5)
    assert evidence.outcome == UNDECIDED and evidence.note == "one seed decides nothing"


def test_identical_seeds_are_said_to_be_identical():
    evidence = measured(1.0, 1.0, 1.0).above(0.99, paper=1.0)
    assert evidence.outcome == SUPPORTED and evidence.note == "identical in all 3 seeds"
    assert (evidence.ours, evidence.low, evidence.high, evidence.paper) == (1, 1, 1, 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_never_supports(bad):
    failures = ("seed 1: train loss not a finite number by step 10",)
    for evidence in (
        measured(1.0, bad, 1.0, failures=failures).above(0.5),
        measured(1.0, bad, 1.0, failures=failures).near(1.0, within=10.0),
        measured(1.0, 1.0, 1.0).exceeds(measured(0.0, bad, 0.0, failures=failures)),
    ):
        assert evidence.outcome == UNDECIDED and "by step 10" in evidence.note


def run():
    steps = np.array([0, 10, 20])
    success = np.array([[0.0, 0.6, 1.0], [0.0, 0.4, 0.9]])
    return Run("r", steps, {"success": success, "layers": np.ones((2, 3, 4))}, (0, 1))


def test_a_run_is_asked_by_the_name_of_a_probe():
    assert run().final("success").values.tolist() == [1.0, 0.9]
    assert run().initial("success").values.tolist() == [0.0, 0.0]
    assert run().peak("success").values.tolist() == [1.0, 0.9]
    assert run().at("success", 15).values.tolist() == [0.6, 0.4]
    assert run().first_step_above("success", 0.5).values.tolist() == [10.0, 20.0]
    with pytest.raises(ConfigError, match="no probe 'sucess': did you mean 'success'"):
        run().final("sucess")


def test_a_level_never_passed_leaves_it_undecided():
    evidence = run().first_step_above("success", 0.95).below(100)
    assert evidence.outcome == UNDECIDED
    assert "seed 1 never has success above 0.95" in evidence.note


def test_arrays_are_indexed_before_they_are_weighed():
    layers = run().final("layers")
    assert len(layers) == 4 and layers[2].values.tolist() == [1.0, 1.0]
    assert layers.magnitude().values.tolist() == [1.0, 1.0]
    with pytest.raises(ConfigError, match="index it first"):
        layers.above(0.5)


def test_a_crossing_is_interpolated_between_points_of_a_sweep():
    curve = {
        8: Measurement("plain 8: loss", np.array([1.0, 1.0])),
        32: Measurement("plain 32: loss", np.array([0.2, 0.9])),
    }
    found = falls_below(curve, 0.6)
    np.testing.assert_allclose(found.values, [16.0, 64.0])  # half-way in the logarithm; never
    assert found.what == "plain: where loss falls below 0.6"
    evidence = found.within_factor(16, 2)
    assert "1 of 2 never do by 32: counted as 64" in evidence.note
    np.testing.assert_allclose(evidence.ours, 32.0)


def test_within_a_factor_is_judged_on_logarithms():
    near = Measurement("n", np.array([90.0, 100.0, 110.0]))
    assert near.within_factor(100, 2).outcome == Outcome.SUPPORTED
    assert near.within_factor(400, 2).outcome == Outcome.CONTRADICTED
    assert near.within_factor(200, 2).outcome == Outcome.UNDECIDED


def test_a_point_of_a_curve_decides_nothing():
    point = Measurement("loss", np.array([0.5, 0.7])).beside(0.1, series="plain", x=64)
    assert (point.outcome, point.series, point.x, point.paper) == (Outcome.NOTED, "plain", 64, 0.1)


def test_the_best_look_is_chosen_by_another_probe():
    answers = {
        "validation": np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]),
        "test": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    }
    run = Run("x", np.arange(3), answers, (0, 1))
    np.testing.assert_allclose(run.best("test", by="validation").values, [2.0, 4.0])


def test_an_exponent_is_fitted_seed_by_seed():
    xs = (2.0, 4.0, 8.0)
    points = [(x, Measurement(f"run {x}: cost", np.array([3 * x, x**2]))) for x in xs]
    fitted = exponent(points)
    np.testing.assert_allclose(fitted.values, [1.0, 2.0])
    assert fitted.what == "exponent of cost"
    nothing = exponent([(x, Measurement("cost", np.array([0.0, 1.0]))) for x in xs])
    assert nothing.near(1.0, within=0.1).outcome == Outcome.UNDECIDED


def test_falling_below_is_found_as_rising_above_is():
    run = Run("x", np.array([0, 10, 20]), {"loss": np.array([[3.0, 2.0, 0.5], [3, 3, 3]])}, (0, 1))
    found = run.first_step_below("loss", 1.0)
    assert found.what == "x: first step with loss below 1"
    assert found.values[0] == 20 and np.isnan(found.values[1])
    assert found.failures == ("seed 1 never has loss below 1",)


def test_a_prediction_is_the_same_for_each_seed():
    np.testing.assert_array_equal(prediction(0.5, measured(1, 2, 3)).values, [0.5, 0.5, 0.5])


def a_run(**changes):
    answers = {"loss": np.array([[1.0, 0.5], [1.2, 0.7]]), "<b>": np.ones((2, 2, 3))}
    given = {"name": "<joint>", "steps": np.array([0, 10]), "seeds": (4, 5)} | changes
    return Run(answers=answers, **given)


def test_a_run_needs_pandas_to_be_a_frame(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="pip install pandas"):
        a_run().to_frame()


def test_a_run_as_a_frame_has_a_row_per_number(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda rows: rows))
    frame = a_run().to_frame()
    assert list(frame) == ["seed", "step", "probe", "index", "value"]
    rows = list(zip(*frame.values(), strict=True))
    assert len(rows) == 4 + 12
    assert rows[3] == (5, 10, "loss", "", 0.7) and rows[-1] == (5, 10, "<b>", "2", 1.0)


def test_a_run_is_a_real_frame_where_pandas_is_installed():
    pandas = pytest.importorskip("pandas")
    frame = a_run().to_frame()
    assert isinstance(frame, pandas.DataFrame)
    losses = frame[frame.probe == "loss"].pivot(index="step", columns="seed", values="value")
    np.testing.assert_allclose(losses.to_numpy(), [[1.0, 1.2], [0.5, 0.7]])


def test_what_a_notebook_shows_is_escaped():
    shown = a_run(failures=("<i>bad</i>",))._repr_html_()
    assert "&lt;joint&gt;: 2 seeds, 10 steps" in shown and "0.6 [" in shown
    assert "array of shape (3,)" in shown
    assert "&lt;b&gt;" in shown and "<i>" not in shown
    final = a_run().final("loss")
    evidence = final.above(0.1, paper=0.3)
    verdict = SimpleNamespace(
        outcome="supported",
        evidence=[evidence],
        failures=[],
        command="ontogeny judge <it>",
        claim=SimpleNamespace(says="a < b", where="p. 1", paper=SimpleNamespace(key="k")),
    )
    for text in (final._repr_html_(), evidence._repr_html_(), verdict_table(verdict)):
        assert text.startswith("<table>") and not re.search("<(joint|it)>", text)
    assert str(final) == f"<joint>: final loss: {evidence.numbers}"
    assert str(evidence).startswith("undecided: ") and "paper 0.3" in str(evidence)
    assert "learning_rate" in AdamW(steps=1, learning_rate=0.1)._repr_html_()
