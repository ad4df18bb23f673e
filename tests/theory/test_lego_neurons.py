"""Stage 1 of LEGO in V(g) and V(y) is training of all weights of the theorem's model."""

from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ontogeny.theory import lego_features, lego_neurons
from ontogeny.theory.groups import named
from ontogeny.theory.lego_features import Constants, Weights


def smooth(x, power, knee):
    low = jnp.clip(x, 0.0, knee)
    return low**power / (power * knee ** (power - 1)) + jnp.maximum(x - knee, 0.0)


class OneHot:
    """The model of Definition 3.5 for the fifth token: all of W₅, one-hot clauses, no symmetry."""

    def __init__(self, action, variables, constants):
        self.table = named(action).table
        self.actions, self.values = self.table.shape
        self.variables, self.constants = variables, constants
        self.d = variables + self.actions + self.values + 1  # and the blank
        assert constants.d == self.d

    def action(self, g):
        return self.variables + g

    def value(self, y):
        return self.variables + self.actions + y

    def clauses(self):
        """(x₁, g, x₀, _, _) and (_, _, _, x₀, y₀) side by side, [row, slot, token]; and y₁."""
        rows, targets = [], []
        blank = np.zeros(self.d)
        token = np.eye(self.d)
        for (x, z), g, y in product(
            permutations(range(self.variables), 2), range(self.actions), range(self.values)
        ):
            predicate = [token[z], token[self.action(g)], token[x], blank, blank]
            answer = [blank, blank, blank, token[x], token[self.value(y)]]
            rows.append((np.array(predicate) + np.array(answer)) / 2)
            targets.append(self.value(self.table[g, y]))
        return jnp.array(rows), jnp.array(targets)

    def outputs(self, W, mixed):
        """F₅ (eq. 3, 13, 14), clipped (Assumption 3.4)."""
        c = self.constants
        x = jnp.einsum("jrst,nst->njr", W, mixed) + c.bias
        return jnp.minimum(jnp.sum(smooth(x, c.power, c.knee), axis=2), c.B)

    def descend(self, W, learning_rate, steps):
        mixed, targets = self.clauses()

        def loss(W):
            said = jax.nn.log_softmax(self.outputs(W, mixed))  # over all d tokens
            return -jnp.mean(said[jnp.arange(len(targets)), targets])

        # Assumption B.1: slots 1, 3 and 4 stay as they were
        frozen = jnp.array([0.0, 1.0, 0.0, 0.0, 1.0])[None, None, :, None]
        step = jax.jit(lambda W: W - learning_rate * frozen * jax.grad(loss)(W))
        for _ in range(steps):
            W = step(W)
        return np.asarray(W), float(loss(W))

    def embed(self, weights):
        """W₅ with these V(g) and V(y)."""
        W = np.zeros((self.d, self.constants.neurons, 5, self.d))
        for j in range(self.values):
            for g in range(self.actions):
                W[self.value(j), :, 1, self.action(g)] = weights.action[g, j]
            for y in range(self.values):
                W[self.value(j), :, 4, self.value(y)] = weights.value[y, j]
        return jnp.asarray(W, jnp.float32)

    def read(self, W):
        """V(g) and V(y) in W₅; of tokens that are no values, those of the first."""
        classes = [*(self.value(j) for j in range(self.values)), 0]
        action = [W[classes, :, 1, self.action(g)] for g in range(self.actions)]
        value = [W[classes, :, 4, self.value(y)] for y in range(self.values)]
        return Weights(np.array(action), np.array(value))


@pytest.mark.parametrize(("action", "clip"), [("C3", 2.0), ("C3", 0.8), ("S3", 1.2)])
def test_descent_in_two_kinds_of_numbers_is_descent_on_all_weights(action, clip):
    actions, values = named(action).table.shape
    constants = Constants(5.0 + actions + values, clip, neurons=4, knee=2.0)
    model = OneHot(action, 4, constants)
    begun = lego_features.drawn(model.table, constants, seed=1)
    W, loss = model.descend(model.embed(begun), 5.0, 300)
    reduced = lego_neurons.descent(begun, model.table, constants, 5.0, 300)
    for found, known in zip(reduced, model.read(W), strict=True):
        np.testing.assert_allclose(found, known, atol=2e-3)
        assert np.abs(found).max() > 1.0
    rows = lego_neurons.Rows.of(model.table)
    assert lego_neurons.forces(reduced, rows, constants).loss == pytest.approx(loss, rel=2e-3)


