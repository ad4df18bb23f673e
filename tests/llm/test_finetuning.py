"""Fine-tuning: what moves, in which order, and that a break makes no difference."""

import numpy as np
import pytest
from language_models import FAMILIES, save, torch

from ontogeny import ConfigError, execute
from ontogeny.engine.execute import plan
from ontogeny.engine.pools.here import Here
from ontogeny.engine.runs import specs
from ontogeny.engine.units import Interrupted, follow, train
from ontogeny.llm import datasets, models
from ontogeny.llm.analogy import NaturalAnalogy, premise, question, with_made_up_names
from ontogeny.llm.finetuning import FullFineTuning, LoRA, batch, sentence_loss
from ontogeny.llm.likelihood import Sentence, sentence

WAYS = {
    "adapters": LoRA(learning_rate=1e-2, rank=2),
    "everything": FullFineTuning(learning_rate=1e-3),
}


@pytest.fixture
def told(tmp_path):
    """An analogy for a small model, of a few tuples."""
    save("llama", tmp_path)
    tuples = tmp_path / "tuples.csv"
    kinds = ("he", "is", "cat", "a")
    rows = [f"s{n},t{n},{'xyz'[n % 3]},UsedFor,{kinds[n % 4]}" for n in range(14)]
    tuples.write_text("\n".join(["source,target,aspect,relation,category", *rows, ""]))

    def make(**fields):
        given = {
            "shards": 2,
            "steps": 6,
            "evaluations": 3,
            "batch_size": 4,
            "tuples": str(tuples),
        } | fields
        return NaturalAnalogy(models.pinned(str(tmp_path)), **given)

    return make


@pytest.mark.parametrize("family", FAMILIES)
def test_adapters_say_nothing_at_first_and_are_all_that_moves(family, tmp_path):
    save(family, tmp_path)
    loaded = models.load(str(tmp_path))
    tokens = torch.tensor([loaded.tokens("the cat is here")])
    with torch.no_grad():
        before = loaded.model(tokens).logits
    moving = LoRA(rank=2).prepare(loaded.model, seed=0)
    with torch.no_grad():
        torch.testing.assert_close(loaded.model(tokens).logits, before)
    assert all("lora" in name for name in moving)
    beside = {name.partition(".lora")[0] for name in moving}
    assert len(beside) == (4 if family == "gpt2" else 7) * 3


def test_everything_moves_but_embeddings(tmp_path):
    save("gpt2", tmp_path)
    moving = FullFineTuning().prepare(models.load(str(tmp_path)).model, seed=0)
    assert "transformer.h.0.mlp.c_fc.weight" in moving
    assert not any("wte" in name or "lm_head" in name for name in moving)


def test_only_what_follows_is_learnt(tmp_path):
    save("llama", tmp_path)
    loaded = models.load(str(tmp_path))
    rows = [sentence(loaded, "the cat is", "here"), sentence(loaded, "a", "thing of many letters")]
    expected = []
    for given, answer in rows:
        with torch.no_grad():
            said = loaded.model(torch.tensor([given + answer])).logits[0].log_softmax(-1)
        expected += [-float(said[len(given) - 1 + n, token]) for n, token in enumerate(answer)]
    with torch.no_grad():
        np.testing.assert_allclose(
            float(sentence_loss(loaded.model, rows)), np.mean(expected), rtol=1e-4
        )


def test_every_sentence_has_its_turn():
    rows = [Sentence([n], [n]) for n in range(10)]
    for seed in range(2):
        twice = [row.given[0] for step in range(5) for row in batch(rows, 4, step, seed)]
        assert sorted(twice[:10]) == sorted(twice[10:]) == list(range(10)) != twice[:10]
        assert twice[:10] != twice[10:]
    assert batch(rows, 4, 0, 0) == batch(rows, 4, 0, 0) != batch(rows, 4, 0, 1)
    assert batch(rows, 4, 0, 0) != batch(rows, 4, 3, 0)
    assert len(batch(rows, 99, 5, 0)) == 10


def test_premises_and_conclusions_are_sentences():
    row = datasets.Analogy("chair", "stool", "sitting", "UsedFor", "furniture")
    assert premise(row, row.target) == "Stool is used for"
    assert question(row.source) == "Chair is classified as"
    (other,) = with_made_up_names([row], seed=0)
    assert other[2:] == row[2:] and len({*other[:2], *row[:2]}) == 4


def test_every_order_tells_each_premise_equally_often_and_never_the_conclusion(told):
    concluded = {f"T{n} is classified as" for n in range(14)}
    for order in ("joint", "late attribution", "late similarity"):
        course = told(order=order, steps=18, batch_size=7).begin(0)
        assert len(course.rows) == 7
        counts: dict[str, int] = {}
        for step in range(18):
            rows, since = course.premises(step)
            for row in batch(rows, 7, step - since, 0):
                text = course.loaded.tokenizer.decode(row.given)
                counts[text] = counts.get(text, 0) + 1
        assert set(counts.values()) == {6} and len(counts) == 21
        assert not concluded & set(counts)
    course = told(order="no attribution", steps=18).begin(0)
    assert all(course.premises(step)[0] == course.similarity for step in range(18))
    course = told(order="no similarity", steps=18).begin(0)
    assert all(course.premises(step)[0] == course.attribution for step in range(18))
    first, last = told(order="late similarity").begin(0), told(order="late attribution").begin(0)
    assert first.premises(0)[0] == first.attribution and first.premises(2)[0] == first.similarity
    assert last.premises(3)[0] == last.similarity and last.premises(4)[0] == last.attribution


def test_a_small_model_learns_its_premises(told):
    run = execute({"it": told(tuning=LoRA(learning_rate=2e-2), steps=30, batch_size=8)}, seeds=2)[
        "it"
    ]
    for part in ("similarity loss", "attribution loss"):
        losses = run.curve(part)
        assert (losses[:, -1] < losses[:, 0] / 2).all()
    assert run.curve("source accuracy")[:, -1].min() > run.curve("source accuracy")[:, 0].max()
    assert run.curve("resemblance by layer").shape == (2, 4, 4)
    np.testing.assert_array_equal(
        run.curve("resemblance by layer")[..., -2], run.curve("resemblance")
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("after", [1, 2])
def test_resumed_it_is_as_if_uninterrupted(told, store, way, after):
    asked = told(tuning=WAYS[way], names="made up", order="late similarity")
    whole = execute({"it": asked}, seeds=1)["it"]
    (unit,) = plan(specs("it", asked, range(1)), Here(), store)
    evaluations = []
    with pytest.raises(Interrupted):
        follow(
            train(unit, store, lambda: "stop" if len(evaluations) >= after else None),
            evaluations.append,
        )
    resumed = execute({"it": asked}, seeds=1, store=store)["it"]
    for probe, curve in whole.answers.items():
        np.testing.assert_array_equal(resumed.curve(probe), curve, err_msg=probe)
    assert len(set(whole.curve("similarity loss")[0])) == 4


def test_checkpoints_of_everything_are_small(told):
    course = told(tuning=FullFineTuning()).begin(0)
    course.advance(0, 2)
    assert sum(values.nbytes for values in course.save().values()) < 100


def test_steps_that_do_not_come_in_threes_are_refused(told):
    with pytest.raises(ConfigError, match=r"NaturalAnalogy.steps=4 must be divisible by 3"):
        told(steps=4, evaluations=1)
