"""Associative memories, facts, induction heads, noise and hops, against what can be known."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from ontogeny import (
    Accuracy,
    Associations,
    AttentionStack,
    BigramGap,
    BuiltHead,
    BuiltHops,
    ConfigError,
    Copied,
    Decoder,
    Facts,
    Hallucination,
    HopAttention,
    Hops,
    HopsByLayer,
    InductionPair,
    InductionScore,
    LemmaError,
    LinearMemory,
    MemoryRecall,
    Momentum,
    NoiseMargin,
    NoiseProbability,
    OneHotPair,
    PopulationStep,
    PreviousTokenScore,
    RelationEntropy,
    RelationLoss,
    RelationMass,
    SoftRank,
    Triggers,
    TruncatedAccuracy,
    UniformAttention,
)
from ontogeny.bench.speed import _Direct
from ontogeny.core.types import Moment, Trace
from ontogeny.models.rotary import rotary
from ontogeny.probes.weights import truncated
from ontogeny.theory import bigrams, memory
from ontogeny.theory.hallucination import sequential


def moment(task, model, seed=0):
    world = task.world(jr.key(seed))
    return Moment(task, world, model, model.init(task, jr.key(seed + 1)), jr.key(seed + 2))


# ------------------------------------------------------------------------------ bigrams


def test_shakespeare_is_counted():
    table = bigrams.bigrams("shakespeare")
    assert len(table.tokens) == 65 and table.pairs.sum() == 1_115_393
    assert [table.tokens[place] for place in table.commonest(3)] == [" ", "e", "t"]
    np.testing.assert_allclose(table.after.sum(axis=1), 1.0)


@pytest.mark.parametrize("source", ["uniform 7", "zipf 30"])
def test_laws_hold_for_any_vocabulary(source):
    table = bigrams.bigrams(source)
    assert len(table.tokens) == int(source.split()[1])
    np.testing.assert_allclose(table.after.sum(axis=1), 1.0)
    np.testing.assert_allclose(table.first @ table.after, table.first, atol=1e-8)  # stationary
    if "zipf" in source:
        np.testing.assert_allclose(np.sort(table.after[3])[::-1][:2], [1, 0.5] / table_sum(30))


def table_sum(size):
    return (1 / np.arange(1, size + 1)).sum()


def test_a_text_of_ones_own_is_a_source_and_is_remembered(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("abab ab ba")
    task = Triggers(source=str(path), length=12, triggers=1)
    assert task.vocab == 3 and task.source.startswith(f"{path}#")
    path.write_text("something else")
    bigrams.bigrams.cache_clear()
    with pytest.raises(ConfigError, match="no longer the text it was"):
        Triggers(source=task.source, length=12, triggers=1)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "holds nothing"),
        (b"aaaa", "one character, 'a'"),
        (b"caf\xe9 noir", "byte 3 is 0xe9"),
        (None, "no text at"),
    ],
)
def test_bad_texts_say_what_is_wrong(tmp_path, content, wrong):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=wrong):
        Triggers(source=str(path), triggers=1)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"triggers": 65}, "shakespeare has 65 tokens"),
        ({"source": "zipf"}, "as in 'zipf 64'"),
        ({"source": "uniform 1"}, "at least two"),
        ({"noise_token": 99}, "there are 65 tokens"),
        ({"noise": 1.5}, "at most 1"),
    ],
)
def test_triggers_that_cannot_be(fields, wrong):
    with pytest.raises(ConfigError, match=wrong):
        Triggers(**fields)


# ------------------------------------------------------------------------------ trigger bigrams


@pytest.mark.parametrize("fixed", [True, False])
def test_what_followed_a_trigger_follows_it_again(fixed):
    task = Triggers(source="zipf 12", length=60, triggers=3, fixed=fixed, test_rows=32, reads=60)
    batch = jax.jit(lambda key: task.sample((), "test", key))(jr.key(0))
    inputs, at, targets, weights = map(np.asarray, batch[:4])
    for row, places, answers, counted in zip(inputs, at, targets, weights, strict=True):
        for place, answer, there in zip(places, answers, counted, strict=True):
            if there:
                before = np.flatnonzero(row[:place] == row[place])
                assert len(before) and all(row[before + 1] == answer)
                assert not fixed or row[place] in task.commonest
    assert weights.sum() > 300


def test_reading_few_places_draws_them_from_all_that_can_be_predicted():
    many, few = (
        jax.jit(Triggers(length=64, test_rows=64, reads=reads).sample, static_argnums=(0, 1))(
            (), "test", jr.key(0)
        )
        for reads in (64, 8)
    )
    assert jnp.array_equal(many.inputs, few.inputs)
    assert jnp.array_equal(few.weights.sum(1), jnp.minimum(many.weights.sum(1), 8))


def test_noise_comes_as_often_as_it_should_and_never_in_the_test():
    task = Triggers(length=100, triggers=1, noise=0.3, rows=400, test_rows=400, read="everywhere")
    train = task.sample((), "train", jr.key(1))
    after = np.asarray(train.targets)[np.asarray(train.inputs) == task.commonest[0]]
    assert np.mean(after == task.noise_token) == pytest.approx(0.3, abs=0.04)
    test = task.sample((), "test", jr.key(1))
    assert jnp.mean((test.targets == task.noise_token) * test.weights) < 0.02


def test_outputs_may_follow_the_bigrams_and_avoid_triggers():
    task = Triggers(triggers=2, outputs="bigram", again=False)
    triggers, outputs = task._rules(500, jr.key(0))
    assert not jnp.isin(outputs, triggers).any()
    space = task.bigrams.after[task.commonest[0]]
    assert (space[np.asarray(outputs[:, 0])] > 0).all()


# ------------------------------------------------------------------------------ memories


def test_the_lemma_is_the_gradient():
    rng = np.random.default_rng(0)
    U, E = rng.normal(size=(7, 5)), rng.normal(size=(9, 5))
    often, true = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(7), size=9)
    W = jnp.asarray(rng.normal(size=(5, 5)))

    def loss(W):
        return -jnp.sum(often[:, None] * true * jax.nn.log_softmax(E @ W.T @ U.T, axis=1))

    predicted = np.asarray(jax.nn.softmax(E @ W.T @ U.T, axis=1))
    said = memory.gradient(U, E, predicted, true, often)
    np.testing.assert_allclose(jax.grad(loss)(W), said, atol=1e-6)
    now = moment(Associations(most=9, items=9), LinearMemory(width=5))
    assert jax.jit(LemmaError())(now._replace(params=now.params._replace(weights=W))) < 1e-6


def test_stored_pairs_are_recalled_and_interference_is_as_predicted():
    rng = np.random.default_rng(0)
    axes = np.eye(12)
    wanted = rng.integers(0, 6, 6)
    assert (
        memory.recalled(memory.stored(axes[6:], axes[:6], wanted), axes[6:], axes[:6], wanted) == 1
    )

    def one_step(items, width):
        U, E = (rng.normal(size=(items, width)) for _ in range(2))
        U, E = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (U, E))
        W = memory.stored(U - U.mean(axis=0), E, np.arange(items))
        return memory.recalled(W, U, E, np.arange(items))

    for items, width in ((100, 64), (246, 64), (700, 96)):
        seen = np.mean([one_step(items, width) for _ in range(6)])
        assert memory.one_step_recall(items, width) == pytest.approx(seen, abs=0.04)


def test_the_guide_lines_are_solved():
    items = memory.capacity(32**2, memory.LINEAR)
    assert items * math.log(items) == pytest.approx(32**2 / 1.3)


def test_items_beyond_the_number_neither_count_nor_answer():
    task = Associations(most=8, items=5)
    batch = task.sample(task.world(jr.key(0)), "train", jr.key(0))
    outputs = jr.normal(jr.key(1), (8, 1, 8)).at[:, :, 6].set(99.0)
    assert task.loss(outputs, batch) < 10
    few = Associations(most=5, items=5)
    same = few.sample(few.world(jr.key(0)), "train", jr.key(0))
    assert jnp.allclose(task.loss(outputs, batch), few.loss(outputs[:5, :, :5], same))
    with pytest.raises(ConfigError, match="above most"):
        Associations(most=4, items=5)


# ------------------------------------------------------------------------------ facts


def test_facts_are_told_somewhere_and_answered_by_their_table():
    task = Facts(most=6, subjects=5, relations=4, choices=3, length=7, rows=200)
    world = task.world(jr.key(0))
    batch = task.sample(world, "train", jr.key(1))
    inputs, answers = np.asarray(batch.inputs), np.asarray(batch.targets)[:, 0]
    start = task.answers
    for row, answer in zip(inputs, answers, strict=True):
        (subject,) = row[(row >= start) & (row < start + 5)] - start
        (relation,) = row[(row >= start + 6) & (row < start + 10)] - start - 6
        assert answer == relation * 3 + world[subject, relation]
    assert (inputs[:, -1] == task.vocab - 1).all()
    assert len({int(np.flatnonzero((row >= start) & (row < start + 6))[0]) for row in inputs}) == 6
    with pytest.raises(ConfigError, match="3 answers for each of 6 relations"):
        Facts(most=6, subjects=5, relations=4, choices=3, tokens=20)
    with pytest.raises(ConfigError, match="relations=9 is above most=6"):
        Facts(most=6, subjects=5, relations=9)


class Says(UniformAttention):
    """Answers as told: by row of a small table, picked by the relation."""

    knows: str = "relation"

    def __call__(self, params, inputs, at):
        start = 24
        asked = jnp.max(jnp.where((inputs >= start + 8) & (inputs < start + 12), inputs, 0))
        block = jnp.arange(24) // 3 == asked - start - 8
        outputs = jnp.where(block, 0.0, -50.0) if self.knows == "relation" else jnp.zeros(24)
        return Trace(outputs[None], outputs[None, None])


@pytest.mark.parametrize("knows", ["relation", "nothing"])
def test_one_who_knows_the_relation_alone_hallucinates(knows):
    task = Facts(
        most=8, subjects=6, relations=4, choices=3, table="in order", length=6, test_rows=64
    )
    now = moment(task, Says(knows=knows))
    probes = (RelationEntropy(), RelationMass(), RelationLoss(), Hallucination())
    entropy, *guesses = jax.jit(lambda: [probe(now) for probe in probes])()
    assert jnp.allclose(entropy, math.log(3), atol=1e-3)
    expected = [1, 0, 0] if knows == "relation" else [0.25, math.log(4), math.log(4)]
    assert jnp.allclose(jnp.array(guesses), jnp.array(expected), atol=1e-3)


def test_six_numbers_are_descent_itself():
    """The map against autodiff on all pairs of a subject and a relation, without noise."""
    S, R, D, learning_rate, start = 6, 3, 3, 0.5, 0.3
    subject, relation = (axis.ravel() for axis in np.meshgrid(range(S), range(R), indexing="ij"))
    answer = relation * D + subject * D // S

    def loss(weights):
        attend, says = weights
        tokens = jnp.stack([subject, S + relation], axis=1)
        outputs = jnp.sum(attend[tokens][..., None] * says[tokens], axis=1)
        chances = jax.nn.log_softmax(outputs, axis=1)
        return -jnp.mean(chances[jnp.arange(S * R), answer])

    weights = jnp.full(S + R, start), jnp.full((S + R, R * D), start)
    found = []
    slope = jax.jit(jax.value_and_grad(loss))
    for _ in range(40):
        value, slopes = slope(weights)
        found.append(float(value))
        weights = jax.tree.map(lambda w, g: w - learning_rate * g, weights, slopes)
    theory = sequential(S, R, D, learning_rate, start, 39)
    np.testing.assert_allclose(theory.loss, found, rtol=1e-4)
    assert found[-1] < found[0] - 0.5
    assert np.isnan(theory.falls_below(-1.0))
    step = theory.falls_below(found[20] + 1e-6)
    assert step == 20 and theory.falls_below(found[20] + 1e-6, every=15) == 30


# ------------------------------------------------------------------------------ induction heads


def test_tables_are_the_direct_computation():
    task = Triggers(length=40, rows=4, reads=40)
    ours, direct = (moment(task, model(width=16)) for model in (InductionPair, _Direct))
    batch = ours.batch("train")

    def both(now):
        def loss(params):
            return now.with_params(params).loss(batch)

        return now.trace(batch), jax.value_and_grad(loss)(now.params)

    close = jax.tree.map(
        lambda a, b: jnp.allclose(a, b, atol=1e-5), jax.jit(both)(ours), jax.jit(both)(direct)
    )
    assert all(jax.tree.leaves(close))


LOOKS = {
    **{name: MemoryRecall(name) for name in ("copying", "matching", "previous")},
    "previous token": PreviousTokenScore(),
    "induction": InductionScore(),
    "success": Accuracy("test"),
}


def test_a_head_built_by_hand_scores_one_everywhere():
    task = Triggers(source="uniform 12", length=20, triggers=2, again=False, test_rows=64)
    now = moment(task, OneHotPair(width=3 * 12 + 2 * 20))

    @jax.jit
    def look(params):
        return {name: probe(now.with_params(params)) for name, probe in LOOKS.items()}

    assert max(look(now.params).values()) < 0.9
    assert set(map(float, look(BuiltHead().solve(now)).values())) == {1.0}


def test_heads_and_probes_say_what_they_are_for():
    task = Triggers(source="uniform 12", length=20, triggers=2, test_rows=8)
    with pytest.raises(ConfigError, match="need 76"):
        OneHotPair(width=50).init(task, jr.key(0))
    with pytest.raises(ConfigError, match="starts at 0"):
        OneHotPair(width=80, mlp2="relu").init(task, jr.key(0))
    now = moment(task, Decoder(width=8, heads=2, depth=1))
    for probe, wrong in (
        (MemoryRecall(), "is about InductionPair"),
        (PreviousTokenScore(), "before the last of 1"),
        (NoiseMargin(), "last MLP"),
        (BigramGap(), "last MLP"),
        (InductionScore(), "the model has 1"),
        (SoftRank("forward3"), "no matrix 'forward3'"),
    ):
        with pytest.raises(ConfigError, match=wrong):
            probe(now)
    with pytest.raises(ConfigError, match="BuiltHead builds"):
        BuiltHead().solve(now)
    assert 0 < NoiseProbability()(now) < 1


def test_planted_triggers_are_always_there_and_nothing_to_predict_costs_nothing():
    task = Triggers(source="uniform 50", length=9, triggers=1, again=False, planted=True, rows=40)
    batch = jax.jit(lambda key: task.sample((), "train", key))(jr.key(0))
    assert (batch.inputs[:, 0] == task.commonest[0]).all()
    ends = batch.inputs[:, -1] == task.commonest[0]
    assert jnp.array_equal(ends, batch.inputs[:, -2] != task.commonest[0]) and ends.sum() > 35
    assert (batch.weights.sum(axis=1) >= ends).all()
    empty = batch._replace(weights=jnp.zeros_like(batch.weights))
    assert task.loss(jnp.ones((40, 9, 50)), empty) == 0


def test_a_population_step_is_the_mean_of_its_batches_taken_once():
    task = Triggers(source="uniform 6", length=10, triggers=1, planted=True, rows=4)
    now = moment(task, InductionPair(width=8))
    stage = PopulationStep(steps=3, learning_rate=0.5, trainable=("out2",))
    params, _ = jax.jit(lambda: stage.advance(now, stage.init(now), jnp.zeros((), jnp.int32), 3))()

    def loss(out2, key):
        then = now._replace(key=key, params=now.params._replace(out2=out2))
        return then.loss(then.batch("train"))

    keys = [jr.fold_in(now.key, step) for step in range(3)]
    slopes = jax.jit(jax.grad(loss))
    slope = sum(slopes(now.params.out2, key) for key in keys) / 3
    assert jnp.allclose(params.out2, now.params.out2 - 0.5 * slope, atol=1e-6)
    assert jnp.array_equal(params.key1, now.params.key1)


def test_momentum_gathers_gradients():
    now = moment(Associations(most=6, items=6), LinearMemory(width=4))
    batch = now.batch("train")
    slope = jax.grad(lambda w: now.with_params(now.params._replace(weights=w)).loss(batch))
    stage = Momentum(
        steps=2, learning_rate=0.1, momentum=0.5, weight_decay=0.2, trainable=("weights",)
    )
    params, _ = stage.advance(now, stage.init(now), jnp.zeros((), jnp.int32), 2)
    weights, speed = now.params.weights, 0.0
    for _ in range(2):
        speed = 0.5 * speed + slope(weights) + 0.2 * weights
        weights = weights - 0.1 * speed
    assert jnp.allclose(params.weights, weights, atol=1e-6)


# ------------------------------------------------------------------------------ noise


def test_truncation_keeps_the_largest_directions():
    W = np.diag([4.0, 3.0, 2.0, 1.0])
    assert jnp.allclose(truncated(jnp.asarray(W), 0.5), np.diag([4.0, 3, 0, 0]), atol=1e-5)
    assert jnp.allclose(truncated(jnp.asarray(W), 0.0), 0.0)
    assert jnp.allclose(truncated(jnp.asarray(W), 1.0), W, atol=1e-5)


def test_without_its_last_layer_a_noisy_model_answers_from_context():
    """A built head, and a feed-forward layer that always says noise."""
    task = Triggers(source="uniform 12", length=20, triggers=1, again=False, test_rows=64)
    now = moment(task, OneHotPair(width=3 * 12 + 2 * 20, mlp2="linear"))
    built = BuiltHead().solve(now)
    noise = jnp.outer(built.unembed[2], built.tokens[task.commonest[0]])
    loud = built.mlp2._replace(weight=90.0 * noise)
    now = now.with_params(built._replace(mlp2=loud))

    @jax.jit
    def look():
        cut, kept = (TruncatedAccuracy("mlp2.weight", keep=keep)(now) for keep in (0.0, 1.0))
        whole, noise = Accuracy("test")(now), NoiseProbability()(now)
        return whole, noise, cut, kept, SoftRank("mlp2.weight")(now), NoiseMargin()(now)

    whole, noise, cut, kept, rank, margin = look()
    assert whole < 0.2 and noise > 0.8 and cut == 1 and kept < 0.2
    assert jnp.allclose(rank, 1.0, atol=1e-5) and jnp.allclose(margin, 90.0, atol=1e-3)
    with pytest.raises(ConfigError, match="'mlp2' is not a matrix"):
        SoftRank("mlp2")(now)


def test_answers_are_copied_or_known_by_heart():
    """A built head says what it looks at; a layer that holds the logarithms knows the bigrams."""
    task = Triggers(source="zipf 12", length=20, triggers=2, again=False, test_rows=32)
    now = moment(task, OneHotPair(width=3 * 12 + 2 * 20, mlp2="linear"))
    built = BuiltHead().solve(now)
    after = jnp.asarray(task.bigrams.after)
    learnt = built.unembed.T @ jnp.log(jnp.maximum(after, 1e-30)).T @ built.tokens

    @jax.jit
    def look(weight):
        seen = now.with_params(built._replace(mlp2=built.mlp2._replace(weight=weight)))
        return Copied()(seen), BigramGap()(seen)

    copied, gap = look(jnp.zeros_like(learnt))
    plain = np.delete(np.arange(12), task.commonest)
    even = np.mean(np.sum(np.asarray(after)[plain] * np.log(np.asarray(after)[plain] * 12), axis=1))
    assert copied == 1 and gap == pytest.approx(even, abs=1e-4)
    assert look(learnt)[1] == pytest.approx(0, abs=1e-4)
    assert look(100 * learnt)[0] < 0.5  # so loud that nothing else is heard


# ------------------------------------------------------------------------------ hops


@pytest.mark.parametrize("cyclic", [True, False])
def test_hops_compose_what_is_shown_and_what_is_hidden(cyclic):
    task = Hops(values=3, hops=4, cyclic=cyclic, rows=6)
    hidden = np.asarray(task.world(jr.key(0)))
    for split, hops in (("1 hop", 1), ("2 hops", 2), ("hardest", 4)):
        batch = task.sample(jnp.asarray(hidden), split, jr.key(1))
        shown = np.asarray(batch.inputs).reshape(6, 4, 3)
        for row in range(6):
            for place, (target, counted) in enumerate(
                zip(batch.targets[row], batch.weights[row], strict=True)
            ):
                a, y = divmod(place, 3)
                for hop in range(a, a + hops):
                    y = shown[row, hop % 4, hidden[hop % 4, y]]
                assert counted == (cyclic or a + hops <= 4)
                assert not counted or target == task.asked.index(hops) * 3 + y
    with pytest.raises(ConfigError, match="not a power of two"):
        Hops(hops=6)


@pytest.mark.parametrize("hops", [2, 8])
def test_built_hops_make_no_mistake_and_sit_where_theory_puts_them(hops):
    task = Hops(values=3, hops=hops, rows=16)
    layers = len(task.asked)
    now = moment(task, AttentionStack(width=task.length + task.vocab + 3 * layers, depth=layers))
    now = now.with_params(BuiltHops().solve(now))
    right, evaluations, found = jax.jit(
        lambda: (Accuracy("mixture")(now), HopAttention()(now), HopsByLayer()(now))
    )()
    assert right == 1 and jnp.allclose(jnp.diag(evaluations), 1.0, atol=1e-4)
    for which in range(layers):
        assert (found[which + 1 :, which] > 0.99).all() and found[which, which] < 0.9
    shallow = AttentionStack(width=now.model.width, depth=1)
    if layers > 1:
        with pytest.raises(ConfigError, match=f"depth={layers}"):
            BuiltHops().solve(now._replace(model=shallow))
    with pytest.raises(ConfigError, match="positions and"):
        AttentionStack(width=4).init(task, jr.key(0))


def test_rotary_positions_depend_on_distance_alone():
    x = jr.normal(jr.key(0), (2, 1, 8))

    def score(positions):
        query, key = rotary(x, jnp.array(positions))
        return query[0] @ key[0]

    assert jnp.allclose(score([3, 7]), score([10, 14]), atol=1e-5)
    assert not jnp.allclose(score([3, 7]), score([3, 8]), atol=1e-3)


def test_a_decoder_read_layer_by_layer_needs_equal_parts():
    with pytest.raises(ConfigError, match="cannot be shared by 4 layers"):
        Decoder(width=8, heads=2, depth=4, readout="each").init(Hops(values=3, hops=2), jr.key(0))
