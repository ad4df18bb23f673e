"""The theorems' model of LEGO as a few numbers, run like any other experiment."""

import numpy as np

from ontogeny.theory import lego_features
from ontogeny.theory.groups import named
from ontogeny.training.lego_reduced import ReducedLego

SMALL = ReducedLego(
    action="S3", vocab=1e4, neurons_per_class=8, excess=10.0, longest=64, steps=3, evaluations=3
)


def test_a_run_that_goes_on_from_what_was_saved_is_the_run_uninterrupted():
    whole, part = SMALL.begin(1), SMALL.begin(1)
    before = whole.evaluate()
    assert all(np.isfinite(answer).all() for answer in before.values())
    whole.advance(0, 3)
    part.advance(0, 1)
    other = SMALL.begin(1)
    other.restore(part.save())
    other.advance(1, 3)
    ended = whole.evaluate()
    for name, answer in other.evaluate().items():
        np.testing.assert_array_equal(answer, ended[name])
        assert answer.shape == before[name].shape
    assert ended["reach"] > 4 > before["reach"]
    assert ended["right labels"] == 1.0 and ended["order"] > 0.5


def test_made_neurons_have_the_imbalance_that_is_asked_for():
    import equinox as eqx

    made = eqx.tree_at(lambda x: x.imbalance, SMALL, 1.7).begin(0)
    made.advance(0, 1)
    value, others, fitting, rest = made.evaluate()["features"].mean(axis=(0, 1))
    np.testing.assert_allclose([fitting / value, rest / value, others / value], [1.7, -1, -1.7])
    constants = lego_features.Constants(1e4)
    weights = lego_features.shaped(named("S3").table, constants)
    ratio = lego_features.ratio(6, 3)
    assert weights.action.max() / weights.value.max() == ratio
