"""Numbers per seed: what a run is asked, what is put together, what is known by a bound alone."""

import numpy as np
import pytest

from ontogeny import ConfigError, Measurement, Outcome, Run
from ontogeny.core.curves import exponent, falls_below, monotone, prediction
from ontogeny.core.quantity import Quantity

SUPPORTED, CONTRADICTED, UNDECIDED = Outcome.SUPPORTED, Outcome.CONTRADICTED, Outcome.UNDECIDED


def of(run, probe, *values):
    return Measurement(Quantity(probe, run), np.array(values, float))


def run():
    steps = np.array([0, 10, 20])
    accuracy = np.array([[0.0, 0.6, 1.0], [0.0, 0.4, 0.9]])
    answers = {"accuracy": accuracy, "layers": np.ones((2, 3, 4))}
    return Run("r", steps, answers, (0, 1), units={"accuracy": "fraction"})


def test_a_run_is_asked_by_the_name_of_a_probe():
    assert run().final("accuracy").values.tolist() == [1.0, 0.9]
    assert run().initial("accuracy").values.tolist() == [0.0, 0.0]
    assert run().peak("accuracy").values.tolist() == [1.0, 0.9]
    assert run().at("accuracy", 15).values.tolist() == [0.6, 0.4]
    assert run().first_step_above("accuracy", 0.5).values.tolist() == [10.0, 20.0]
    with pytest.raises(ConfigError, match="no probe 'acuracy': did you mean 'accuracy'"):
        run().final("acuracy")


def test_a_quantity_is_data_and_has_a_name():
    quantity = run().final("accuracy").quantity
    assert quantity == Quantity("accuracy", "r", ("final",), unit="fraction")
    assert str(quantity) == "r: final accuracy"
    layer = run().final("layers")[2].quantity
    assert str(layer) == "r: final layers[2]" and layer.index == (2,)
    assert str(run().final("layers").least().quantity) == "r: least final layers"
    assert Quantity.from_json({**vars(layer), "parts": []}) == layer


def test_a_level_never_passed_is_passed_later_than_all():
    """So that what comes before it is decided, and what would have to come after is not."""
    never = run().first_step_above("accuracy", 0.95)
    assert never.values.tolist() == [20.0, 20.0] and never.at_most.tolist() == [20.0, np.inf]
    evidence = never.below(100)
    assert evidence.holds == (True, None) and never.above(15).holds == (True, True)
    assert "1 of 2 seeds never have accuracy above 0.95 by step 20" in evidence.note
    soon = run().first_step_above("accuracy", 0.3)
    assert never.exceeds(soon).holds == (True, True)
    assert never.exceeds(never).holds == (False, None)


def test_a_run_that_failed_has_no_first_step():
    bad = Run("r", np.array([0, 10]), {"loss": np.array([[1.0, np.nan], [1.0, 0.1]])}, (0, 1))
    assert np.isnan(bad.first_step_below("loss", 0.5).values[0])


def test_arrays_are_indexed_before_they_are_weighed():
    layers = run().final("layers")
    assert len(layers) == 4 and layers[2].values.tolist() == [1.0, 1.0]
    for whole in (layers.magnitude(), layers.mean(), layers.least(), layers.most()):
        assert whole.values.tolist() == [1.0, 1.0]
    with pytest.raises(ConfigError, match="index it first"):
        layers.above(0.5)


def test_the_best_evaluation_is_chosen_by_another_probe():
    answers = {
        "validation": np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]),
        "test": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    }
    run = Run("x", np.arange(3), answers, (0, 1))
    np.testing.assert_allclose(run.best("test", by="validation").values, [2.0, 4.0])


def test_a_crossing_is_interpolated_between_points_of_a_sweep():
    found = falls_below({8: of("plain 8", "loss", 1.0), 32: of("plain 32", "loss", 0.2)}, 0.6)
    np.testing.assert_allclose(found.values, [16.0])  # half-way in the logarithm
    assert str(found.quantity) == "plain: where loss falls below 0.6"


