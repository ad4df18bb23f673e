"""What the neurons of the theorems on LEGO are made of, and what the document says of them.

Attention is uniform in chains of one, so that neuron r of class j sees, of an action g and a value
y (arXiv 2511.07378, Definition 6.2, eq. 15),

    x_jr(g, y) = ½ (V_jr(g) + V_jr(y)) + b,        b = σ₀ log d, σ₀ = d^(-1/2)

and class j is answered F_j = min(B, Σ_r sReLU(x_jr)), B = C_B log d.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Constants(NamedTuple):
    """The constants of the theorems."""

    d: float  # size of the vocabulary
    clip: float = 2.0  # C_B: outputs are at most B = C_B log d (Assumption 3.4)
    neurons: int = 32  # m, of each class
    power: int = 4  # q
    knee: float = 1.0  # ρ
    leak: float = 0.0  # ϖ: the slope of a neuron below 0 (Assumption B.2)
    tokens: float | None = None  # how many more than the values the softmax is over; all of d

    @property
    def B(self) -> float:  # noqa: N802
        """The largest output."""
        return float(self.clip * np.log(self.d))

    @property
    def spread(self) -> float:
        """σ₀."""
        return float(self.d**-0.5)

    @property
    def bias(self) -> float:
        """b."""
        return float(self.spread * np.log(self.d))

    def respond(self, x: Float[np.ndarray, "*x"]) -> tuple[np.ndarray, np.ndarray]:
        """The smooth ReLU (Definition 3.4) and its slope."""
        # in place: new arrays of this size would cost more than the arithmetic
        u = x / self.knee
        np.clip(u, 0.0, 1.0, out=u)
        slope = u.copy()
        for _ in range(self.power - 2):
            slope *= u
        # x^q / (q ρ^(q-1)) below the knee; x - ρ (1 - 1/q) above it, where u = 1
        u *= slope
        u *= self.knee / self.power
        active = x - self.knee
        np.maximum(active, 0.0, out=active)
        active += u
        if self.leak:
            # -x²/2 down to -ϖ, then straight, then, from -B, level
            low = np.clip(x, -self.B, 0.0)
            bent = low > -self.leak
            active += np.where(bent, -(low**2) / 2, self.leak * (low + self.leak / 2))
            slope += np.where(x > -self.B, np.minimum(-low, self.leak), 0.0)
        return active, slope

    def crowd(self, values: int) -> Float[np.ndarray, " class"]:
        """How many tokens each class stands for: a value for itself, the last for all others."""
        others = self.d - values if self.tokens is None else self.tokens
        return np.append(np.ones(values), others)

    def duration(self, table: Int[np.ndarray, "action value"]) -> float:
        """T₁ = |G| |Y| / ϖ of gradient flow: 1/ϖ for each pair (Theorem 4.1, up to logarithms)."""
        # ϖ is at most λ / d^(4/3), λ the least chance of a mistake (Assumption B.2, Fact B.2)
        actions, values = table.shape
        wrong = float(np.sum(self.crowd(values)) - 1)
        return float(actions * values * self.d ** (4 / 3) * (np.exp(self.B) / wrong + 1))


class Weights(NamedTuple):
    """V_jr(g) and V_jr(y)."""

    action: Float[np.ndarray, "action class neuron"]
    value: Float[np.ndarray, "value class neuron"]


def drawn(table: Int[np.ndarray, "action value"], constants: Constants, seed: int) -> Weights:
    """Neurons before training (Assumption 3.3); those of the last class stand for many, at 0."""
    random, (actions, values) = np.random.default_rng(seed), table.shape
    begun = constants.spread * random.normal(size=(actions + values, values, constants.neurons))
    begun = np.concatenate([begun, np.zeros_like(begun[:, :1])], axis=1)
    return Weights(begun[:actions], begun[actions:])


def fibres(table: Int[np.ndarray, "action value"]) -> Int[np.ndarray, "class value fibre"]:
    """The actions that send a value y to a class j (Definition 6.3)."""
    states = range(table.shape[1])
    return np.array([[np.flatnonzero(table[:, y] == j) for y in states] for j in states])


def promise(
    weights: Weights, table: Int[np.ndarray, "action value"]
) -> Float[np.ndarray, "class value neuron"]:
    """V̄: what each neuron of j makes of y and of the actions that send y to j, in the mean."""
    of_action = weights.action[fibres(table)].mean(axis=2)  # [class, value, class, neuron]
    classes = np.arange(table.shape[1])
    both = of_action[classes, :, classes] + weights.value[:, :-1].transpose(1, 0, 2)
    return np.asarray(0.5 * both)


def curriculum(
    weights: Weights, table: Int[np.ndarray, "action value"]
) -> list[tuple[int, int, int]]:
    """The order in which the theorems have combinations learnt, and by which neuron: (j, y, r).

    Always the largest response that is left, of a combination that no neuron has been given and a
    neuron that no combination has been given (Definitions B.3 and C.4).
    """
    responses = promise(weights, table)
    order: list[tuple[int, int, int]] = []
    for flat in np.argsort(-responses, axis=None):
        j, y, r = map(int, np.unravel_index(flat, responses.shape))
        if not any(j == known and (y == of or r == by) for known, of, by in order):
            order.append((j, y, r))
    return order


def ratio(actions: int, values: int) -> float:
    """C of Theorem C.1, V(g) = C V(y): 1 if the action is simply transitive."""
    # Σ_y V(y) = Σ_g V(g), since every push on one is a push on the other; put V(y') = -V(g) and
    # V(g') = -V(y) in it (18c), with |G|/|Y| actions in the fibre
    fibre = actions / values
    return (1 + fibre * (values - 1)) / (values - 1 + fibre)


def shaped(
    table: Int[np.ndarray, "action value"], constants: Constants, imbalance: float | None = None
) -> Weights:
    """Neurons as the theorems have them in the end, one for each combination: V(g) and V(y) in the
    ratio C, or another; what shares half of a combination is cancelled; right answers are B."""
    actions, values = table.shape
    C = ratio(actions, values) if imbalance is None else imbalance
    # Σ sReLU is B where ½ (V(g) + V(y)) + b = B + ρ (1 - 1/q)
    whole = 2 * (constants.B + constants.knee * (1 - 1 / constants.power) - constants.bias)
    own_action, own_value = whole * C / (1 + C), whole / (1 + C)
    action = np.zeros((actions, values + 1, values))
    value = np.zeros((values, values + 1, values))
    action[:, :-1], value[:, :-1] = -own_value, -own_action
    for y in range(values):
        # neuron r = y of class j is that of the combination (fibre of j and y, y)
        action[np.arange(actions), table[:, y], y] = own_action
        value[y, :-1, y] = own_value
    return Weights(action, value)


def emergence(
    response: Float[np.ndarray, "*one"],
    table: Int[np.ndarray, "action value"],
    constants: Constants,
) -> Float[np.ndarray, "*one"]:
    """When a neuron of this first response V̄ would reach its knee, were it alone.

    Eq. 16 as a flow: dx/dt = κ (x/ρ)^(q-1) from x = V̄ + b. V(y) is pushed by all |G|/|Y| rows of
    its fibre, each V(g) by one, ½/(|G| |Y|) a row, and half their sum grows.
    """
    actions, values = table.shape
    rate = (1 + actions / values) / (4 * actions * values)
    u, q = (response + constants.bias) / constants.knee, constants.power
    return np.asarray(constants.knee / rate * (u ** (2 - q) - 1) / (q - 2))
