"""What cells tell is right where the truth is known."""

import numpy as np
import pytest

from ontogeny.claims.landscape import boundary, explained, explained_together, nearest, smooth


def chance(seed=7):
    return np.random.default_rng(seed)


def cells(number, settings=3):
    return chance().uniform(size=(number, settings))


def test_the_setting_that_decides_explains_everything_and_the_others_nothing():
    points = cells(200)
    first, *others = (explained(column, points[:, 0] > 0.5) for column in points.T)
    assert first.share > 0.95 and first.certain
    for other in others:
        assert other.low == 0 and other.share < 0.1


def test_noise_takes_its_share():
    """Of a finding that flips its side in a tenth of the cells 64 % can be explained."""
    points = (np.arange(4000) + 0.5) / 4000
    holds = (points > 0.5) ^ (chance().permutation(4000) < 400)
    found = explained(points, holds)
    assert found.share == pytest.approx(0.64, abs=0.02) and found.low < 0.64 < found.high


def test_what_explains_nothing_is_seldom_said_to_be_certain():
    points, holds = cells(64, 200), chance(8).uniform(size=64) < 0.5
    certain = [explained(column, holds).certain for column in points.T]
    assert np.mean(certain) < 0.1


def test_a_boundary_across_two_settings_is_explained_by_both_together():
    points = cells(64)
    holds = points[:, 0] > points[:, 1]
    one = explained(points[:, 0], holds)
    both = explained_together(points[:, 0], points[:, 1], holds)
    other = explained_together(points[:, 0], points[:, 2], holds)
    assert both.share > 0.6 > one.share and both.certain and other.share < both.share - 0.2


def test_choices_are_groups_of_their_own():
    shares = np.tile([1 / 6, 1 / 2, 5 / 6], 20)
    holds = np.tile([True, False, True], 20)  # no range explains that
    assert explained(shares, holds, choices=3).share == pytest.approx(1)


def test_a_boundary_is_found_with_its_side_and_an_interval():
    points = cells(100, 1)[:, 0]
    found = boundary(points, points < 0.3)
    assert found.at == pytest.approx(0.3, abs=0.03) and found.holds_below and found.right == 1
    assert found.low <= 0.3 <= found.high and found.high - found.low < 0.15
    assert not boundary(points, points > 0.3).holds_below
    assert boundary(points, np.ones(100, bool)) is None


def test_the_interval_of_a_boundary_covers_it():
    covered = []
    for seed in range(60):
        points = chance(seed).uniform(size=48)
        found = boundary(points, points < 0.6)
        covered.append(found.low <= 0.6 <= found.high)
    assert np.mean(covered) > 0.85


def test_a_smooth_estimate_is_near_the_truth_away_from_the_boundary():
    points = cells(200, 2)
    at = np.array([[0.1, 0.5], [0.9, 0.5]])
    low, high = smooth(points, points[:, 0] > 0.5, at)
    assert low < 0.05 and high > 0.95


def test_the_nearest_cell_is_looked_for_among_the_wanted_in_known_settings():
    points = np.array([[0.0, 0.0], [0.4, 0.9], [0.9, 0.1]])
    wanted = np.array([False, True, True])
    assert nearest(np.array([0.0, 0.0]), points, wanted) == 2
    assert nearest(np.array([0.0, np.nan]), points, wanted) == 1
    assert nearest(np.array([np.nan, np.nan]), points, wanted) is None
    assert nearest(np.array([0.0, 0.0]), points, np.zeros(3, bool)) is None
