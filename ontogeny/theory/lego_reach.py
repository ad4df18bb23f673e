"""How far chains of LEGO carry: from a group and the constants of the theorems to a length.

Neurons learn (lego_neurons), attention learns from chains of two (lego_attention), and chains of
any length are answered with what they have become; nothing is fitted. A rollout is right until its
first mistake, and up to there it reads what is true: so the share of rollouts that are right from
the first answer to the last is that of chains in which every answer to the true ones is.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from .groups import named
from .lego_attention import BLOCK, Features, Path, Query, Reading, flow, gap, leakage, pairs
from .lego_features import Constants, ratio
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


def margins(
    mixed: Float[np.ndarray, "row neuron"], target: Int[np.ndarray, " row"], features: Features
) -> Float[np.ndarray, " row"]:
    """By how much the target leads all other tokens; an answer is right above 0."""
    outputs = np.minimum(features.outputs(mixed)[0], features.constants.B)
    rows = np.arange(len(target))
    own = outputs[rows, target]
    outputs[rows, target] = -np.inf
    return np.asarray(own - outputs.max(axis=1))


def right(
    scores: Float[np.ndarray, " kind"], features: Features, chains: Chains
) -> Bool[np.ndarray, "row step"]:
    """Whether each answer is right, of chains answered truly up to it."""
    rows, length = chains.actions.shape
    action, value, other, earlier = np.exp(scores)
    predicates = _counts(chains.actions, len(features.action)) @ features.action
    read = np.zeros((rows, features.of.shape[0]))  # earlier answers
    found = np.empty((rows, length), bool)
    span = max(1, BLOCK // max(1, read.size))
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
        target = chains.values[:, 1:][:, steps]
        leads = margins(mixed.reshape(target.size, read.shape[1]), target.ravel(), features)
        found[:, steps] = leads.reshape(target.shape) > 0
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
    rows: int = 64,
    seed: int = 0,
) -> Solved:
    """Lengths √2 apart, up to one at which nearly all rollouts fail, or the longest."""
    found: list[tuple[int, float, float]] = []
    lengths = np.unique(np.rint(2 ** np.arange(0, np.log2(longest) + 0.01, 0.5)).astype(int))
    for length in map(int, lengths):
        correct = right(scores, features, Chains.drawn(table, length, rows, seed))
        found.append((length, float(np.mean(correct.all(axis=1))), float(np.mean(correct[:, -1]))))
        if found[-1][1] < 0.1:
            break
    tried, rollout, last = zip(*found, strict=True)
    return Solved(np.array(tried), np.array(rollout), np.array(last))


def expected_reach(
    scores: Float[np.ndarray, " kind"],
    features: Features,
    table: Int[np.ndarray, "action value"],
    longest: float = 1e12,
) -> float:
    """The length at which the last answer fails, were all other clauses the mean of all.

    Without chance a chain fails by dilution alone: others add up to -(1 - 2/|Y|) B for each neuron,
    as more neurons are wrong about a pair than right.
    """
    actions, values = table.shape
    action, value = (each.ravel() for each in np.indices(table.shape))
    target, once = table.ravel(), np.ones((table.size, 1))

    def fails(length: float) -> bool:
        others = (length - 1) * once
        earlier = others * np.full(values, 1 / values)
        query = Query(action, value, others * np.full(actions, 1 / actions), earlier, target)
        mixed = Reading.of(query, features).mixed(scores, features.constants.bias)
        return bool(np.median(margins(mixed, target, features)) <= 0)

    low, high = 0.0, float(np.log2(longest))
    if fails(1.0):
        return 1.0
    if not fails(longest):
        return float("inf")
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if fails(2**middle) else (middle, high)
    return float(2**high)


def clipped_leakage(
    difference: float, table: Int[np.ndarray, "action value"], constants: Constants
) -> float:
    """ε at which right answers to chains of two are clipped, so that attention learns no more.

    Neurons in the shape of Theorem C.1 answer B to attention ½ and ½. With V(g) = C V(y), a lead Δ
    of the predicate adds Δ (C - 1)/(C + 1) to a right answer, in units of B, and ε takes from it
    ε (2 - 2/|Y|): at their ratio it is B again, and without a gradient. That is 0 only if C = 1.
    """
    actions, values = table.shape
    C = ratio(actions, values)
    return float(difference * (C - 1) / (C + 1) / (2 - 2 / values))


class Round(NamedTuple):
    """A round of self-training."""

    chain: int
    labels: float  # how many of its labels are right
    path: Path


def self_training(
    features: Features,
    table: Int[np.ndarray, "action value"],
    scores: Float[np.ndarray, " kind"],
    chains: Sequence[int],
    excess: float,
    rows: int = 1024,
    seed: int = 0,
    variables: float = np.inf,
) -> Iterator[Round]:
    """Attention goes on to learn the second answer to longer chains from its own answers (Algorithm
    2), each round until its loss exceeds the floor by no more than this."""
    for chain in chains:
        drawn = Chains.drawn(table, chain, rows, seed)
        first = answered(scores, features, drawn.query(0, table))
        # labels come from a rollout: the second answer follows the first, be that right or wrong
        second = drawn.query(1, table)._replace(value=first)
        labels = answered(scores, features, second)
        true = float(np.mean(labels == drawn.values[:, 2]))
        path = flow(
            features,
            [second._replace(target=labels)],
            excess,
            variables,
            scores,
            evaluations=500,
        )
        scores = path.scores[-1]
        yield Round(chain, true, path)


def answered(
    scores: Float[np.ndarray, " kind"], features: Features, query: Query
) -> Int[np.ndarray, " row"]:
    """The most probable value."""
    mixed = Reading.of(query, features).mixed(scores, features.constants.bias)
    outputs = np.minimum(features.outputs(mixed)[0], features.constants.B)
    return np.asarray(np.argmax(outputs[:, :-1], axis=1))


def curricular(table: Int[np.ndarray, "action value"], most: int = 2048) -> tuple[Query, ...]:
    """What attention learns from: both answers to chains of two (Algorithm 1), or, where several
    actions send a value to another, the second alone (Algorithm 2)."""
    both = pairs(table, most)
    return both if table.shape[0] == table.shape[1] else both[1:]


class Point(NamedTuple):
    """A point of the phase diagram."""

    group: str
    d: float
    clip: float
    excess: float  # the loss above its floor when attention stopped, in units of the floor
    leakage: float
    gap: float
    reach: float
    stopped: bool  # whether the loss came down so far


def phases(
    group: str,
    constants: Constants,
    excesses: Sequence[float],
    seed: int = 0,
    longest: int = 4096,
) -> Iterator[Point]:
    """From a group and the constants of the theorems to the length that is solved, for every loss
    to stop at: they lie on one path."""
    table = named(group).table
    features = Features.awake(learn(table, constants, seed).weights, constants)
    path = flow(features, curricular(table), min(excesses) * features.floor)
    for excess in excesses:
        level = (1 + excess) * features.floor
        scores = path.at(level)
        reach = solved(scores, features, table, longest).reach
        of_two = float(leakage(scores, 2, 1)), float(gap(scores, 2, 1))
        stopped = bool(path.loss.min() <= level * (1 + 1e-6))
        yield Point(group, constants.d, constants.clip, excess, *of_two, reach, stopped)
