"""Two hops: the facts, what is composed, and what is refused."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from ontogeny import (
    ConfigError,
    OutOfContext,
    TwoHop,
)

TASKS = [
    TwoHop(subjects=4),
    TwoHop(subjects=3, complexity=2, form="first relation"),
    TwoHop(subjects=3, complexity=2, map="shifted", form="own relation"),
    TwoHop(subjects=4, complexity=2, bridges=4),
    TwoHop(subjects=2, complexity=2, hops=3, map="shifted"),
    TwoHop(subjects=4, tokens_per_entity=2, form="own relation"),
    TwoHop(subjects=4, start="last"),
    TwoHop(subjects=3, form="first relation", start="last", hops=3),
]
every_task = pytest.mark.parametrize("task", TASKS, ids=repr)


def rows(task, split, seed=0):
    """Questions and answers of a split, as the tokens that count, without blanks before them."""
    batch = task.sample(task.world(jr.key(seed)), split, jr.key(1))
    blank = task.vocab - 1 if task.start != "first" else -1
    return [
        (tuple(token for token in inputs[: at[0] + 1] if token != blank), tuple(targets))
        for inputs, at, targets, weight in zip(*map(np.asarray, batch[:4]), strict=True)
        if weight[0] > 0
    ]


@every_task
def test_a_composed_answer_is_what_the_facts_lead_to(task):
    facts = dict(rows(task, "train"))
    asked = dict(rows(task, "composed"))
    assert len(asked) == task.subjects * task.complexity**task.hops
    for question, answer in asked.items():
        here = question[: task.tokens_per_entity]
        for relation in question[task.tokens_per_entity :]:
            here = facts[(*here, relation)]
        assert here == answer


@every_task
def test_compositions_are_never_trained_and_facts_never_contradict(task):
    trained = rows(task, "train")
    assert len(dict(trained)) == len(trained)
    assert set(dict(trained)).isdisjoint(dict(rows(task, "composed")))


@pytest.mark.parametrize("map", ["shifted", "collapsed"])
@pytest.mark.parametrize("complexity", [1, 2, 4])
def test_complexity_is_the_number_of_objects_a_subject_reaches(map, complexity):
    task = TwoHop(subjects=5, complexity=complexity, map=map)
    reached = {}
    for question, answer in rows(task, "composed"):
        reached.setdefault(question[0], set()).add(answer)
    assert {len(objects) for objects in reached.values()} == {complexity}


def test_the_object_depends_on_the_first_relation_only_in_the_shifted_map():
    def by_last(map):
        answers = {}
        for (subject, _, last), answer in rows(TwoHop(complexity=3, map=map), "composed"):
            answers.setdefault((subject, last), set()).add(answer)
        return {len(each) for each in answers.values()}

    assert by_last("collapsed") == {1} and by_last("shifted") == {3}
    with pytest.raises(ConfigError, match="no one answer"):
        rows(TwoHop(complexity=3, map="shifted"), "skipped")


def test_identity_is_told_of_a_fraction_of_bridges_and_noise_misleads_some():
    def told(**changes):
        task = TwoHop(subjects=500, **changes)
        return [(q[0], a[0]) for q, a in rows(task, "train") if len(q) == 1]

    assert told(identity=0.0) == []
    assert len(told(identity=1.0)) == 500 and all(b == a for b, a in told(identity=1.0))
    assert 100 < len(told(identity=0.3)) < 200
    wrong = [b != a for b, a in told(noise=0.2)]
    assert 60 < sum(wrong) < 140
    assert all(a < 500 for _, a in told(noise=0.2)), "bridges are mistaken for bridges"


def test_shown_and_unshown_compositions_have_no_bridge_in_common():
    task = TwoHop(subjects=10, complexity=2, in_training=0.4)
    firsts = dict(rows(task, "first hop"))
    shown, unshown = (
        {firsts[q[:2]] for q, _ in rows(task, s)}
        for s in ("composed in training", "composed not in training")
    )
    assert shown and unshown and shown.isdisjoint(unshown)
    assert len(rows(task, "train with compositions")) == len(rows(task, "train")) + 2 * len(shown)


def read(task, split):
    """The positions at which a split is read, and how much its rows count."""
    batch = task.sample(task.world(jr.key(0)), split, jr.key(1))
    return set(np.asarray(batch.at)[:, 0].tolist()), float(batch.weights.sum())


def test_where_questions_start_decides_which_positions_are_trained():
    first, every, last = (TwoHop(subjects=5, start=start) for start in ("first", "every", "last"))
    counted = read(first, "train")[1]
    assert read(first, "train")[0] == {0, 1} and read(first, "composed")[0] == {2}
    assert read(last, "train")[0] == read(last, "composed")[0] == {2}
    assert read(every, "train") == ({0, 1, 2}, pytest.approx(counted))
    assert read(every, "composed")[0] == {2} and read(every, "first hop")[0] == {1}


def test_a_question_that_starts_later_has_blanks_before_it():
    task = TwoHop(subjects=3, form="first relation", start="every")
    world = task.world(jr.key(0))
    batch = task.sample(world, "train", jr.key(1))
    names = np.array(task.token_names(world))
    texts = {" ".join(names[row[: at[0] + 1]]) for row, at in zip(*batch[:2], strict=True)}
    assert {"s0 r1", "_ s0 r1", "b2 r1", "_ b2 r1", "b1 r2", "_ b1 r2"} <= texts
    assert len(texts) == 2 * 9


def test_worlds_differ_in_names_alone():
    one, other = (TwoHop(subjects=6).world(jr.key(seed)).names for seed in (0, 1))
    assert any(not jnp.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert all(jnp.array_equal(jnp.sort(a), jnp.sort(b)) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"complexity": 3, "bridges": 10}, "bridges=10 cannot be cut into complexity=3"),
        ({"complexity": 0}, "complexity must be at least 1"),
        ({"subjects": 1}, "subjects must be at least 2"),
        ({"hops": 1}, "hops must be at least 2"),
        ({"identity": 1.5}, "identity must be at most 1, not 1.5"),
        ({"form": "lone"}, "form cannot be 'lone': did you mean 'alone'"),
    ],
)
def test_a_task_that_cannot_be_is_refused_by_name(fields, message):
    with pytest.raises(ConfigError, match=message):
        TwoHop(**fields)
    with pytest.raises(ConfigError, match="leaves none"):
        OutOfContext(names=2, in_training=2)
