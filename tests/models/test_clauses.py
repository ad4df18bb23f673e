"""Models of clauses: what they read, their rollouts, and the definition that they follow."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from lego_setting import NARROW, SMALL, TINY, at, drawn

from ontogeny import (
    GPT2,
    Analogy,
    BlockSparse,
    ClauseTransformer,
    ConfigError,
    Decoder,
    Lego,
)
from ontogeny.models.block_sparse import smooth_relu
from ontogeny.models.clauses import sentences_of
from ontogeny.models.rollout import rollout, rollout_all_correct, rollout_correct
from ontogeny.models.rotary import rotary
from ontogeny.tasks.lego import CLAUSE

VARIANTS = [
    NARROW,
    ClauseTransformer(width=8, mlp_width=6, positions="learned"),
    ClauseTransformer(width=8, mlp_width=6, positions="rotary", residual=True),
    ClauseTransformer(width=8, mlp_width=6, residual=True, normed=True),
    ClauseTransformer(width=8, mlp_width=6, one_hot=True, positions="learned"),
    TINY,
]
variants = pytest.mark.parametrize("model", VARIANTS, ids=lambda m: repr(m)[:60])


def moved(params, by=0.3):
    """Parameters none of which is zero, so that nothing is overlooked."""
    leaves, tree = jax.tree.flatten(params)
    keys = jr.split(jr.key(5), len(leaves))
    return tree.unflatten(
        [x + by * jr.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    )


@variants
def test_an_answer_does_not_know_what_comes_later(model):
    now = at(SMALL, model)
    now = now.with_params(moved(now.params))
    batch = drawn(now.task, "4 steps")
    cut = batch._replace(inputs=batch.inputs[:, : 5 * CLAUSE], at=batch.at[:, :1])
    full, short = (jax.jit(lambda b: now.trace(b).outputs)(b) for b in (batch, cut))
    assert jnp.allclose(full[:, :1], short, atol=1e-5)


@variants
def test_a_rollout_is_the_model_asked_again_and_again(model):
    now = at(SMALL, model)
    now = now.with_params(moved(now.params))
    batch = drawn(now.task, "4 steps")
    found = jax.jit(lambda p: rollout(model, p, batch, SMALL))(now.params)
    sentences = sentences_of(SMALL, batch)
    answers, trace = sentences.answers[:, :1], jax.jit(lambda b: now.trace(b).outputs)
    for step in range(4):
        padding = jnp.zeros((SMALL.rows, 5 - answers.shape[1], 2), int)
        shown = jnp.concatenate([answers, padding], axis=1)
        outputs = trace(SMALL.batch(sentences._replace(answers=shown)))[:, step]
        best = [jnp.argmax(part, axis=1) for part in jnp.split(outputs, [SMALL.variables], axis=1)]
        answers = jnp.concatenate([answers, jnp.stack(best, axis=1)[:, None]], axis=1)
    assert jnp.array_equal(found, answers[:, 1:])


@pytest.mark.parametrize("positions", ["none", "learned", "rotary"])
def test_projected_tables_are_the_direct_computation(positions):
    model = ClauseTransformer(width=16, mlp_width=12, positions=positions)
    now = at(Lego(rows=8), model)
    batch = drawn(now.task, "train")

    def direct(params, sentence):
        """Clauses embedded first, then projected, with a mask over all pairs of clauses."""
        clauses = params.embeddings.clauses(sentence, jnp.zeros((), int))
        place = jnp.arange(len(clauses))
        q, k, v = (
            (clauses @ w).reshape(len(clauses), 2, 8)
            for w in (params.query, params.key, params.value)
        )
        if positions == "rotary":
            q, k = rotary(q, place), rotary(k, place)
        scores = jnp.einsum("qhp,khp->hqk", q, k) / 8**0.5
        weights = jax.nn.softmax(jnp.where(place <= place[:, None], scores, -jnp.inf))
        mixed = jnp.einsum("hqk,khp->qhp", weights, v).reshape(len(clauses), 16)
        out = params.mlp_out(jax.nn.relu(params.mlp_in(mixed))) @ params.unembed
        return out[len(sentence.predicates) :]

    def loss(outputs):
        return now.task.loss(outputs, batch)

    def ours(params):
        return loss(now.with_params(params).trace(batch).outputs)

    def theirs(params):
        return loss(jax.vmap(direct, (None, 0))(params, sentences_of(now.task, batch)))

    (a, da), (b, db) = (jax.jit(jax.value_and_grad(f))(now.params) for f in (ours, theirs))
    assert jnp.allclose(a, b, atol=1e-5)
    for x, y in zip(jax.tree.leaves(da), jax.tree.leaves(db), strict=True):
        assert jnp.allclose(x, y, atol=1e-5)


def test_smooth_relu_is_smooth():
    x = jnp.linspace(-1, 2, 3001)
    y, slope = jax.vmap(jax.value_and_grad(lambda x: smooth_relu(x, 4, 0.5)))(x)
    assert (y[x <= 0] == 0).all()
    assert jnp.allclose(
        y[(x > 0) & (x <= 0.5)], x[(x > 0) & (x <= 0.5)] ** 4 / (4 * 0.5**3), atol=1e-6
    )
    assert jnp.allclose(y[x > 0.5], x[x > 0.5] - 0.5 * (1 - 1 / 4), atol=1e-6)
    assert jnp.abs(jnp.diff(slope)).max() < 0.01


def test_the_theorems_model_is_the_definition():
    """One-hot clauses of 5 d numbers, a Q of 5 d x 5 d of which two blocks are not zero, and
    neurons that read the mixture of clauses."""
    model = BlockSparse(neurons_per_class=3, clip=0.3)
    task = replace(SMALL, rows=4)
    now = at(task, model)
    now = now.with_params(moved(now.params))
    batch = drawn(now.task, "4 steps")
    d, x, y, m = task.vocab, task.variables, task.values, 3
    params = jax.tree.map(np.asarray, now.params)
    q = np.zeros((5, d, 5, d))
    q[3, :x, 2, :x], q[3, :x, 3, :x] = params.q43, params.q44
    w = np.zeros((5, d, (x + y) * m))
    for slot, (table, start) in enumerate(zip(params.mlp[:5], (0, x + y, 0, 0, x), strict=True)):
        w[slot, start : start + len(table)] = table
    one_hot = np.eye(d)
    one_hot[d - 1] = 0  # the blank
    outputs = np.asarray(jax.jit(lambda: now.trace(batch).outputs)())
    for row in range(4):
        z = one_hot[np.asarray(batch.inputs[row]).reshape(-1, 5)].reshape(-1, 5 * d)
        for read in range(4):
            upto = z[: 5 + read]
            score = upto[-1] @ q.reshape(5 * d, 5 * d) @ upto.T
            attention = np.exp(score) / np.exp(score).sum()
            inner = attention @ upto @ w.reshape(5 * d, -1) + d**-0.5 * np.log(d)
            logits = np.asarray(smooth_relu(jnp.asarray(inner), 4, 0.5)).reshape(-1, m).sum(axis=1)
            assert np.allclose(outputs[row, read], np.minimum(logits, 0.3 * np.log(d)), atol=1e-5)
    assert outputs.max() == pytest.approx(0.3 * np.log(d))


def test_the_theorems_model_begins_as_it_should():
    params = at(Lego(), BlockSparse()).params
    assert not params.q43.any() and not params.q44.any()
    size = 200 + 6 + 6 + 1
    assert jnp.std(params.mlp.made) == pytest.approx(size**-0.5, rel=0.02)


def test_models_of_clauses_want_clauses():
    for model in (NARROW, TINY):
        with pytest.raises(ConfigError, match="reads the clauses of Lego"):
            model.init(Analogy(tuples=3), jr.key(0))
    with pytest.raises(ConfigError, match="even width"):
        ClauseTransformer(width=6)
    with pytest.raises(ConfigError, match="no residual stream"):
        ClauseTransformer(one_hot=True, residual=True)


@pytest.mark.parametrize("model", [Decoder(width=8, heads=2), GPT2(width=8, depth=1, heads=2)])
def test_models_of_tokens_read_sentences_too(model):
    now = at(SMALL, model)
    batch = drawn(SMALL, "4 steps")
    outputs = jax.jit(lambda: now.trace(batch).outputs)()
    assert jnp.isfinite(SMALL.loss(outputs, batch))
    assert SMALL.correct(outputs, batch).shape == (6, 4)


def test_chains_are_answered_alike_few_at_a_time():
    task = Lego(action="C3", chain=2, variables=9, rows=37)
    now = at(task, NARROW)
    batch = drawn(task, "4 steps")

    @jax.jit
    def both(params):
        at_once = jax.vmap(NARROW.rollout, (None, 0))(params, sentences_of(task, batch))
        return rollout(NARROW, params, batch, task), at_once

    few, all_at_once = both(now.params)
    assert few.shape == (37, 4, 2) and jnp.array_equal(few, all_at_once)


class Counted(ClauseTransformer):
    """One that has its answers counted."""

    def decode(self, params, written, position):
        jax.debug.callback(lambda _: COUNTED.append(1), written.answer)
        return super().decode(params, written, position)


COUNTED = []


@pytest.mark.parametrize("chain", [2, 8])
def test_who_has_erred_need_not_go_on(chain):
    task = Lego(action="C3", chain=2, variables=9, rows=37)
    model = Counted(width=8, mlp_width=6)
    now = at(task, model)
    batch = drawn(task, f"{chain} steps")
    right = jax.jit(lambda params: rollout_correct(NARROW, params, batch, task))(now.params)
    COUNTED.clear()
    found = jax.jit(lambda params: rollout_all_correct(model, params, batch, task))(now.params)
    jax.effects_barrier()
    assert jnp.array_equal(found, jnp.all(right, axis=1))
    if chain == 2:
        assert 0 < jnp.sum(found) < 37
    else:  # three times 16 rows
        assert 0 < len(COUNTED) < 3 * 16 * chain