def test_a_crossing_off_the_sweep_is_known_by_a_bound():
    """One seed is below from the first point on, one never: neither is given a number."""
    curve = {8: of("plain 8", "loss", 0.1, 1.0), 32: of("plain 32", "loss", 0.1, 0.9)}
    found = falls_below(curve, 0.6)
    assert found.at_least.tolist() == [0.0, 32.0] and found.at_most.tolist() == [8.0, np.inf]
    assert found.below(10).holds == (True, False)
    assert found.within_factor(8, 2).holds == (None, False)
    assert found.within_factor(64, 4).holds == (False, None)
    note = found.below(10).note
    assert "1 of 2 seeds are below from the first point, 8, on" in note
    assert "1 of 2 seeds never fall below 0.6 by 32" in note
    assert found.reported(8.0).agreement == "open"


def test_an_exponent_is_fitted_seed_by_seed():
    xs = (2.0, 4.0, 8.0)
    points = [(x, of(f"run {x}", "cost", 3 * x, x**2)) for x in xs]
    fitted = exponent(points)
    np.testing.assert_allclose(fitted.values, [1.0, 2.0])
    assert str(fitted.quantity) == "exponent of cost"
    nothing = exponent([(x, of("run", "cost", 0.0, 1.0)) for x in xs])
    assert nothing.near(1.0, within=0.1).outcome == UNDECIDED


def test_an_exponent_of_bounds_is_a_bound():
    never = Measurement(
        Quantity("cost"), np.array([8.0]), (), (), np.array([8.0]), np.array([np.inf])
    )
    grows = exponent([(2.0, of("", "cost", 2.0)), (4.0, of("", "cost", 4.0)), (8.0, never)])
    assert grows.at_least[0] == pytest.approx(1.0) and grows.at_most[0] == np.inf
    assert grows.above(0.9).holds == (True,) and grows.below(1.5).holds == (None,)


def test_a_sentence_about_all_points_is_tested_at_all_of_them():
    up = {x: of(f"by_width {x}", "loss", *(x + seed for seed in range(5))) for x in (1, 2, 4)}
    found = monotone(up, rises=True)
    assert found.outcome == SUPPORTED and monotone(up, rises=False).outcome == CONTRADICTED
    assert found.text == "by_width: loss rises along 1, 2, 4" and found.along[0] == ("1", 3.0)
    # the first is below the last, but not below the second
    bent = up | {2: of("by_width 2", "loss", *([0.0] * 5))}
    assert monotone(bent, rises=True).outcome == CONTRADICTED
    layers = {layer: run().final("layers")[layer] for layer in range(2)}
    assert str(monotone(layers, rises=True).quantity) == "r: final layers[0]"


def test_differences_and_ratios_say_what_they_are_of():
    a, b = of("joint", "accuracy", 0.9, 0.8), of("late", "accuracy", 0.3, 0.4)
    assert str((a - b).quantity) == "joint: accuracy − late: accuracy"
    assert str((a / b).quantity) == "joint: accuracy / late: accuracy"
    np.testing.assert_allclose((a - b).values, [0.6, 0.4])
    np.testing.assert_allclose((a / b).values, [3.0, 2.0])
    np.testing.assert_allclose((a + b).values, [1.2, 1.2])


def test_a_function_of_numbers_goes_through_their_bounds():
    never = run().first_step_above("accuracy", 0.95).map(lambda step: step**2, "squared step")
    assert never.at_most.tolist() == [400.0, np.inf] and str(never.quantity) == "r: squared step"


def test_a_prediction_is_the_same_for_each_seed():
    found = prediction(0.5, of("r", "it", 1, 2, 3))
    np.testing.assert_array_equal(found.values, [0.5, 0.5, 0.5])
    assert str(found.quantity) == "r: theory" and found.beside(None, series="it", x=1).theory
