"""Stage 2 of LEGO: how attention finds the two clauses that an answer needs, in four numbers.

Neurons stay as stage 1 left them, each as it is, and know nothing of variables. These are named at
random, so that renaming them changes nothing, and attention that starts from nothing stays

    Q43 = a I + c (J - I)     from an answer to the predicates: the one it needs, and each other
    Q44 = b I + e (J - I)     from an answer to answers: itself, and each before it

with J all ones. The answer x_n = y_n to a chain of L actions sees a weighted mean of features,

    x_jr = [ exp(a) V(g_n+1) + exp(b) V(y_n) + exp(c) Σ V(other g) + exp(e) Σ V(y before) ] / Z + b₀

One entry of a diagonal has a share of 1/|X| in the slope of the loss along a or b, one off it
1/(|X| (|X| - 1)) in that along c or e: time is in units of |X|, and with many variables c and e
stay where they are (arXiv 2511.07378, Section 6.2; for neurons that are all alike, lego_descent).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.integrate import BDF
from scipy.optimize import brentq

from .lego_features import Constants, Weights

# a part of B, over which an output's gradient ends as it comes to its clip: one that ended at once
# would turn the flow back and forth
ROUNDED = 1e-3
BLOCK = 20_000  # how many responses at a time


class Features(NamedTuple):
    """The neurons that learnt something, and what the others answer."""

    action: Float[np.ndarray, "action neuron"]
    value: Float[np.ndarray, "value neuron"]
    of: Int[np.ndarray, "neuron class"]  # 1 for the class of a neuron
    rest: Float[np.ndarray, " class"]
    constants: Constants

    @classmethod
    def awake(cls, weights: Weights, constants: Constants, least: float = 0.25) -> "Features":
        """The neurons that some attention to some tokens brings above a part of the knee."""
        largest = np.maximum(weights.action.max(axis=0), weights.value.max(axis=0))
        chosen = largest + constants.bias > least * constants.knee
        # each of the others adds less than ρ/q least^q, to all alike: what it makes of a mean token
        usual = 0.5 * (weights.action.mean(axis=0) + weights.value.mean(axis=0))
        idle, _ = constants.respond(usual + constants.bias)
        return cls(
            weights.action[:, chosen],
            weights.value[:, chosen],
            np.eye(len(chosen))[np.nonzero(chosen)[0]],
            np.sum(np.where(chosen, 0.0, idle), axis=1),
            constants,
        )

    def outputs(
        self, mixed: Float[np.ndarray, "row neuron"]
    ) -> tuple[Float[np.ndarray, "row class"], Float[np.ndarray, "row neuron"]]:
        """Before they are clipped; and the slopes of neurons."""
        active, slope = self.constants.respond(mixed)
        return active @ self.of + self.rest, slope

    def clipped(
        self, outputs: Float[np.ndarray, "row class"]
    ) -> tuple[Float[np.ndarray, "row class"], Float[np.ndarray, "row class"]]:
        """Outputs and their slopes: F up to B - w, level from B, a parabola in between."""
        width = ROUNDED * self.constants.B
        below = np.clip((self.constants.B - outputs) / width, 0.0, 1.0)
        level = self.constants.B - width / 2 * (1 + below**2)
        return np.where(below < 1.0, level, outputs), below

    @property
    def floor(self) -> float:
        """The least loss: right answers at the clip, wrong ones as if nothing was learnt."""
        values = len(self.rest) - 1
        highest = (1 - ROUNDED / 2) * self.constants.B
        wrong = self.constants.crowd(values) * np.exp(self.rest - highest)
        return float(np.log1p(np.mean(np.sum(wrong) - wrong[:values])))


class Query(NamedTuple):
    """What an answer of some sentences needs, and what else it sees."""

    action: Int[np.ndarray, " row"]  # of the predicate that it needs
    value: Int[np.ndarray, " row"]  # its own
    actions: Float[np.ndarray, "row action"]  # how often each is in the other predicates
    values: Float[np.ndarray, "row value"]  # how often each was answered before
    target: Int[np.ndarray, " row"]

    def parts(self, count: int) -> Iterator[tuple[float, "Query"]]:
        """The rows in parts, each with its share of them."""
        for rows in np.array_split(np.arange(len(self.action)), count):
            yield len(rows) / len(self.action), Query(*(field[rows] for field in self))


def pairs(table: Int[np.ndarray, "action value"], most: int = 2**20) -> tuple[Query, Query]:
    """Both answers to all chains of two, or to so many of them."""
    actions, values = table.shape
    drawn = np.arange(actions**2 * values)
    if len(drawn) > most:
        drawn = np.random.default_rng(0).permutation(drawn)[:most]
    first, second, start = np.unravel_index(drawn, (actions, actions, values))
    middle = table[first, start]
    one_action, one_value = np.eye(actions), np.eye(values)
    return (
        Query(first, start, one_action[second], np.zeros((len(start), values)), middle),
        Query(second, middle, one_action[first], one_value[start], table[second, middle]),
    )


class Reading(NamedTuple):
    """The features of a query: needed action, own value, other actions, earlier values."""

    parts: tuple[Float[np.ndarray, "row neuron"], ...]
    counts: Float[np.ndarray, " kind"]  # of clauses
    right: Bool[np.ndarray, "row class"]

    @classmethod
    def of(cls, query: Query, features: Features) -> "Reading":
        """What neurons make of a query, which has as many clauses in each row."""
        parts = (
            features.action[query.action],
            features.value[query.value],
            query.actions @ features.action,
            query.values @ features.value,
        )
        counts = np.array([1.0, 1.0, query.actions[0].sum(), query.values[0].sum()])
        return cls(parts, counts, query.target[:, None] == np.arange(len(features.rest)))

    def mixed(self, scores: Float[np.ndarray, " kind"], bias: float) -> np.ndarray:
        """What neurons make of what attention brings."""
        weights = np.exp(scores)
        weights /= weights @ self.counts
        mixed = np.full_like(self.parts[0], bias)
        for weight, part, count in zip(weights, self.parts, self.counts, strict=True):
            if count:
                mixed += weight * part
        return mixed

    def descent(
        self, scores: Float[np.ndarray, " kind"], features: Features
    ) -> tuple[float, Float[np.ndarray, " kind"]]:
        """The loss, and its slope along the scores."""
        bias = features.constants.bias
        mixed = self.mixed(scores, bias)
        raw, active = features.outputs(mixed)
        outputs, gradient = features.clipped(raw)
        crowd = features.constants.crowd(outputs.shape[1] - 1)
        odds = np.exp(outputs - features.constants.B) * crowd
        wrong = np.where(self.right, 0.0, odds)
        missed = np.sum(wrong, axis=1) / np.sum(odds, axis=1)
        # ∂L/∂F = p - [right], and at the right one that is less p of all others
        blame = wrong / np.sum(odds, axis=1)[:, None] - self.right * missed[:, None]
        active *= (gradient * blame) @ features.of.T
        # ∂x/∂a = A (V(g) - x) with attention A: softmax
        drawn = np.array([np.vdot(active, part) for part in self.parts])
        whole = np.vdot(active, mixed) - bias * np.sum(active)
        weights = np.exp(scores)
        slope = weights / (weights @ self.counts) * (drawn - self.counts * whole)
        return float(-np.mean(np.log1p(-missed))), slope / len(mixed)


def attention(
    scores: Float[np.ndarray, "*step kind"], chain: int, answer: int
) -> tuple[Float[np.ndarray, "*step"], Float[np.ndarray, "*step"]]:
    """The attention of an answer (from 0) to the predicate that it needs, and to itself."""
    weights = np.exp(scores)
    whole = weights @ np.array([1.0, 1.0, chain - 1.0, answer])
    return np.asarray(weights[..., 0] / whole), np.asarray(weights[..., 1] / whole)


def leakage(scores: Float[np.ndarray, "*step kind"], chain: int, answer: int) -> np.ndarray:
    """ε (eq. 19)."""
    predicate, itself = attention(scores, chain, answer)
    return np.asarray(1 - predicate - itself)


def gap(scores: Float[np.ndarray, "*step kind"], chain: int, answer: int) -> np.ndarray:
    """Δ (eq. 20), with its sign: positive where the predicate leads."""
    predicate, itself = attention(scores, chain, answer)
    return np.asarray(predicate - itself)


class Path(NamedTuple):
    """Gradient flow of the scores a, b, c, e."""

    time: Float[np.ndarray, " step"]  # in units of |X|
    scores: Float[np.ndarray, "step kind"]
    loss: Float[np.ndarray, " step"]
    stopped: bool  # by the loss

    def at(self, loss: float) -> Float[np.ndarray, " kind"]:
        """The scores when the loss first came down to this; the last, if it never did."""
        after = int(np.argmax(self.loss <= loss)) if (self.loss <= loss).any() else len(self.loss)
        if after in (0, len(self.loss)):
            return np.asarray(self.scores[min(after, len(self.loss) - 1)])
        before, level = np.log(self.loss[after - 1]), np.log(self.loss[after])
        part = (np.log(loss) - before) / (level - before)
        return np.asarray((1 - part) * self.scores[after - 1] + part * self.scores[after])


def flow(
    features: Features,
    queries: Sequence[Query],
    excess: float,
    variables: float = np.inf,
    begun: Float[np.ndarray, " kind"] | None = None,
    duration: float | None = None,
    evaluations: int = 2000,
) -> Path:
    """Descent on the mean loss of some queries, until it exceeds its floor by no more than this.

    Or until a time, or until the loss was evaluated so often: where outputs are near their clip the
    flow is stiff, and little is left to learn.
    """
    # some rows at a time: large arrays would be given back to the system after every line
    readings = [
        (part / len(queries), Reading.of(query, features))
        for whole in queries
        for part, query in whole.parts(max(1, whole.action.size * features.of.shape[0] // BLOCK))
    ]
    share = np.array([1.0, 1.0, *2 * [1 / (variables - 1)]])
    target = features.floor + excess
    # a chance of a mistake of λ ~ d exp(-B) takes 1/(λ ε) to go on from a leakage of ε
    constants = features.constants
    duration = constants.d * np.exp(constants.B) if duration is None else duration

    @cache  # the solver asks for the slope at scores whose loss is asked for, too
    def descent(*scores: float) -> tuple[float, Float[np.ndarray, " kind"]]:
        loss, slope = 0.0, np.zeros(4)
        for part, reading in readings:
            its_loss, its_slope = reading.descent(np.array(scores), features)
            loss += part * its_loss
            slope += part * its_slope
        return loss, share * slope

    start = np.zeros(4) if begun is None else begun
    solver = BDF(lambda _, at: -descent(*at)[1], 0.0, start, duration, rtol=1e-4, atol=1e-5)
    path = [(0.0, start, descent(*start)[0])]
    while solver.status == "running" and path[-1][2] > target:
        if descent.cache_info().currsize > evaluations:
            break
        solver.step()
        path.append((solver.t, solver.y, descent(*solver.y)[0]))
    if len(path) > 1 and path[-1][2] < target:
        # back to where the loss passed its target within the last step
        within = solver.dense_output()
        time = brentq(lambda t: descent(*within(t))[0] - target, path[-2][0], path[-1][0])
        path[-1] = float(time), within(time), target
    times, scores, losses = zip(*path, strict=True)
    return Path(np.array(times), np.array(scores), np.array(losses), losses[-1] <= target)
