"""The papers' files: one name for one thing, and old names that lead to the new ones."""

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small import ROOT

import ontogeny
from ontogeny import AdamW, ConfigError, Experiment, Paper, Run, Transfer
from ontogeny.claims.find import find, find_one
from ontogeny.claims.papers.feature_resemblance.tables import ROWS, as_reported
from ontogeny.claims.pretrained import asked_of
from ontogeny.claims.scale import Scale, Sizes, at
from ontogeny.core import renamed
from ontogeny.engine.serialize import record
from ontogeny.report.latex import references

PAPERS = Path(ontogeny.__file__).parent / "claims" / "papers"
CHEAP = find_one("gradients_have_the_stated_form")


def defined(path):
    """The names that a file gives at its top: constants, functions, classes."""
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for part in (each for target in targets for each in ast.walk(target)):
                    if isinstance(part, ast.Name):
                        yield part.id


@pytest.mark.parametrize("paper", sorted(PAPERS.glob("[a-z]*/")), ids=lambda path: path.name)
def test_a_name_means_one_thing_in_all_files_of_a_paper(paper):
    homes = {}
    for path in sorted(paper.glob("*.py")):
        for name in defined(path):
            homes.setdefault(name, set()).add(path.name)
    assert len(homes) > 10
    assert not {name: files for name, files in homes.items() if len(files) > 1}


def test_what_differs_between_scales_is_a_function_of_the_scale():
    steps = Sizes(laptop=3, paper=7)
    assert [steps(scale) for scale in (Scale.LAPTOP, Scale.PAPER)] == [3, 7]
    asked = []

    def sized(scale):
        asked.append(scale)
        return {"one": steps, "two": lambda scale: {"deep": steps(scale) + 1}}

    assert at(Scale.PAPER, {"a": sized}) == {"a": {"one": 7, "two": {"deep": 8}}}
    assert at(Scale.SMOKE, sized) == {"one": 3, "two": {"deep": 4}}
    assert asked == [Scale.PAPER, Scale.LAPTOP]  # what is only run through has the laptop's size


@pytest.mark.parametrize(
    ("make", "new"),
    [
        (lambda: AdamW(rate=1.0), "learning_rate"),
        (lambda: Experiment(regime=()), "training"),
        (lambda: Transfer("test", parts=("out",)), "trainable"),
    ],
)
def test_a_field_under_its_old_name_is_refused_with_the_new_one(make, new):
    with pytest.raises(ConfigError, match=f"has no field '.*': it is now called {new}$"):
        make()


def test_a_claim_about_pretrained_models_is_known_by_its_old_name_too():
    new = "truncating_the_right_late_layer_favours_the_answer"
    with pytest.raises(ConfigError, match=f"it is now called {new}"):
        asked_of("truncation_turns_the_into_the_answer", "smollm2-135m")


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (("judge", "depth_helps"), "is now called two_layers_need_fewer_samples_than_one"),
        (("vary", CHEAP.name), "is now called `ontogeny sweep`"),
        (("sweep", CHEAP.name, "--set", "looks=3"), "it is now called evaluations"),
    ],
)
def test_the_command_line_says_what_old_names_are_called_now(words, new, tmp_path):
    command = [sys.executable, "-m", "ontogeny", *words, "--store", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and new in done.stderr, done.stderr


def test_old_names_are_in_no_runs_record():
    (experiment,) = CHEAP.named(Scale.LAPTOP).values()
    assert renamed.__name__ not in record(experiment)["sources"]


def test_a_row_of_a_table_is_about_its_own_run_whatever_it_is_compared_with():
    """Mappings of experiments come back in alphabetical order: `joint` before `late`."""
    (row,) = (each for each in ROWS if each.name == "late_similarity_yields_no_analogy_in_gpt2")
    assert list(row.trained) == ["late", "joint"]
    own, other = (stand_in(name, value) for name, value in (("late", 0.01), ("joint", 0.9)))
    evidence = list(as_reported(row, joint=other, late=own))
    assert [each.quantity.run for each in evidence if each.other is None] == ["late"] * 4
    assert all(each.holds == (True,) * 5 for each in evidence if each.decides)


def stand_in(name, value):
    """A run of which every probe answers the same."""
    probes = ("remaining loss", "resemblance", "accuracy", "source accuracy")
    answers = {probe: np.full((5, 2), value) for probe in probes}
    return Run(name, np.array([0, 10]), answers, tuple(range(5)), ends=(5, 10))


def test_every_source_is_cited():
    cited = (ROOT / "CITATION.cff").read_text()
    for paper in {claim.paper for claim in find(["all"])}:
        assert paper.title.partition(" (talk")[0] in cited
        if paper.authors:
            assert f"family-names: {paper.authors.partition(',')[0]}" in cited


def test_a_reference_has_the_authors_that_a_source_names_and_invents_none():
    def entry(authors):
        paper = Paper("key", "A title", "https://arxiv.org/abs/2201.02177", authors)
        return references([dataclasses.replace(CHEAP, paper=paper, where="Section 1")])

    both = "Power, Alethea and Burda, Yuri"
    assert f"  author = {{{both}}},\n  title = {{{{A title}}}},\n" in entry(both)
    assert "author" not in entry("")
    (talk,) = {c.paper for c in find(["mechanisms"])}
    assert talk.authors == "Bietti, Alberto"


def test_who_wrote_a_paper_is_in_no_runs_name():
    of_others = dataclasses.replace(CHEAP.paper, authors="Else, Somebody")
    same = dataclasses.replace(CHEAP, paper=of_others)
    assert same.digest(Scale.LAPTOP) == CHEAP.digest(Scale.LAPTOP)
