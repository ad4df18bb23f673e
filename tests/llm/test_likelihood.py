"""What a language model says: likelihoods, features, and what truncation leaves of them."""

import numpy as np
import pytest
from language_models import FAMILIES, save, torch

from ontogeny import ConfigError, execute
from ontogeny.llm import datasets, models
from ontogeny.llm.likelihood import cosines, likelihoods_of_own, log_likelihoods, score, sentence
from ontogeny.llm.scalings import layers
from ontogeny.llm.truncation import Truncation, truncated

PROMPTS = ("the cat is", "a hat")
ANSWERS = ("the", "here", "a thing", "t")


@pytest.fixture
def loaded(tmp_path):
    save("llama", tmp_path)
    return models.load(str(tmp_path))


def direct(loaded, prompt, answer):
    """The log-likelihood of an answer, from one reading of the whole."""
    given, follows = sentence(loaded, prompt, answer)
    with torch.no_grad():
        said = loaded.model(torch.tensor([given + follows])).logits[0].double().log_softmax(-1)
    places = range(len(given) - 1, len(given) + len(follows) - 1)
    return sum(float(said[at, token]) for at, token in zip(places, follows, strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_read_beside_each_other_are_as_likely_as_each_alone(family, tmp_path):
    save(family, tmp_path)
    loaded = models.load(str(tmp_path))
    found = log_likelihoods(loaded, PROMPTS, ANSWERS)
    expected = [[direct(loaded, prompt, answer) for answer in ANSWERS] for prompt in PROMPTS]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.ptp(found) > 1


def test_an_entity_of_many_tokens_is_scored_whole(loaded):
    assert len(sentence(loaded, "the", "zorbel").answer) == len(" zorbel")
    alone = likelihoods_of_own(loaded, ["the"], ["zorbel"])
    np.testing.assert_allclose(alone, direct(loaded, "the", "zorbel"), atol=1e-4)
    assert alone[0] < likelihoods_of_own(loaded, ["the"], ["z"])[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_features_are_those_of_the_last_token(family, tmp_path):
    save(family, tmp_path)
    loaded = models.load(str(tmp_path))
    texts = ["the cat", "a much longer text", "t"]
    found = score(loaded, texts, ANSWERS).hidden_states
    assert found.shape == (4, 3, 32)
    for place, text in enumerate(texts):
        with torch.no_grad():
            states = loaded.model(
                torch.tensor([loaded.tokens(text)]), output_hidden_states=True
            ).hidden_states
        expected = np.stack([state[0, -1].numpy() for state in states])
        np.testing.assert_allclose(found[:, place], expected, atol=1e-4)
    np.testing.assert_allclose(cosines(found, 3 * found), 1)
    np.testing.assert_allclose(cosines(found, -found), -1)


# -------------------------------------------------------------------------------------- truncation


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("matrices", ["in", "out", "both"])
def test_truncation_keeps_the_largest_and_is_undone(family, matrices, tmp_path):
    model = save(family, tmp_path)
    before = {name: values.detach().clone() for name, values in model.named_parameters()}
    with truncated(model, 1, 0.1, matrices):
        changed = {n for n, v in model.named_parameters() if not torch.equal(v, before[n])}
        assert {"in": 1, "out": 1, "both": 2}[matrices] + (
            family != "gpt2" and matrices != "out"
        ) == len(changed)
        for name in changed:
            now = model.get_parameter(name)
            assert torch.linalg.matrix_rank(now) == 3
            kept, whole = (torch.linalg.svdvals(w) for w in (now, before[name]))
            torch.testing.assert_close(kept[:3], whole[:3])
    assert all(torch.equal(v, before[n]) for n, v in model.named_parameters())


def test_all_singular_values_leave_a_layer_as_it_was(loaded):
    before = log_likelihoods(loaded, PROMPTS, ANSWERS)
    with truncated(loaded.model, -1, 1.0, "both"):
        np.testing.assert_allclose(log_likelihoods(loaded, PROMPTS, ANSWERS), before, atol=1e-3)


def test_an_experiment_truncates_one_layer_at_a_time(tmp_path, store):
    save("llama", tmp_path)
    rows = "\n".join(f"the cat is {n},here,the" for n in range(9))
    (tmp_path / "prompts.csv").write_text(f"prompt,answer,common\n{rows}\n")
    asked = Truncation(
        models.pinned(str(tmp_path)), prompts=str(tmp_path / "prompts.csv"), late=2, keep=0.1
    )
    run = execute({"it": asked}, seeds=3, store=store)["it"]
    assert run.curve("log-odds by layer").shape == (3, 2, 2)
    whole, cut = run.curve("log-odds by layer").swapaxes(0, 1)
    assert (whole[:, 0] == whole[:, 1]).all() and (cut[:, 0] != cut[:, 1]).all()
    assert set(run.curve("chosen layer")[:, -1]) <= {1.0, 2.0}
    loaded = models.load(str(tmp_path))
    assert len(layers(loaded.model)) == 3
    own, _ = datasets.shard(datasets.completions(str(tmp_path / "prompts.csv")), 3, 1)
    odds = [direct(loaded, row.prompt, "here") - direct(loaded, row.prompt, "the") for row in own]
    np.testing.assert_allclose(whole[1, 0], np.mean(odds), atol=1e-4)


# -- datasets


def test_tables_are_whole_and_their_shards_are_disjoint():
    rows = datasets.analogies("analogies")
    assert len(rows) >= 100 and len({row.category for row in rows}) >= 20
    assert len(datasets.completions("completions")) >= 30
    shards = [datasets.shard(rows, 3, seed) for seed in range(3)]
    assert sorted(row for own, _ in shards for row in own) == sorted(rows)
    assert all(not set(own) & set(rest) for own, rest in shards)


def test_a_table_that_cannot_be_used_says_why(tmp_path):
    path = tmp_path / "mine.csv"
    with pytest.raises(ConfigError, match="does not exist: did you mean 'analogies'"):
        datasets.analogies("analogy")
    path.write_text("source,target\n")
    with pytest.raises(ConfigError, match="has no column aspect, relation, category"):
        datasets.analogies(str(path))
    path.write_text("source,target,aspect,relation,category\na,b,c,IsA,d\n")
    with pytest.raises(ConfigError, match=r"mine.csv, line 2: no relation 'IsA'"):
        datasets.analogies(str(path))
    path.write_text("source,target,aspect,relation,category\na,b,,PartOf,d\n")
    with pytest.raises(ConfigError, match="line 2: aspect is empty"):
        datasets.analogies(str(path))


def test_made_up_words_are_each_another_and_are_the_same_tomorrow():
    words = datasets.made_up(200, 3)
    assert len(set(words)) == 200 and datasets.made_up(200, 3) == words != datasets.made_up(200, 4)
    assert not {"bal"} & set(words) and all(len(word) == 6 for word in words)
