"""Stage 1 of LEGO: how neurons learn one action on one value, for any transitive action.

With the slots of variables as they were (Assumption B.1) gradient flow closes in V_jr(g) and
V_jr(y) (arXiv 2511.07378, Fact B.1). With ξ_j(g, y) = [g y = j] - p_j(g, y), every pair as likely,
and the softmax p over all d tokens,

    dV_jr(g)/dt = ½ Σ_y ξ_j sReLU'(x_jr) / (|G| |Y|),      dV_jr(y)/dt the same, summed over g

A few thousand numbers, whatever d: tokens that are no values are never right, and, if their neurons
begin alike, stay alike. They are one more class, which the softmax counts d - |Y| times.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .lego_features import Constants, Weights, drawn, fibres

BLOCK = 20_000  # how many responses at a time


class Learning(NamedTuple):
    """Neurons after stage 1."""

    weights: Weights
    learnt: Float[np.ndarray, "class value"]  # when F_j of y's fibre first passes ½ log d
    loss: float  # of chains of one
    steps: int


class Rows(NamedTuple):
    """All pairs (g, y), the |G|/|Y| of a fibre together; one for each g in every class."""

    action: Int[np.ndarray, "class value fibre"]
    value: Int[np.ndarray, "class value fibre"]
    to: Int[np.ndarray, "class value fibre"]

    @classmethod
    def of(cls, table: Int[np.ndarray, "action value"]) -> "Rows":
        """The rows of an action."""
        action = fibres(table)
        indices = np.indices(action.shape)
        return cls(action, indices[1], indices[0])


class Forces(NamedTuple):
    """What moves neurons: right answers up, until they are clipped, and wrong ones down."""

    slope: Float[np.ndarray, "class value fibre neuron"]  # of the neurons of the right answer
    outputs: Float[np.ndarray, "class value fibre"]  # right ones, before they are clipped
    up: Float[np.ndarray, "class value fibre"]  # -∂L/∂F of the right output, were it not clipped
    down: Weights  # ∂L/∂V by way of all wrong outputs
    loss: Float[np.ndarray, ""]


def forces(weights: Weights, rows: Rows, constants: Constants) -> Forces:
    """The slope of the loss of chains of one, in parts."""
    (actions, classes, neurons), values = weights.action.shape, len(weights.value)
    # some classes at a time: large arrays would be given back to the system after every line
    pieces = actions * values * classes * neurons // BLOCK
    blocks = np.array_split(np.arange(classes), np.clip(pieces, 1, classes))
    outputs, slopes = np.empty((actions, values, classes)), []
    for block in blocks:
        x = weights.action[:, None, block] + weights.value[None, :, block]
        active, slope = constants.respond(0.5 * x + constants.bias)
        outputs[:, :, block] = active.sum(axis=3)
        slopes.append(slope)
    odds = np.exp(np.minimum(outputs, constants.B) - constants.B)  # in units of e^B
    right = odds[rows]
    odds[rows] = 0.0
    wrong = odds @ constants.crowd(values)
    total = wrong.copy()
    total[rows[:2]] += right
    missed = wrong / total  # a sum of what is small: 1 - p would be rounded away
    # an output that is clipped has no gradient
    pull = np.where(outputs < constants.B, odds / total[..., None], 0.0) / (2 * rows.to.size)
    of_right = np.empty((*rows.to.shape, neurons))
    down = Weights(np.empty_like(weights.action), np.empty_like(weights.value))
    for block, slope in zip(blocks, slopes, strict=True):
        own = block[block < values]  # the last class is never right
        of_right[own] = slope[rows.action[own], rows.value[own], rows.to[own] - block[0]]
        pulled = slope * pull[:, :, block, None]
        down.action[:, block], down.value[:, block] = pulled.sum(axis=1), pulled.sum(axis=0)
    loss = -np.mean(np.log1p(-missed))
    return Forces(of_right, outputs[rows], missed[rows[:2]] / rows.to.size, down, loss)


def moved(
    now: Forces, rows: Rows, push: Float[np.ndarray, "class value fibre"], pause: float
) -> Weights:
    """What weights gain if right outputs are pushed so much, and wrong ones pull for a time."""
    pushed = 0.5 * now.slope * push[..., None]
    action, value = -pause * now.down.action, -pause * now.down.value
    action[rows.action, rows.to] += pushed  # no pair of g and j twice: j has one preimage
    value[:, :-1] += pushed.sum(axis=2).swapaxes(0, 1)
    return Weights(action, value)


def descent(
    weights: Weights,
    table: Int[np.ndarray, "action value"],
    constants: Constants,
    learning_rate: float,
    steps: int,
) -> Weights:
    """Gradient descent, step by step."""
    rows = Rows.of(table)
    for _ in range(steps):
        now = forces(weights, rows, constants)
        push = learning_rate * np.where(now.outputs < constants.B, now.up, 0.0)
        weights = _sum(weights, moved(now, rows, push, learning_rate))
    return weights


def held(now: Forces, rows: Rows, pause: float, B: float) -> Float[np.ndarray, "class value fibre"]:
    """How much right outputs are pushed in a step of gradient flow.

    An output below B is pushed with all its force, one above it with none; so, as wrong answers
    pull on them, many would cross B again and again. They stay there: 0 ≤ push ≤ force × time, and
    a push between the two is the one that ends at B. Infinitely small steps come to that.
    """
    most = pause * now.up
    pull = now.down.action[rows.action, rows.to] + now.down.value[rows.value, rows.to]
    over = now.outputs - B - 0.5 * pause * np.sum(now.slope * pull, axis=3)
    # a push on one row raises the outputs of all rows of its fibre, by their value in common
    shared, unit = now.slope @ now.slope.swapaxes(-1, -2), np.eye(over.shape[2])
    raising = 0.25 * (shared + shared * unit)

    def end(push: Float[np.ndarray, "class value fibre"]) -> Float[np.ndarray, "..."]:
        return np.asarray(over + np.squeeze(raising @ push[..., None], -1))

    push = most
    between = end(push) > 0
    for _ in range(10):  # guess which end at B, solve for them, guess better
        if not between.any():
            break
        both = between[..., None] & between[..., None, :]
        target = np.where(between, -end(np.where(between, 0.0, push)), push)
        push = np.linalg.solve(np.where(both, raising, unit), target[..., None])[..., 0]
        push = np.clip(push, 0.0, most)
        then, guess, slack = end(push), between, 1e-9 * B
        between = (push > 0) & (push < most)
        between |= ((push >= most) & (then > slack)) | ((push <= 0) & (then < -slack))
        if (between == guess).all():
            break
    return push


def learn(
    table: Int[np.ndarray, "action value"],
    constants: Constants,
    seed: int = 0,
    duration: float | None = None,
    step: float = 0.2,
    begun: Weights | None = None,
) -> Learning:
    """Gradient flow for a time, T₁ unless another is given, from neurons drawn or `begun`.

    Heun's steps: no response changes by more than about `step` of itself, nor by more than `step`.
    """
    rows, weights = Rows.of(table), begun or drawn(table, constants, seed)
    end = constants.duration(table) if duration is None else duration
    learnt = np.full(rows.to.shape[:2], np.nan)
    time, steps, pause = 0.0, 0, 0.0
    now = forces(weights, rows, constants)
    while time < end:
        largest = 0.5 * (weights.action.max(axis=0) + weights.value.max(axis=0)) + constants.bias
        scale = step * np.clip(largest, constants.bias, 1.0)
        # before anything has moved, there is no last step to go by
        pause = pause or 1 / _largest(moved(now, rows, now.up, 1.0), scale)
        while True:
            pause = min(pause, end - time)
            trial = moved(now, rows, held(now, rows, pause, constants.B), pause)
            then = forces(_sum(weights, trial), rows, constants)
            mean = _mean(now, then)
            move = moved(mean, rows, held(mean, rows, pause, constants.B), pause)
            large = _largest(move, scale)
            if large < 1.5:
                break
            pause /= large
        weights, time, steps = _sum(weights, move), time + pause, steps + 1
        # never so fast that the last step, cut short at the end, would not end
        pause *= min(1.3, 1 / large)
        now = forces(weights, rows, constants)
        heard = now.outputs.mean(axis=2) > 0.5 * min(np.log(constants.d), constants.B)
        learnt[heard & np.isnan(learnt)] = time
    return Learning(weights, learnt, float(now.loss), steps)


def _sum(one: Weights, other: Weights) -> Weights:
    return Weights(one.action + other.action, one.value + other.value)


def _mean(one: Forces, other: Forces) -> Forces:
    """The mean of two forces, at the outputs of the first."""
    down = _sum(one.down, other.down)
    return Forces(
        (one.slope + other.slope) / 2,
        one.outputs,
        (one.up + other.up) / 2,
        Weights(down.action / 2, down.value / 2),
        one.loss,
    )


def _largest(move: Weights, scale: Float[np.ndarray, "class neuron"]) -> float:
    """How large a step is, as a part of what is allowed."""
    return float(max(np.max(np.abs(of) / scale) for of in move))
