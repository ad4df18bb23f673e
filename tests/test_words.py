"""What the documents say is true: their examples run, their table is the last judgement's."""

import json
import re
import shlex
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from ontogeny import Outcome
from ontogeny.claims.claim import CLAIMS
from ontogeny.claims.find import find
from ontogeny.claims.verdict import judge
from ontogeny.cli.main import app
from ontogeny.report.tables import markdown, tally_table, verdicts_page

ROOT = Path(__file__).parent.parent


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.S)


def test_the_readmes_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    (code,) = blocks("README.md")
    exec(code, names)
    plt.close("all")
    assert (tmp_path / "analogy.png").read_bytes().startswith(b"\x89PNG")
    run = names["run"]
    assert run.curve("accuracy").shape == (5, len(run.steps))
    assert run.final("accuracy").above(0.99).outcome == Outcome.SUPPORTED
    assert "supported" in capsys.readouterr().out


def test_the_readme_is_short_and_its_links_lead_somewhere():
    assert len((ROOT / "README.md").read_bytes()) <= 6144
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_tables_are_the_last_judgements():
    rows = json.loads((ROOT / "results" / "verdicts.json").read_text())
    page = (ROOT / "docs" / "verdicts.md").read_text()
    assert markdown(rows) in page and page == verdicts_page(rows)
    tally = tally_table(rows)
    assert f"<!-- tally -->\n{tally}\n<!-- end of tally -->" in (ROOT / "README.md").read_text()
    outcomes = [row["outcome"] for row in rows]
    counted = map(int, re.findall(r"\d+", tally.splitlines()[-1]))
    words = ("supported", "contradicted", "depends", "undecided", "untested", "unjudged")
    counts = [outcomes.count(word) for word in words]
    assert list(counted) == [len(rows), *filter(None, counts)]


def test_claims_that_the_documents_name_exist():
    command = r"ontogeny (?:judge|show|sweep|llm|weights) ([a-z_0-9]*_[a-z_0-9]*)"
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for name in re.findall(command, page.read_text()):
            assert find([name]), f"{page.name}: {name}"


PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))


def commands():
    """Every command in a code block or in backquotes, as it is typed."""
    for page in PAGES:
        text = page.read_text()
        typed = re.findall(r"^ *(?:lab/bin/|\$\(BIN\)/)?ontogeny ([a-z].*)$", text, flags=re.M)
        typed += re.findall(r"`ontogeny ([^`]*)`", text)
        yield from ((page.name, line.partition(" #")[0].strip()) for line in typed)


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_commands_in_the_documents_can_be_typed(page, line):
    words = shlex.split(line.replace("<owner/name>", "owner/name"))
    assert app[words[0]]
    if len(words) > 1:  # else it is only named
        app.parse_args(words, exit_on_error=False, print_error=False)


def test_the_last_judgement_covers_every_claim():
    rows = json.loads((ROOT / "results" / "verdicts.json").read_text())
    assert {row["claim"] for row in rows} == set(CLAIMS)
    unjudged = {row["claim"] for row in rows if row["outcome"] == "unjudged"}
    judged = [row for row in rows if row["claim"] not in unjudged]
    assert all(row["evidence"] or row["untested"] or row["before"] for row in judged)
    bounds = {row["claim"]: [e["text"] for e in row["evidence"]] for row in rows}
    assert len(bounds) == len(rows)


def test_the_way_from_a_sentence_to_a_verdict_works():
    experiment, evidence, _ = blocks("docs/add_a_claim.md")
    names = {}
    try:
        exec(experiment, names)
        exec(evidence, names)
        from ontogeny import execute

        made = CLAIMS["bridges_make_two_hops_compose"]
        (verdict,) = judge([made], execute)
        assert verdict.outcome == Outcome.SUPPORTED, verdict.evidence
    finally:
        CLAIMS.pop("bridges_make_two_hops_compose", None)


def test_the_guide_to_notebooks_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    experiments, answers, claims = blocks("docs/notebooks.md")
    names = {"__name__": "__main__"}
    exec(experiments, names)
    exec(answers, names)
    assert (tmp_path / "accuracy.png").stat().st_size > 1000
    told, weighed = capsys.readouterr().out.splitlines()
    assert told.startswith("Run('κ=4.0', 3 seeds, 200 steps") and "accuracy is above 0.9" in weighed
    exec(claims, names)
    assert len(names["swept"].verdicts) == 2 and names["verdicts"][0].evidence
    assert (tmp_path / "sweep.png").stat().st_size > 1000