def test_what_the_other_slots_and_tokens_drew_matters_little():
    """All of W₅ is drawn from N(0, σ₀²), variables and tokens that are no values included."""
    constants = Constants(4 + 3 + 3 + 1.0, 1.5, neurons=4, knee=2.0)
    model = OneHot("C3", 4, constants)
    random = np.random.default_rng(0)
    W = constants.spread * random.normal(size=(model.d, 4, 5, model.d))
    begun = model.read(W)
    begun.action[:, -1], begun.value[:, -1] = 0.0, 0.0
    trained, loss = model.descend(jnp.asarray(W, jnp.float32), 5.0, 300)
    reduced = lego_neurons.descent(begun, model.table, constants, 5.0, 300)
    known = model.read(trained)
    for found, true in zip(reduced, known, strict=True):
        both = np.corrcoef(found[:, :-1].ravel(), true[:, :-1].ravel())[0, 1]
        assert both > 0.95
    rows = lego_neurons.Rows.of(model.table)
    assert lego_neurons.forces(reduced, rows, constants).loss == pytest.approx(loss, rel=0.1)


@pytest.mark.parametrize(("action", "clip"), [("C3", 0.8), ("S3", 1.5), ("C4", 1.2)])
def test_flow_is_descent_in_small_steps_and_stays_at_the_clip(action, clip):
    table, constants = named(action).table, Constants(60.0, clip, neurons=5, knee=2.0)
    begun = lego_features.drawn(table, constants, 0)
    duration = 3000.0
    slow = lego_neurons.descent(begun, table, constants, 0.3, 10_000)
    flowed = lego_neurons.learn(table, constants, 0, duration, step=0.05)
    assert flowed.steps < 4000
    for found, known in zip(flowed.weights, slow, strict=True):
        np.testing.assert_allclose(found[:, :-1], known[:, :-1], atol=0.05)
    rows = lego_neurons.Rows.of(table)
    outputs = lego_neurons.forces(flowed.weights, rows, constants).outputs
    assert np.abs(outputs / constants.B - 1).max() < 0.01


@pytest.mark.parametrize("action", ["C4", "S3", "S4", "C2 x C2"])
def test_where_d_is_large_one_neuron_learns_each_combination_in_the_shape_of_the_theorems(action):
    """Equations 17 and 18, with the ratio of Theorem C.1: V(g) + V(y) = 2B, V(g) = C V(y)."""
    table, constants = named(action).table, Constants(1e12, 1.0, neurons=16)
    learnt = lego_neurons.learn(table, constants, seed=0, step=0.5)
    actions, values = table.shape
    ratio = lego_features.ratio(actions, values)
    # what is at the clip is Σ sReLU(½ (V(g) + V(y)) + b) = B
    whole = 2 * (constants.B + constants.knee * (1 - 1 / constants.power) - constants.bias)
    expected_action, expected_value = (whole * part / (1 + ratio) for part in (ratio, 1.0))
    order = lego_features.curriculum(lego_features.drawn(table, constants, 0), table)
    close = []
    for j, y, r in order:
        sends, same = table[:, y] == j, np.arange(values) == y
        action, value = learnt.weights.action[:, j, r], learnt.weights.value[:, j, r]
        found = np.array(
            [action[sends].mean(), value[same].mean(), action[~sends].mean(), value[~same].mean()]
        )
        shape = np.array([expected_action, expected_value, -expected_value, -expected_action])
        close.append(np.abs(found - shape).max() < 0.1 * constants.B)
    # now and then two neurons begin so much alike that they share a combination
    assert np.mean(close) > 0.8


def test_combinations_are_learnt_in_the_order_and_at_the_time_that_responses_foretell():
    table, constants = named("C4").table, Constants(1e12, 1.0, neurons=16)
    begun = lego_features.drawn(table, constants, 0)
    learnt = lego_neurons.learn(table, constants, seed=0, step=0.3).learnt
    order = lego_features.curriculum(begun, table)
    responses = lego_features.promise(begun, table)
    when = np.array([learnt[j, y] for j, y, _ in order])
    alone = lego_features.emergence(np.array([responses[each] for each in order]), table, constants)
    assert (np.diff(alone) > 0).all()
    ranks = np.argsort(np.argsort(when))
    assert np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] > 0.98
    np.testing.assert_allclose(when, alone, rtol=0.05)


@pytest.mark.parametrize(
    ("action", "known"), [("C6", 1.0), ("S4", 19 / 9), ("S5", 97 / 28), ("D6", 11 / 7)]
)
def test_the_ratio_of_finite_groups(action, known):
    actions, values = named(action).table.shape
    assert lego_features.ratio(actions, values) == pytest.approx(known)
