"""Finite groups, what they act on, and what makes following an action hard.

An action is named as a mathematician would write it:

    C6   S5   A5   D4            cyclic, symmetric, alternating; dihedral, of order 8
    C2 x C3                      a direct product, on pairs of states
    <(0 1 2 3 4), (0 1)>         the group that these permutations generate, in cycles
    S3 on itself                 the same group, its elements being the states
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import factorial

import numpy as np
from jaxtyping import Int
from numpy import ndarray

# the table of products has the square of it as entries: 25 million
LARGEST = 5040  # how many elements a group may have: S7
WIDEST = 1000  # and how many points it may move


class BadGroup(ValueError):  # noqa: N818
    """What was written down is no group, or no action of one."""


@dataclass(frozen=True, eq=False)
class Action:
    """A group and the states it moves: `product[g, h]` is g after h, `table[g, y]` where y goes."""

    name: str
    product: Int[ndarray, "element element"]
    table: Int[ndarray, "element state"]

    def __post_init__(self) -> None:
        elements, states = self.table.shape
        if self.table.min() < 0 or self.table.max() >= states:
            raise BadGroup(f"{self.name}: not an action: it leads out of the {states} states")
        if self.product.min() < 0 or self.product.max() >= elements:
            raise BadGroup(f"{self.name}: not a group: a product leads out of it")
        unit = np.flatnonzero((self.product == np.arange(elements)).all(axis=1))
        if len(unit) != 1 or not (self.product == unit[0]).any(axis=1).all():
            raise BadGroup(f"{self.name}: not a group: no unit, or an element without inverse")
        if (self.table[unit[0]] != np.arange(states)).any():
            raise BadGroup(f"{self.name}: not an action: the unit moves a state")
        # (g h) y = g (h y) for all h and y at once, but one g at a time: all of them would be
        # elements² × states. Where different elements act differently, this makes the product
        # associative, too
        for element in range(elements):
            if (self.table[self.product[element]] != self.table[element][self.table]).any():
                raise BadGroup(
                    f"{self.name}: not an action: a product moves a state elsewhere than its "
                    f"factors, one after the other (element {element})"
                )

    @property
    def order(self) -> int:
        """How many elements the group has."""
        return len(self.table)

    @property
    def states(self) -> int:
        """How many states there are."""
        return int(self.table.shape[1])

    @cached_property
    def unit(self) -> int:
        """The element that does nothing."""
        return int(np.argmax((self.product == np.arange(self.order)).all(axis=1)))

    @cached_property
    def inverse(self) -> Int[ndarray, " element"]:
        """What undoes each element."""
        undone: Int[ndarray, " element"] = np.argmax(self.product == self.unit, axis=1)
        return undone

    @cached_property
    def orbits(self) -> tuple[tuple[int, ...], ...]:
        """The states that can be reached from one another."""
        return tuple(sorted({tuple(map(int, np.unique(column))) for column in self.table.T}))

    def stabiliser(self, state: int) -> Int[ndarray, " element"]:
        """The elements that leave a state where it is."""
        return self.fibre(state, state)

    def fibre(self, to: int, state: int) -> Int[ndarray, " element"]:
        """The elements that send a state to another."""
        return np.flatnonzero(self.table[:, state] == to)

    @property
    def transitive(self) -> bool:
        """Whether every state leads to every other."""
        return len(self.orbits) == 1

    @property
    def free(self) -> bool:
        """Whether only the unit leaves any state in place."""
        # the unit leaves every state in place; anything above that count is another element's
        return bool(np.count_nonzero(self.table == np.arange(self.states)) == self.states)

    @property
    def simply_transitive(self) -> bool:
        """Whether exactly one element leads from any state to any other."""
        return self.transitive and self.free

    @property
    def abelian(self) -> bool:
        """Whether the order of two elements never matters."""
        return bool((self.product == self.product.T).all())

    @cached_property
    def solvable(self) -> bool:
        """Whether commutators of commutators, and so on, end at the unit.

        If not, the word problem is complete for NC¹ (Barrington).
        """
        members = np.arange(self.order)
        while len(members) > 1:
            # the derived series ends at the unit, or at a group that is its own derived group
            derived = self._closed(self._commutators(members))
            if len(derived) == len(members):
                return False
            members = derived
        return True

    @cached_property
    def coincidence(self) -> float:
        """The chance that an element drawn anew sends a state where another drawn one does."""
        # [state, where to]; the mean is 1/|Y| for every transitive action, free or not
        arrivals = np.stack([np.bincount(column, minlength=self.states) for column in self.table.T])
        return float(np.mean(np.sum((arrivals / self.order) ** 2, axis=1)))

    @property
    def distractors(self) -> float:
        """The same, but by *another* element: 0 if the action is free."""
        return self.coincidence - 1 / self.order

    def on_itself(self) -> "Action":
        """The same group with its elements for states: simply transitive."""
        return Action(f"{self.name} on itself", self.product, self.product)

    def __mul__(self, other: "Action") -> "Action":
        """The direct product, on pairs of states."""
        if self.order * other.order > LARGEST:
            raise BadGroup(f"{self.name} x {other.name} has more than {LARGEST} elements")
        return Action(
            f"{self.name} x {other.name}",
            _paired(self.product, other.product),
            _paired(self.table, other.table),
        )

    def _commutators(self, members: Int[ndarray, " member"]) -> Int[ndarray, " found"]:
        there = self.product[np.ix_(members, members)]
        back = self.product[np.ix_(self.inverse[members], self.inverse[members])]
        return np.unique(self.product[there, back])

    def _closed(self, members: Int[ndarray, " member"]) -> Int[ndarray, " found"]:
        while True:
            # commutators include the unit, so that products include the factors
            more = np.unique(self.product[np.ix_(members, members)])
            if len(more) == len(members):
                return members
            members = more


def _paired(left: Int[ndarray, "a b"], right: Int[ndarray, "c d"]) -> Int[ndarray, "a*c b*d"]:
    """Two tables as one: pairs are numbered with the second part running fastest."""
    span = right.max() + 1
    both: Int[ndarray, "a c b d"] = left[:, None, :, None] * span + right[None, :, None, :]
    return both.reshape(len(left) * len(right), -1)


def generated(generators: Sequence[Sequence[int]], name: str = "") -> Action:
    """The group of permutations that these generate, on the points that they move."""
    points = len(generators[0])
    for each in generators:
        if sorted(each) != list(range(points)):
            raise BadGroup(f"{tuple(each)} is not a permutation of 0 to {points - 1}")
    found = {tuple(range(points))}
    edge = list(found)
    while edge:
        reached = {tuple(step[i] for i in one) for one in edge for step in generators}
        edge = list(reached - found)
        found |= reached
        if len(found) > LARGEST:
            raise BadGroup(f"{name or 'the group'} has more than {LARGEST} elements")
    # sorted, so that elements have the same numbers in every process; the unit comes first
    table = np.array(sorted(found))
    marks = np.random.default_rng(0).integers(2**62, size=points)  # a row is identified by its sum
    place = np.argsort(table @ marks)
    sums = (table @ marks)[place]
    # the integers wrap around, which does no harm; if two sums coincided, Action would find that
    # this is no group
    product = np.stack([place[np.searchsorted(sums, one[table] @ marks)] for one in table])
    return Action(name or "generated", product, table)


def cyclic(states: int) -> Action:
    """Turns of so many states in a circle."""
    return generated([_rotated(states)], f"C{states}")


def symmetric(states: int) -> Action:
    """All permutations."""
    # a turn and a swap of neighbours generate all permutations
    swapped = [1, 0, *range(2, states)] if states > 1 else [0]
    return generated([_rotated(states), swapped], f"S{states}")


def alternating(states: int) -> Action:
    """The even permutations."""
    # and the cycles (0 1 k) all even ones
    threes = [_cycled([(0, 1, last)], states) for last in range(2, states)]
    return generated(threes or [list(range(states))], f"A{states}")


def dihedral(states: int) -> Action:
    """Turns and reflections of a polygon."""
    if states < 3:
        raise BadGroup(f"D{states}: a polygon has three corners or more")
    return generated([_rotated(states), [-i % states for i in range(states)]], f"D{states}")


FAMILIES = {"C": cyclic, "S": symmetric, "A": alternating, "D": dihedral}


def named(text: str) -> Action:
    """The action of this name; see the top of this file."""
    if len(text) > 2 * WIDEST:
        raise BadGroup("a group is named in fewer letters")
    group, itself, rest = text.strip().partition(" on itself")
    if rest.strip():
        raise BadGroup(f"{text!r}: nothing may follow 'on itself'")
    action = reduce(Action.__mul__, map(_factor, group.split(" x ")))
    return action.on_itself() if itself else action


def _factor(text: str) -> Action:
    text = text.strip()
    if text.startswith("<") and text.endswith(">"):
        # commas between permutations, not those within a cycle
        cycles = [_cycles(part) for part in re.split(r",(?![^(]*\))", text[1:-1])]
        points = 1 + max((point for each in cycles for cycle in each for point in cycle), default=0)
        _few(points, text)
        return generated([_cycled(each, points) for each in cycles], text)
    known = re.fullmatch(r"([CSAD])([1-9]\d*)", text)
    if not known:
        raise BadGroup(f"{text!r} is no group: C6, S5, A5, D4, C2 x C3, <(0 1 2), (0 1)> are")
    family, states = known[1], int(known[2])
    _few(states, text)
    # refused before it is generated: A_n has half of n!, and 20! decides as well as 1000!
    if family in "SA" and factorial(min(states, 20)) > 2 * LARGEST:
        raise BadGroup(f"{text} has more than {LARGEST} elements")
    return FAMILIES[family](states)


def _few(points: int, text: str) -> None:
    if points > WIDEST:
        raise BadGroup(f"{text} moves more than {WIDEST} points")


def _cycles(text: str) -> list[tuple[int, ...]]:
    """The cycles of "(0 1 2)(3 4)"."""
    if not re.fullmatch(r"\s*(\(\s*\d+([\s,]+\d+)*\s*\)\s*)+", text):
        raise BadGroup(f"{text.strip()!r} is not a permutation: write it as (0 1 2)(3 4)")
    cycles = [tuple(map(int, re.findall(r"\d+", each))) for each in re.findall(r"\(.*?\)", text)]
    points = [point for cycle in cycles for point in cycle]
    if len(set(points)) < len(points):
        raise BadGroup(f"{text.strip()!r} is not a permutation: it moves a point twice")
    return cycles


def _cycled(cycles: Sequence[tuple[int, ...]], points: int) -> list[int]:
    to = list(range(points))
    for cycle in cycles:
        for here, there in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
            to[here] = there
    return to


def _rotated(states: int) -> list[int]:
    return [(i + 1) % states for i in range(states)]
