"""LEGO: sentences, models of clauses, rollouts, self-training, probes."""

from dataclasses import replace
from itertools import permutations, product

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ontogeny import (
    GPT2,
    Accuracy,
    AdamW,
    Analogy,
    AttentionLeakage,
    BlockSparse,
    ChainAdamW,
    ChainGradientDescent,
    ClauseAttention,
    ClauseTransformer,
    Combinations,
    ConfigError,
    Decoder,
    Diagonals,
    Experiment,
    Features,
    Gap,
    GradientDescent,
    Lego,
    Loss,
    OneLayer,
    Promise,
    RequireAccuracy,
    Retrieval,
    RolloutAccuracy,
    RolloutAccuracyByStep,
    execute,
)
from ontogeny.core.types import Moment
from ontogeny.models.block_sparse import BlockParams, smooth_relu
from ontogeny.models.clauses import ClauseEmbedding, sentences_of
from ontogeny.models.rollout import rollout, rollout_all_correct, rollout_correct
from ontogeny.models.rotary import rotary
from ontogeny.tasks.lego import CLAUSE, Sentence
from ontogeny.theory import lego_descent
from ontogeny.theory.dilution import diluted, weight
from ontogeny.theory.groups import named

SMALL = Lego(action="S3", chain=2, variables=9, rows=6)
NARROW = ClauseTransformer(width=8, mlp_width=6)
TINY = BlockSparse(neurons_per_class=4)


def drawn(task, split, seed=1):
    """Rows of a split, by one compiled draw."""
    world = task.world(jr.key(0))
    return jax.jit(lambda key: task.sample(world, split, key))(jr.key(seed))


def at(task, model, seed=0):
    params = model.init(task, jr.key(seed))
    return Moment(task, task.world(jr.key(seed)), model, params, jr.key(seed + 1))


def stepped(stage, now):
    """The parameters after one step, compiled."""
    return jax.jit(lambda params: stage.step(now.with_params(params), stage.init(now))[0])(
        now.params
    )


def asked(now, *probes):
    """What probes answer, compiled."""
    return jax.jit(lambda params: [probe(now.with_params(params)) for probe in probes])(now.params)


# ------------------------------------------------------------------------------ sentences