def test_the_guide_to_reductions_runs(capsys):
    lego, wide = blocks("docs/reductions.md")
    names = {}
    exec(lego, names)
    assert names["last"].q43 > 1 and abs(names["last"].q43_off_diagonal) < 1e-3
    exec(wide, names)
    limit = -1 / (names["task"].vocab - 1)
    assert names["run"].final("resemblance").values.mean() / limit > 0.9
    capsys.readouterr()


def test_the_guide_to_trained_models_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    training, asking, probing, saving, naming = blocks("docs/trained.md")
    names = {}
    exec(training, names)
    assert capsys.readouterr().out.strip() in (ROOT / "docs" / "trained.md").read_text()
    exec(asking, names)
    trained = names["trained"]
    told = trained.in_words("train", rows=4)
    assert f"# {told}" in asking and trained.tokens[:2] == ("b0", "b3")
    assert next(iter(trained.predict("s3 r1 r2"))) == "o3"
    assert next(iter(trained.predict("s3 r1"))) == "b3"
    exec(probing, names)
    assert capsys.readouterr().out.splitlines()[-1] == "300 1.0"
    exec(saving, names)
    exec(naming, names)
    assert names["Taxonomy"](tuples=2).token_names(())[:3] == ("bird0", "bird1", "penguin0")


def test_the_guide_to_analogy_runs(capsys):
    (code,) = blocks("docs/analogy.md")
    exec(code, names := {})
    assert set(names["runs"]) == {"0", "0.1"}
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_the_guide_to_two_hops_runs(capsys):
    theory, training, emergence = blocks("docs/two_hops.md")
    names = {}
    exec(theory, names)
    assert names["solution"].gap < 1e-4
    exec(training, names)
    assert names["runs"]["trained"].final("accuracy").above(0.99).outcome == Outcome.SUPPORTED
    plain = names["runs"]["trained, without identity"]
    assert plain.final("accuracy").below(0.3).outcome == Outcome.SUPPORTED
    capsys.readouterr()
    exec(emergence, names)
    assert capsys.readouterr().out.splitlines()[0] == "100"


def test_the_guide_to_abstract_symbols_runs(capsys):
    language, theory, training = blocks("docs/abstract_symbols.md")
    names = {}
    exec(language, names)
    assert "overlap: some string matches both" in capsys.readouterr().out
    exec(theory, names)
    for n, run in names["runs"].items():
        said = names["learning_curve"](
            names["kernel"], names["labels"], names["np"].array([float(n)]), 1e-3
        )
        assert abs(run.final("test loss").values.mean() - said[0]) < 0.25
    exec(training.replace("steps=400", "steps=20"), names)
    assert len(names["runs"]) == 4 and "256 samples, KQ identity" in names["runs"]


def test_the_guide_to_mechanisms_runs(capsys):
    memory, facts, head, hops = blocks("docs/mechanisms.md")
    names = {}
    exec(memory, names)
    for name, run in names["runs"].items():
        said = names["one_step_recall"](*names["sizes"][name])
        assert abs(run.final("recall").values.mean() - said) < 0.07
    exec(facts, names)
    assert abs(names["run"].final("loss").values - names["theory"].loss[-1]).max() < 0.1
    exec(head.replace("steps=400", "steps=40"), names)
    assert names["runs"]["by hand"].final("previous-token score").values == 1
    exec(hops, names)
    assert (names["built"].final("8 hops").values == 1).all()


def test_the_guide_to_chains_of_thought_runs(capsys):
    group, lessons, dilution, reach = blocks("docs/chain_of_thought.md")
    names = {}
    exec(group, names)
    assert abs(names["symmetric"].coincidence - 0.2) < 1e-9
    exec(lessons, names)
    assert names["run"].final("16 steps").values > 0.9
    own, others, fitting, rest = names["run"].final("features").values.mean(axis=(0, 1, 2))
    assert own > 0.4 and fitting > 0.4 and others < -0.4 and rest < -0.4
    exec(dilution, names)
    assert 0.6 < names["diluted"](names["weight"](names["leakage"]), 40).mean() < 0.7
    capsys.readouterr()
    exec(reach, names)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    last = {group: float(found) for group, *_, found in lines}
    assert last["C4"] > 4 * last["S4"]


def test_the_projects_words_are_its_own():
    """No machine paths and no download addresses in what is committed."""
    import subprocess

    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".txt", ".json", ".html"):
            text = path.read_text()
            assert "/ro" + "ot/" not in text and "/wo" + "rk/" not in text, name
            assert not re.search(r"https?://\S+\.(whl|tar\.gz|tgz)", text), name
