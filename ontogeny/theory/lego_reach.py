"""How far chains of LEGO carry: from a group and the constants of the theorems to a length.

Neurons learn (lego_neurons), attention learns from chains of two (lego_attention), and chains of
any length are answered with what they have become; nothing is fitted. A rollout is right until its
first mistake, and up to there it reads what is true: so the share of rollouts that are right from
the first answer to the last is that of chains in which every answer to the true ones is.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .lego_attention import BLOCK, Features, Path, Query, flow, gap, leakage, pairs
from .lego_features import Constants
from .lego_neurons import learn


class Chains(NamedTuple):
    """Actions drawn at random, and the values that they lead to."""

    actions: Int[np.ndarray, "row step"]
    values: Int[np.ndarray, "row step+1"]

    @classmethod
    def drawn(
        cls, table: Int[np.ndarray, "action value"], length: int, rows: int, seed: int = 0
    ) -> "Chains":
        """Chains of a length."""
        random = np.random.default_rng(seed)
        actions = random.integers(table.shape[0], size=(rows, length))
        values = np.empty((rows, length + 1), int)
        values[:, 0] = random.integers(table.shape[1], size=rows)
        for step in range(length):
            values[:, step + 1] = table[actions[:, step], values[:, step]]
        return cls(actions, values)

    def query(self, answer: int, table: Int[np.ndarray, "action value"]) -> Query:
        """What the nth answer (from 0) needs, and what else it sees."""
        actions, values = table.shape
        others = np.delete(self.actions, answer, axis=1)
        return Query(
            self.actions[:, answer],
            self.values[:, answer],
            _counts(others, actions),
            _counts(self.values[:, :answer], values),
            self.values[:, answer + 1],
        )


def _counts(tokens: Int[np.ndarray, "row step"], kinds: int) -> Float[np.ndarray, "row kind"]:
    rows = np.arange(len(tokens))[:, None] * kinds
    found = np.bincount((tokens + rows).ravel(), minlength=len(tokens) * kinds)
    return found.reshape(len(tokens), kinds).astype(float)


def chosen(
    mixed: Float[np.ndarray, "row neuron"], features: Features
) -> Int[np.ndarray, " row"]:
    """The most probable answer to each row; -1 if no value leads all other tokens."""
    outputs = np.minimum(features.outputs(mixed)[0], features.constants.B)
    best = np.argmax(outputs, axis=1)
    leads = np.sum(outputs >= outputs.max(axis=1, keepdims=True), axis=1) == 1
    return np.where(leads & (best < outputs.shape[1] - 1), best, -1)


def right(
    scores: Float[np.ndarray, " kind"], features: Features, chains: Chains
) -> Bool[np.ndarray, "row step"]:
    """Whether each answer is right, of chains answered truly up to it."""
    rows, length = chains.actions.shape
    action, value, other, earlier = np.exp(scores)
    predicates = _counts(chains.actions, len(features.action)) @ features.action
    read = np.zeros((rows, features.of.shape[0]))  # earlier answers
    found = np.empty((rows, length), bool)
    span = max(1, BLOCK // read.size)
    for first in range(0, length, span):
        steps = slice(first, min(first + span, length))
        needed = features.action[chains.actions[:, steps]]
        own = features.value[chains.values[:, steps]]
        before = read[:, None] + np.cumsum(own, axis=1) - own
        read = before[:, -1] + own[:, -1]
        mixed = action * needed + value * own
        mixed += other * (predicates[:, None] - needed) + earlier * before
        whole = action + value + other * (length - 1) + earlier * np.arange(length)[steps]
        mixed /= whole[:, None]
        mixed += features.constants.bias
        answers = chosen(mixed.reshape(-1, mixed.shape[-1]), features).reshape(rows, -1)
        found[:, steps] = answers == chains.values[:, 1:][:, steps]
    return found


class Solved(NamedTuple):
    """Chains of some lengths: all answers right, and the last one right given true ones."""

    lengths: Int[np.ndarray, " length"]
    rollout: Float[np.ndarray, " length"]
    last: Float[np.ndarray, " length"]

    @property
    def reach(self) -> float:
        """The length at which half of all rollouts are right; infinite if it is beyond all."""
        below = np.flatnonzero(self.rollout < 0.5)
        if not len(below):
            return float("inf")
        if below[0] == 0:
            return float(self.lengths[0])
        two = slice(below[0] - 1, below[0] + 1)
        log, share = np.log(self.lengths[two]), self.rollout[two]
        return float(np.exp(np.interp(-0.5, -share, log)))


def solved(
    scores: Float[np.ndarray, " kind"],
    features: Features,
    table: Int[np.ndarray, "action value"],
    longest: int = 4096,
    rows: int = 128,
    seed: int = 0,
) -> Solved:
    """Doubled lengths, up to one of which all rollouts fail or the longest."""
    found: list[tuple[int, float, float]] = []
    length = 1
    while length <= longest and (not found or found[-1][1] > 0.1):
        correct = right(scores, features, Chains.drawn(table, length, rows, seed))
        found.append((length, float(np.mean(correct.all(axis=1))), float(np.mean(correct[:, -1]))))
        length *= 2
    lengths, rollout, last = zip(*found, strict=True)
    return Solved(np.array(lengths), np.array(rollout), np.array(last))