@pytest.mark.parametrize("split", ["train", "permuted", "2 steps", "4 steps", "8 steps"])
@pytest.mark.parametrize(
    "task", [SMALL, replace(SMALL, train_size=4), replace(SMALL, chain_of_thought=False)]
)
def test_sentences_follow_the_action(task, split):
    task = replace(task, rows=12)
    batch = drawn(task, split)
    predicates, answers = map(np.asarray, sentences_of(task, batch))
    for row in range(task.rows):
        held = {int(answers[row, 0, 0]): int(answers[row, 0, 1])}
        chain = {int(x): (int(of), int(g)) for x, g, of in predicates[row]}
        assert len(chain) == len(predicates[row])
        for _ in chain:
            (made,) = [x for x, (of, _) in chain.items() if of in held and x not in held]
            of, g = chain[made]
            held[made] = int(task.group.table[g, held[of]])
        told = [(int(t) // task.values, int(t) % task.values) for t in batch.targets[row]]
        assert all(held[x] == y for x, y in told)
        assert all(held[int(x)] == y for x, y in answers[row])
        if task.chain_of_thought:
            assert [x for x, _ in told[:-1]] == [int(x) for x, _ in answers[row, 1:]]
        else:
            assert batch.inputs.shape[1] == CLAUSE * (len(chain) + 1)
    in_order = (predicates[:, 1:, 2] == predicates[:, :-1, 0]).all()
    assert in_order == (split != "permuted")


def test_blanks_stand_where_they_should():
    batch = drawn(SMALL, "train")
    blank = np.asarray(batch.inputs.reshape(SMALL.rows, 4, CLAUSE)) == SMALL.vocab - 1
    assert (blank[:, :2] == [False, False, False, True, True]).all()
    assert (blank[:, 2:] == [True, True, True, False, False]).all()


def test_known_sentences_come_back_and_are_as_many_as_said():
    task = replace(SMALL, train_size=5, rows=200)
    rows = {tuple(map(int, row)) for row in drawn(task, "train").inputs}
    again = {tuple(map(int, row)) for row in drawn(task, "train", seed=2).inputs}
    assert len(rows) == 5 and rows == again
    other = {tuple(map(int, row)) for row in drawn(task, "2 steps").inputs}
    assert len(other) > 50  # other splits are not restricted to them


@pytest.mark.parametrize(("chain", "variables"), [(2, 5), (5, 6), (16, 20)])
def test_variables_are_different_and_any(chain, variables):
    task = Lego(action="C2", chain=chain, variables=variables, rows=4000)
    draws = np.asarray(sentences_of(task, drawn(task, "train")).answers[..., 0])
    assert all(len(set(row)) == chain for row in draws.tolist())  # the last is yet to be answered
    for place in range(chain):
        counts = np.bincount(draws[:, place], minlength=variables)
        assert np.abs(counts - 4000 / variables).max() < 5 * np.sqrt(4000 / variables)
    first = draws[draws[:, 0] == 0][:, 1]  # given the first, the others are still alike
    counts = np.bincount(first, minlength=variables)[1:]
    share = len(first) / (variables - 1)
    assert np.abs(counts - share).max() < 5 * np.sqrt(share)


def test_bad_tasks_are_told():
    with pytest.raises(ConfigError, match="about 6 variables"):
        Lego(chain=5, variables=5)
    with pytest.raises(ConfigError, match=r"Lego.action: .* is no group"):
        Lego(action="the monster")
    with pytest.raises(ConfigError, match="not a permutation"):
        Lego(action="<(0 1 0)>")
    assert Lego(chain=5, variables=6).chains == (5,)
    assert Lego(chain=5, variables=200).chains == (5, 10, 20, 40, 80, 160)
    with pytest.raises(ConfigError, match="has no split '320 steps'"):
        Experiment(
            Lego(),
            NARROW,
            (AdamW(steps=2, learning_rate=0.1),),
            {"x": RolloutAccuracy("320 steps")},
            evaluations=1,
        )


# ------------------------------------------------------------------------------ models

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


# ------------------------------------------------------------------------------ teaching


def test_own_labels_are_the_teachers():
    now = at(SMALL, NARROW)
    stage = ChainAdamW(steps=2, learning_rate=0.1, split="4 steps", labels="self")
    memory = stage.init(now)
    move = jax.jit(lambda params, memory: stage.step(now.with_params(params), memory))
    params, after = move(now.params, memory)
    assert eqx.tree_equal(after.teacher, now.params) and not eqx.tree_equal(params, now.params)
    batch = drawn(now.task, "4 steps")
    found = jax.jit(lambda params: rollout(NARROW, params, batch, SMALL))(now.params)
    taught = SMALL.batch(
        sentences_of(SMALL, batch)._replace(
            answers=jnp.concatenate([sentences_of(SMALL, batch).answers[:, :1], found], axis=1)
        )
    )
    wanted = jax.jit(jax.grad(lambda p: now.with_params(p).loss(taught)))(now.params)
    step = ChainGradientDescent(steps=1, learning_rate=1.0, split="4 steps", labels="self")
    reached = stepped(step, now)
    taken = jax.tree.map(lambda a, b: a - b, now.params, reached)
    for a, b in zip(jax.tree.leaves(taken), jax.tree.leaves(wanted), strict=True):
        assert jnp.allclose(a, b, atol=1e-5)


def test_values_alone_teach_no_variables_and_one_answer_alone_counts():
    now = at(SMALL, NARROW)
    stage = ChainGradientDescent(
        steps=1, learning_rate=1.0, counted="value", answer=2, split="4 steps"
    )
    params = stepped(stage, now)
    moved = params.unembed - now.params.unembed
    assert not moved[:, : SMALL.variables].any() and moved[:, SMALL.variables :].any()
    batch = drawn(now.task, "4 steps")
    only = batch._replace(weights=jnp.zeros((6, 4)).at[:, 1].set(1.0))
    slope = jax.grad(lambda p: SMALL.value_loss(now.with_params(p).trace(only).outputs, only))
    assert jnp.allclose(moved, -jax.jit(slope)(now.params).unembed, atol=1e-5)


def test_true_labels_are_plain_training():
    now = at(SMALL, NARROW)
    ours, plain = ChainAdamW(steps=1, learning_rate=0.1), AdamW(steps=1, learning_rate=0.1)
    a, b = stepped(ours, now), stepped(plain, now)
    assert eqx.tree_equal(a, b, rtol=1e-6, atol=1e-6)


def test_a_model_that_can_do_nothing_does_not_teach_itself():
    training = (
        AdamW(steps=2, learning_rate=1e-3),
        RequireAccuracy("2 steps", least=0.9),
        ChainAdamW(steps=2, learning_rate=1e-3, split="4 steps", labels="self"),
    )
    probes = {"rollout": RolloutAccuracy("2 steps")}
    run = execute({"it": Experiment(SMALL, NARROW, training, probes, evaluations=1)}, 1)["it"]
    assert "has nothing to teach itself" in run.failures[0]
    able = (training[0], RequireAccuracy("2 steps", least=0.0), training[2])
    run = execute({"it": Experiment(SMALL, NARROW, able, probes, evaluations=1)}, 1)["it"]
    assert not run.failures


def test_stages_of_chains_want_chains():
    stage = ChainAdamW(steps=1, learning_rate=0.1)
    now = at(replace(SMALL, chain_of_thought=False), NARROW)
    with pytest.raises(ConfigError, match="chain_of_thought=True"):
        stage.step(now, stage.init(now))
    now, late = at(SMALL, NARROW), ChainAdamW(steps=1, learning_rate=0.1, answer=3)
    with pytest.raises(ConfigError, match="'train' have 2 answers"):
        late.step(now, late.init(now))
    now = at(Analogy(tuples=3), OneLayer(width=14))
    with pytest.raises(ConfigError, match="models of clauses"):
        stage.step(now, stage.init(now))


def test_one_step_is_learnt_in_no_time():
    """A group of two, one action: all there is to training, once, from end to end."""
    task = Lego(action="C2", chain=1, variables=4, rows=64)
    probes = {
        "loss": Loss("train"),
        "rollout": RolloutAccuracy("1 step"),
        "told": Accuracy("1 step"),
    }
    stage = AdamW(steps=300, learning_rate=1e-2)
    run = execute(
        {"it": Experiment(task, ClauseTransformer(width=16, mlp_width=16), (stage,), probes)}, 1
    )
    assert run["it"].final("rollout").values > 0.99 and run["it"].final("told").values > 0.99


# ------------------------------------------------------------------------------ probes


def by_hand(task, model, strength=50.0, level=10.0):
    """Attention written down; and neurons for S3 or C_n: one for each value and answer."""
    params = at(task, model).params
    x, y, m = task.variables, task.values, model.neurons_per_class
    nothing = jax.tree.map(jnp.zeros_like, params.mlp)
    made = np.zeros((x, (x + y), m))
    made[range(x), range(x), 0] = level
    action, value = np.full((task.group.order, x + y, m), -level), np.full((y, x + y, m), -level)
    action[:, :x], value[:, :x] = 0, 0
    for g in range(task.group.order):
        for state in range(y):
            action[g, x + task.group.table[g, state], state] = level
    value[range(y), x:, range(y)] = level
    flat = [jnp.asarray(t.reshape(len(t), -1), jnp.float32) for t in (made, action, value)]
    neurons = nothing._replace(made=flat[0], action=flat[1], value=flat[2])
    diagonal = strength * jnp.eye(x)
    return params._replace(q43=diagonal, q44=diagonal, mlp=neurons)


@pytest.mark.parametrize("action", ["C3", "S3"])
def test_the_mechanism_written_down_is_found_by_every_probe(action):
    task = Lego(action=action, chain=2, variables=9, rows=32)
    model = BlockSparse(neurons_per_class=3, clip=4.0)
    now = at(task, model).with_params(by_hand(task, model))
    far, any_order, by_step, looked, kept, lost, gap, diagonals = asked(
        now,
        RolloutAccuracy("8 steps"),
        RolloutAccuracy("permuted"),
        RolloutAccuracyByStep("4 steps"),
        Retrieval("permuted", "predicate"),
        Retrieval("permuted", "itself"),
        AttentionLeakage("8 steps"),
        Gap("4 steps"),
        Diagonals(),
    )
    assert far == 1 and any_order == 1 and jnp.array_equal(by_step, jnp.ones(4))
    assert jnp.allclose(looked, 0.5, atol=1e-5) and jnp.allclose(kept, 0.5, atol=1e-5)
    assert lost == pytest.approx(0, abs=1e-5) and gap == pytest.approx(0, abs=1e-5)
    assert diagonals.tolist() == [[50.0, 0.0], [50.0, 0.0]]
    heat, features, promise, chances = asked(
        now, ClauseAttention("2 steps"), Features(), Promise(), Combinations()
    )
    assert jnp.allclose(heat, jnp.array([[0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5]]), atol=1e-5)
    level = 10 / (4 * np.log(task.vocab))
    assert jnp.allclose(features, level * jnp.array([1, -1, 1, -1]), atol=1e-4)
    assert jnp.allclose(promise, 10.0)
    assert jnp.all(chances > 0.99)


def test_attention_elsewhere_is_counted():
    now = at(SMALL, TINY)  # attends to all clauses alike
    reads = jnp.arange(4)
    even = 1 / (4 + 1 + reads)
    predicate, itself, lost, gap = asked(
        now,
        Retrieval("4 steps", "predicate"),
        Retrieval("4 steps", "itself"),
        AttentionLeakage("4 steps"),
        Gap("4 steps"),
    )
    assert jnp.allclose(predicate, even, atol=1e-6) and jnp.allclose(itself, even, atol=1e-6)
    assert lost == pytest.approx(float(1 - 2 * even.mean()), abs=1e-6)
    assert gap == pytest.approx(0, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-3, 3.0), st.integers(2, 30), st.integers(1, 60))
def test_what_a_clause_weighs_predicts_what_is_lost(each, short, long):
    found = weight(diluted(np.array([each]), short))
    assert found == pytest.approx(each, rel=1e-6)
    lost = diluted(np.array([0.5]), long)[0]  # as much as each of the two that are needed
    assert np.allclose(lost, 1 - 2 / (long + 1 + np.arange(long)))


def test_probes_of_the_theorems_model_say_so():
    now = at(SMALL, NARROW)
    for probe in (Diagonals(), Features(), Promise()):
        with pytest.raises(ConfigError, match="about BlockSparse"):
            probe(now)
    with pytest.raises(ConfigError, match="models of clauses"):
        RolloutAccuracy("train")(at(SMALL, Decoder(width=8, heads=2)))


def test_descent_on_one_step_moves_only_neurons():
    now = at(replace(SMALL, chain=1), TINY)
    stage = GradientDescent(steps=1, learning_rate=1.0, split="1 step", trainable=("mlp",))
    params = stepped(stage, now)
    assert not params.q43.any() and not eqx.tree_equal(params.mlp, now.params.mlp)


# ------------------------------------------------------------------ attention in four numbers


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
