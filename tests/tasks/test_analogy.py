"""Analogies: the phases of a curriculum, and what is replayed."""

import jax.random as jr
import numpy as np
import pytest

from ontogeny import Analogy, ConfigError


def weighed(split, **changes):
    """The questions of a split by kind, with how much each counts."""
    task = Analogy(tuples=3, **changes)
    batch = task.sample((), split, jr.key(0))
    names = np.array(task.token_names(()))
    rows = zip(*map(np.asarray, batch[:4]), strict=True)
    return {
        " ".join([*names[inputs], names[targets[0]]]): float(weight[0])
        for inputs, _, targets, weight in rows
        if weight[0] > 0
    }


def test_the_phases_of_theorem_3_have_all_premises_and_none_twice():
    first, second, whole = map(weighed, ("separated", "remaining", "train"))
    assert set(first) | set(second) == set(whole) and not set(first) & set(second)


@pytest.mark.parametrize("replay", [0.0, 0.25, 1.0])
def test_premises_of_the_first_phase_are_replayed_with_their_weight(replay):
    first, second = weighed("separated"), weighed("remaining")
    again = weighed("replayed", replay=replay)
    assert {name: weight for name, weight in again.items() if name in second} == second
    replayed = {name: weight for name, weight in again.items() if name not in second}
    assert replayed == ({name: replay for name in first} if replay else {})
    some = weighed("attribution replayed", replay=replay)
    assert set(some) - set(second) == {name for name in replayed if " r2 " in name}


def test_the_conclusion_is_never_replayed():
    assert set(weighed("conclusion")).isdisjoint(weighed("replayed"))
    with pytest.raises(ConfigError, match="replay must be at most 1, not 2"):
        Analogy(replay=2.0)
