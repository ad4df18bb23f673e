"""Gradient descent on LEGO in four numbers is descent on all parameters."""

from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np

from ontogeny import (
    BlockSparse,
    Lego,
)
from ontogeny.models.block_sparse import BlockParams
from ontogeny.models.clauses import ClauseEmbedding
from ontogeny.tasks.lego import Sentence
from ontogeny.theory import lego_descent
from ontogeny.theory.groups import named


def ideal(task, own, other):
    """Neurons that each know one action on one value, and nothing of variables."""
    table, each = task.group.table, task.group.order
    acting = np.full((task.group.order, task.answers, each), 0.0)
    held = np.zeros((task.values, task.answers, each))
    for to in range(task.values):
        pairs = np.argwhere(table == to)
        assert len(pairs) == each
        for place, (action, value) in enumerate(pairs):
            column = task.variables + to, place
            acting[:, *column], held[:, *column] = other, other
            acting[action, *column], held[value, *column] = own, own

    def flat(array):
        return jnp.asarray(array.reshape(len(array), -1), jnp.float32)

    blank = flat(np.zeros((task.variables, task.answers, each)))
    return ClauseEmbedding(blank, flat(acting), blank, blank, flat(held), blank[:0])


def all_chains(task):
    """Every sentence of two actions."""
    table, predicates, answers = task.group.table, [], []
    for x, y, z in permutations(range(task.variables), 3):
        for first, second in product(range(task.group.order), repeat=2):
            for start in range(task.values):
                middle = table[first, start]
                predicates.append([[y, first, x], [z, second, y]])
                answers.append([[x, start], [y, middle], [z, table[second, middle]]])
    return task.batch(Sentence(jnp.array(predicates), jnp.array(answers)))


def test_attention_in_four_numbers_is_attention():
    """Along every entry of both matrices the loss has the slope that the reduction says."""
    task, model = Lego(action="C3", chain=2, variables=4), BlockSparse(neurons_per_class=3)
    own, other, size = 1.6, -1.0, float(task.vocab)
    tables, batch, same = ideal(task, own, other), all_chains(task), jnp.eye(task.variables)
    bias, clip = size**-0.5 * np.log(size), 4.0 * np.log(size)
    neurons = lego_descent.Neurons(own, other, bias, clip)
    scores = lego_descent.Scores(*map(jnp.asarray, (0.7, 0.4, -0.2, 0.1)))

    def loss(look, keep):
        params = BlockParams(look, keep, tables)
        outputs = jax.vmap(model, (None, 0, 0))(params, batch.inputs, batch.at).outputs
        return task.value_loss(outputs, batch)

    look = scores.q43 * same + scores.q43_off_diagonal * (1 - same)
    keep = scores.q44 * same + scores.q44_off_diagonal * (1 - same)
    table = task.group.table
    np.testing.assert_allclose(loss(look, keep), lego_descent.loss(scores, neurons, table), 1e-5)
    said = lego_descent.slope(scores, neurons, table, task.variables)
    found = jax.grad(loss, (0, 1))(look, keep)
    for slope, diagonal, off in zip(found, said[:2], said[2:], strict=True):
        expected = diagonal * same + off * (1 - same)
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-7)
        assert abs(float(diagonal)) > 1e-4


def test_with_many_variables_only_the_diagonals_move_and_as_slowly_as_there_are_many():
    neurons, table = lego_descent.Neurons(1.6, -1.0, 0.7, 10.0), named("C3").table
    few, many = (
        lego_descent.descent(neurons, table, variables, learning_rate=variables, steps=200)
        for variables in (100.0, 1e6)
    )
    assert float(abs(many.q43_off_diagonal[-1])) < 1e-3 < float(many.q43[-1])
    np.testing.assert_allclose(few.q43, many.q43, atol=0.05)
    leakage = jax.vmap(lambda scores: lego_descent.leakage(scores, 2)[-1])(many)
    assert leakage[0] == 0.5 and (jnp.diff(leakage) < 0).all() and leakage[-1] < 0.2
