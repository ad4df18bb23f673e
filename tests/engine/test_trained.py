"""A trained model can be asked anything that there was to ask while it trained."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from components import on_examples
from small import PROBES, tiny

from ontogeny import (
    Accuracy,
    AdamW,
    Associations,
    ClauseTransformer,
    ConfigError,
    Experiment,
    GradientDescent,
    KernelMachine,
    KernelRidge,
    Lego,
    LinearMemory,
    Loss,
    OneLayer,
    Resemblance,
    Run,
    Templates,
    TokenSum,
    execute,
    train,
)
from ontogeny.core.external import External
from ontogeny.core.types import Model
from ontogeny.engine.tokens import in_words
from ontogeny.engine.weights import fitted, named, shapes, size


@pytest.fixture(scope="module")
def trained():
    return train(tiny(), seed=1, keep="all")


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_its_run_is_what_execute_gives(trained):
    alone = execute({"x": tiny()}, seeds=2)["x"]
    assert isinstance(trained.run, Run) and trained.run.seeds == (1,)
    for name in PROBES:
        close(trained.run.curve(name)[0], alone.curve(name)[1])
    first = execute({"x": tiny()}, seeds=1)["x"]
    for name in PROBES:  # to the last bit, where it is alone there, too
        assert np.array_equal(train(tiny()).run.curve(name), first.curve(name))


@pytest.mark.parametrize("name", PROBES)
def test_a_probe_after_the_fact_says_what_it_said_in_training(trained, name):
    assert trained.steps == tuple(tiny().evaluated_at) and trained.step == trained.steps[-1]
    for place, step in enumerate(trained.steps):
        close(trained.at(step).probe(PROBES[name]), trained.run.curve(name)[0, place])
    assert np.ptp(trained.run.curve("train loss")) > 0.1  # or any evaluation would do


def test_a_probe_sees_the_rows_that_it_would_have_seen():
    """Of a split that is drawn anew at every evaluation."""
    drawn = Experiment(
        Lego(action="S3", chain=2, variables=9, rows=6),
        ClauseTransformer(width=8, mlp_width=6),
        (AdamW(steps=4, learning_rate=1e-2),),
        {"loss": Loss("train")},
        evaluations=2,
    )
    trained = train(drawn, keep="all")
    said = [trained.at(step).probe(Loss("train")) for step in trained.steps]
    close(said, trained.run.curve("loss")[0])
    close(said, [trained.at(step).moment.loss(trained.at(step).batch()) for step in trained.steps])
    assert not np.array_equal(trained.batch().inputs, trained.at(0).batch().inputs)


def test_a_probe_that_was_not_asked_for_needs_no_training(trained, monkeypatch):
    monkeypatch.setattr("ontogeny.engine.units.train", None)
    assert trained.probe(Loss("attribution")) > 0
    assert trained.probe(Resemblance("targets", "sources")).shape == ()
    with pytest.raises(ConfigError, match="Analogy has no split 'sorces': did you mean 'sources'"):
        trained.probe(Resemblance("sorces", "targets"))


def test_what_it_computes_is_what_the_model_computes(trained):
    batch = trained.batch("conclusion")
    model, params = trained.experiment.model, trained.params
    direct = jax.vmap(model, (None, 0, 0))(params, batch.inputs, batch.at)
    close(trained.trace(batch).outputs, direct.outputs)
    close(trained.trace("conclusion").outputs, direct.outputs)
    (weights,) = trained.attention("conclusion")
    close(weights, direct.attention[0])
    assert weights.shape == (3, 1, 1, 2)  # row, head, position read, position
    (asked,) = trained.attention("t1 r2")
    close(asked[0], weights[1])


def test_it_answers_prompts_by_name(trained):
    assert trained.in_words("conclusion") == ["t0 r2 → c0", "t1 r2 → c1", "t2 r2 → c2"]
    assert trained.in_words(trained.batch(), rows=[2]) == ["s2 r1 → b2"]
    assert trained.tokens[:4] == ("s0", "s1", "s2", "t0") and len(trained.tokens) == 14
    outputs = trained.trace("conclusion").outputs[1, 0]
    chances = dict(zip(trained.tokens, np.asarray(jax.nn.softmax(outputs)), strict=True))
    answers = trained.predict("t1 r2", top=14)
    assert answers.keys() == chances.keys() and sum(answers.values()) == pytest.approx(1, abs=1e-4)
    close([answers[name] for name in chances], list(chances.values()))
    ranked = list(answers.values())
    assert ranked == sorted(ranked, reverse=True)
    top = trained.predict(["t1", "r2"], top=2)
    assert list(top.items()) == list(answers.items())[:2]
    assert next(iter(trained.predict("s1 r1"))) == "b1"  # which it was taught


def test_a_chain_of_thought_is_answered_clause_by_clause():
    task = Lego(action="C2", chain=2, variables=4, rows=64)
    taught = Experiment(
        task,
        ClauseTransformer(width=32, mlp_width=32),
        (AdamW(steps=400, learning_rate=1e-2),),
        {"accuracy": Accuracy("train")},
        evaluations=1,
    )
    trained = train(taught)
    assert trained.run.curve("accuracy")[0, -1] > 0.95
    given = "x1 (01) x0 _ _ x3 () x1 _ _"
    assert next(iter(trained.predict(f"{given} _ _ _ x0 y0"))) == "x1=y1"
    assert next(iter(trained.predict(f"{given} _ _ _ x0 y0 _ _ _ x1 y1"))) == "x3=y1"
    for malformed in (given, f"{given} _ _ _ x0", f"_ _ _ x0 y0 {given}"):
        with pytest.raises(ConfigError, match="reads clauses of five tokens"):
            trained.predict(malformed)


def test_tasks_whose_answers_are_no_tokens_answer_all_the_same():
    numeric = Experiment(
        Templates.of("αα: +1", "αβ: -1", most=8, samples=6, test_rows=4),
        TokenSum(),
        (GradientDescent(steps=2, learning_rate=0.1),),
        {"loss": Loss("train")},
        evaluations=1,
    )
    trained = train(numeric)
    answer = trained.predict("c0 c1")
    close(answer["label"], trained.trace("c0 c1").outputs[0, 0, 0])
    drawn = Experiment(
        Associations(most=4, items=3, classes=3),
        LinearMemory(width=4),
        (GradientDescent(steps=2, learning_rate=0.1),),
        {"loss": Loss("train")},
        evaluations=1,
    )
    assert set(train(drawn).predict("z2")) == {"u1", "u2", "u3"}


def test_what_is_solved_is_a_trained_model_too():
    solved = Experiment(
        Templates.of("αα: +1", "αβ: -1", most=8, samples=6, test_rows=4),
        KernelMachine(),
        (KernelRidge(),),
        {"loss": Loss("train")},
    )
    trained = train(solved, keep="all")
    assert trained.steps == (0, 1) and trained.probe(Loss("train")) < 1e-3
    task, batch = trained.experiment.task, trained.batch()
    for row in in_words(task, trained.moment.world, batch, rows=[0, 1]):
        prompt, label = row.split(" → ")
        assert trained.predict(prompt)["label"] == pytest.approx(float(label), abs=0.1)


@on_examples(Model)
def test_parameters_of_every_model_have_names_and_are_put_back_in_their_places(example):
    stage = AdamW(steps=1, learning_rate=0.0, split=example.task.splits[0])
    probes = {"loss": Loss(example.task.splits[0])}
    experiment = Experiment(example.task, example.component, (stage,), probes, 1)
    leaves, structure = jax.tree.flatten(shapes(experiment))
    assert size(experiment) == sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
    told_apart = [np.full(leaf.shape, n, leaf.dtype) for n, leaf in enumerate(leaves)]
    params = jax.tree.unflatten(structure, told_apart)
    arrays = named(params)
    assert len(arrays) == len(leaves)
    again = fitted(dict(sorted(arrays.items(), reverse=True)), experiment, "it")
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, again, params)))
    name = next(iter(arrays))
    with pytest.raises(ConfigError, match=f"{name} should be of shape .* and is not there"):
        fitted({key: array for key, array in arrays.items() if key != name}, experiment, "it")
    with pytest.raises(ConfigError, match=r"should be of shape .* and is \(7,\)"):
        fitted(arrays | {name: np.zeros(7)}, experiment, "it")


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (lambda it: it.predict("t1 r3"), "Analogy has no token 'r3': did you mean"),
        (lambda it: it.predict(""), "has 0 tokens: sequences of Analogy have 1 to 2"),
        (lambda it: it.predict("t1 r2 r2"), "has 3 tokens"),
        (lambda it: it.batch("trian"), "Analogy has no split 'trian': did you mean 'train'"),
        (lambda it: it.trace("trian"), "Analogy has no split 'trian': did you mean 'train'"),
        (lambda it: it.attention("t1 r3"), "Analogy has no token 'r3'"),
        (lambda it: it.at(3), "no evaluation after 3 steps: kept are the parameters after 0, 4"),
    ],
)
def test_what_cannot_be_asked_is_refused(trained, asked, problem):
    with pytest.raises(ConfigError, match=problem):
        asked(trained)


def test_a_model_without_attention_says_so():
    class Plain(OneLayer):
        def __call__(self, params, inputs, at):
            return super().__call__(params, inputs, at)._replace(attention=())

    none = replace(tiny(), model=Plain(width=16), probes={"loss": Loss("train")})
    with pytest.raises(ConfigError, match="a Plain has no attention"):
        train(none, keep=[0]).attention()


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"keep": "lst"}, "not 'lst': did you mean 'last'"),
        ({"keep": []}, "name at least one step"),
        ({"keep": [3]}, "no evaluation after 3 steps, but after 0, 4, 8, "),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": 2**31}, "seed must be a whole number from 0"),
    ],
)
def test_what_cannot_be_kept_is_refused(keywords, problem):
    with pytest.raises(ConfigError, match=problem):
        train(tiny(), **keywords)


def test_what_trains_by_other_means_is_refused():
    class Other(External):
        steps: int = 2
        evaluations: int = 1
        operations = 1.0

        def begin(self, seed):
            raise AssertionError

    with pytest.raises(ConfigError, match="Other trains by other means"):
        train(Other())


def test_it_shows_what_it_is(trained):
    assert repr(trained) == (
        "<Trained OneLayer on Analogy: seed 1, step 40 of 40, parameters 644, "
        "kept 0, 4, 8, 12, … (5 more) …, 36, 40 (11 × 2.6 kB = 28.3 kB)>"
    )
    html = trained.at(8)._repr_html_()
    assert "8 of 40" in html and "OneLayer on Analogy" in html and html.count("<tr>") == 5
