"""How often a decision is wrong, by simulation, at every rule by which a claim may be judged."""

import numpy as np
import pytest
from scipy import stats

from ontogeny import ConfigError, Seeds
from ontogeny.core import decision
from ontogeny.core.decision import (
    ERROR,
    by_mean,
    by_seeds,
    interval,
    means_to_decide,
    seeds_to_decide,
    share_interval,
)

CLAIMS = 10_000  # at the boundary, for each distribution and rule
# 4 standard errors of a share of 5 % among so many
CHANCE = 4 * (ERROR * (1 - ERROR) / CLAIMS) ** 0.5
RULES = [Seeds(), Seeds(5, 10), Seeds(3, 6), Seeds(5, 5), Seeds(10, 40), Seeds(8, 8)]
# each with median zero; a half of the seeds of a bimodal one fails altogether
DISTRIBUTIONS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.lognormal(sigma=1.5, size=size) - 1,
    "heavy": lambda rng, size: rng.standard_t(1, size=size),
    "bimodal": lambda rng, size: rng.choice([-1.0, 1e-3], size=size),
}


def judged(rule, test):
    """The side on which a claim is decided, stop after stop."""
    sides = (test(n, rule.error(n)) for n in rule.stops)
    return next((side for side in sides if side != "open"), "open")


def by_sign(holds):
    """Each seed a trial."""
    return lambda n, error: by_seeds(holds[:n], error)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_seeds_decide_wrongly_as_seldom_as_stated(name, rule):
    """Where a relation holds in half of all seeds, neither decision is right."""
    values = DISTRIBUTIONS[name](np.random.default_rng(0), (CLAIMS, rule.most))
    sides = [judged(rule, by_sign(holds)) for holds in (values > 0).tolist()]
    for wrong in ("yes", "no"):
        assert sides.count(wrong) / CLAIMS <= ERROR + CHANCE


@pytest.mark.parametrize("rule", [Seeds(3, 6), Seeds(3, 3), Seeds(10, 40)], ids=str)
@pytest.mark.parametrize("name", ["normal", "skewed", "bimodal"])
def test_means_decide_wrongly_as_seldom_as_stated(name, rule):
    """What is judged by its mean is a mean itself, here over thirty answers of a seed. At the end
    of an equivalence's tolerance, of which the other end is far: neither decision is right."""
    rng, size = np.random.default_rng(1), (CLAIMS, rule.most, 30)
    answers = {
        "normal": lambda: rng.normal(size=size),
        "skewed": lambda: rng.exponential(size=size) - 1,
        "bimodal": lambda: rng.choice([0.0, 1.0], p=[0.3, 0.7], size=size) - 0.7,
    }[name]()
    sides = [
        judged(rule, lambda n, error, row=row: by_mean(row[:n], row[:n] + 10, error))
        for row in answers.mean(axis=2)
    ]
    for wrong in ("yes", "no"):
        assert sides.count(wrong) / CLAIMS <= ERROR + CHANCE


def test_more_stops_cost_little_power():
    """Where it holds in nine of ten seeds, twenty seeds looked at thrice decide nearly as often as
    the same twenty looked at once."""
    holds = np.random.default_rng(2).random((2000, 20)) < 0.9
    thrice = [judged(Seeds(5, 20), by_sign(row)) for row in holds.tolist()].count("yes")
    once = [judged(Seeds(20, 20), by_sign(row)) for row in holds.tolist()].count("yes")
    assert thrice / 2000 > 0.95 and once - thrice < 60


def test_the_error_is_spent_look_by_look():
    plan = Seeds(5, 20)
    assert plan.stops == (5, 10, 20)
    assert sum(map(plan.error, plan.stops)) == pytest.approx(ERROR)
    assert Seeds(5, 5).error(5) == ERROR and Seeds(3, 7).stops == (3, 6, 7)
    with pytest.raises(ConfigError, match="6 seeds are no stop"):
        plan.error(6)
    with pytest.raises(ConfigError, match="seeds from 5 to 3"):
        Seeds(5, 3)


def test_the_interval_for_a_share_is_clopper_and_pearsons():
    for holds, n in ((0, 5), (3, 7), (7, 7)):
        expected = stats.binomtest(holds, n).proportion_ci(0.9, method="exact")
        assert share_interval(holds, n, 0.05) == pytest.approx((expected.low, expected.high))


def test_five_of_five_decide_and_three_of_three_do_not():
    first = Seeds().error(5)
    assert by_seeds([True] * 5, first) == "yes" and by_seeds([False] * 5, first) == "no"
    assert by_seeds([True] * 4, ERROR) == "open"
    assert by_seeds([True] * 4 + [False], first) == "open"
    assert by_seeds([True] * 3, ERROR) == "open"


def test_a_seed_of_which_nothing_is_known_counts_for_neither_side():
    assert by_seeds([True] * 4 + [None], ERROR) == "open"
    assert by_seeds([True] * 8 + [None], ERROR) == "yes"
    assert by_seeds([False] * 8 + [None], ERROR) == "no"


def test_what_does_not_vary_has_no_interval():
    same = np.full(5, 0.3)
    assert by_mean(same, same) == "open"


def test_the_interval_that_is_shown_is_students():
    values = np.array([0.1, 0.5, 0.4, 0.9])
    expected = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert interval(values) == pytest.approx(expected)
    assert decision.quantile(3) == pytest.approx(stats.t.ppf(0.975, 3))


def test_how_many_seeds_would_decide_follows_from_how_it_went():
    assert seeds_to_decide([True] * 4 + [False]) in range(8, 20)
    assert seeds_to_decide([True, False] * 5) is None  # half of them: no number in reach
    assert seeds_to_decide([True] * 7 + [False] * 3) > seeds_to_decide([True] * 9 + [False])


def test_how_many_seeds_a_mean_needs_follows_from_how_much_they_differ():
    near, far = np.array([0.5, 1.5, -0.5]), np.array([0.1, 1.5, -1.0])
    assert by_mean(near, near) == "open"
    assert 3 < means_to_decide(near, near) < means_to_decide(far, far)
    assert means_to_decide(np.array([-1.0, 1.0]), np.array([-1.0, 1.0])) is None  # at the boundary
    # inside a tolerance both ends have to be away from zero
    assert means_to_decide(near, near + 10) == means_to_decide(near, near)
