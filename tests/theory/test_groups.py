"""Groups, by their axioms."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontogeny.theory.groups import Action, BadGroup, generated, named

NAMES = ["C1", "C6", "S3", "S4", "A4", "A5", "D4", "C2 x C3", "S3 on itself", "<(0 1 2)(3 4)>"]
names = st.sampled_from(NAMES)
permutations = st.integers(2, 5).flatmap(
    lambda points: st.lists(st.permutations(range(points)), min_size=1, max_size=3)
)


def assert_group(action):
    """Closed, associative, with a unit and inverses; acting as one element after the other."""
    product, elements = action.product, np.arange(action.order)
    assert (product[product] == product[elements[:, None, None], product[None]]).all()
    assert (product[action.unit] == elements).all() and (product[:, action.unit] == elements).all()
    assert (product[elements, action.inverse] == action.unit).all()
    assert (action.table[product] == action.table[elements[:, None, None], action.table]).all()
    assert (np.sort(action.table, axis=1) == np.arange(action.states)).all()


@given(permutations)
@settings(max_examples=40, deadline=None)
def test_what_permutations_generate_is_a_group(generators):
    action = generated(generators)
    assert_group(action)
    rows = {tuple(row) for row in action.table}
    assert len(rows) == action.order and all(tuple(each) in rows for each in generators)
    assert factorial(len(generators[0])) % action.order == 0  # Lagrange


@pytest.mark.parametrize("name", NAMES)
def test_named_actions_are_groups(name):
    assert_group(named(name))


@given(names, st.data())
def test_orbits_and_stabilisers(name, data):
    action = named(name)
    state = data.draw(st.integers(0, action.states - 1))
    (orbit,) = [each for each in action.orbits if state in each]
    assert len(orbit) * len(action.stabiliser(state)) == action.order
    assert sum(map(len, action.orbits)) == action.states
    fibres = [action.fibre(to, state) for to in range(action.states)]
    assert sum(map(len, fibres)) == action.order
    assert {len(each) for each in fibres} <= {0, len(action.stabiliser(state))}


@pytest.mark.parametrize(
    ("name", "order", "states", "transitive", "free", "solvable"),
    [
        ("C6", 6, 6, True, True, True),
        ("S5", 120, 5, True, False, False),
        ("A5", 60, 5, True, False, False),
        ("S4", 24, 4, True, False, True),
        ("D4", 8, 4, True, False, True),
        ("C2 x C3", 6, 6, True, True, True),
        ("A5 on itself", 60, 60, True, True, False),
        ("<(0 1 2)(3 4)>", 6, 5, False, False, True),
    ],
)
def test_what_is_known_of_groups(name, order, states, transitive, free, solvable):
    action = named(name)
    assert (action.order, action.states) == (order, states)
    assert (action.transitive, action.free, action.solvable) == (transitive, free, solvable)
    assert action.simply_transitive == (transitive and free)


@pytest.mark.parametrize("name", NAMES)
def test_coincidence_is_counted(name):
    table = named(name).table
    pairs = [table[g] == table[h] for g in range(len(table)) for h in range(len(table))]
    assert named(name).coincidence == pytest.approx(np.mean(pairs))
    others = [np.mean(table[g] == table[h]) for g, h in combinations(range(len(table)), 2)]
    total = 2 * np.sum(others) / len(table) ** 2
    assert named(name).distractors == pytest.approx(total)


def test_any_transitive_action_coincides_alike():
    """A clause leads where the right one does with chance 1/|Y|, whether the action is free or not:
    in C6 it is the same element again, in S5 mostly another."""
    assert named("C6").coincidence == pytest.approx(1 / 6)
    assert named("S5").coincidence == pytest.approx(1 / 5)
    assert named("C6").distractors == pytest.approx(0)
    assert named("S5").distractors == pytest.approx(23 / 120)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("E8", "is no group"),
        ("S9", "more than"),
        ("D2", "three corners"),
        ("S5 x S5", "more than"),
        ("<(0 0 1)>", "twice"),
        ("<(0 1) 2>", "not a permutation"),
        ("<>", "not a permutation"),
        ("C6 on itself twice", "nothing may follow"),
    ],
)
def test_bad_names_are_told(name, says):
    with pytest.raises(BadGroup, match=says):
        named(name)


def test_tables_that_are_no_actions_are_told():
    three = named("C3")
    with pytest.raises(BadGroup, match="not a permutation"):
        generated([[0, 0, 1]])
    with pytest.raises(BadGroup, match="leads out"):
        Action("mine", three.product, three.table + 1)
    with pytest.raises(BadGroup, match="the unit moves"):
        Action("mine", three.product, three.table[::-1])
    with pytest.raises(BadGroup, match="one after the other"):
        Action("mine", three.product, np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]]))
    with pytest.raises(BadGroup, match="no unit"):
        Action("mine", np.zeros((3, 3), int), three.table)
