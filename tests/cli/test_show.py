"""`show`: what decides a claim, what its experiments are, and what a component is."""

import re

import pytest
from commands import typed

from ontogeny.claims.claim import CLAIMS
from ontogeny.claims.criteria import criteria
from ontogeny.claims.find import find_one
from ontogeny.claims.scale import Scale
from ontogeny.report.component import components
from ontogeny.report.experiments import differences, in_full

CHEAP = "gradients_have_the_stated_form"
SWEPT = "more_similarity_aligns_more_in_one_layer"


def shown(*words, cwd, width=80):
    """What is shown, on one line with single blanks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        done = typed("show", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= width or "ontogeny sweep" in done.stdout
    return " ".join(done.stdout.split())


def test_bounds_are_shown_before_a_run(tmp_path):
    text = shown(CHEAP, cwd=tmp_path)
    assert "trained: final gradient error is below 0.0001" in text
    assert "judged from 5, then from 10, then from 20 seeds" in text
    assert re.search(r"Not judged yet here: about \d+ (s|min) on \d+ cores?", text)
    assert "1 experiment × 5 seeds" in text and "Lemma 1" in text
    assert "task Analogy tuples=10 ratio=4.0" in text and "learning_rate=0.1" in text
    assert f"ontogeny sweep {CHEAP} --sweep task.ratio=2,4,8" in text
    assert not (tmp_path / ".ontogeny" / "runs").exists()


def test_numbers_of_the_paper_stand_beside_their_range(tmp_path):
    text = shown("joint_training_yields_analogy_in_one_layer", cwd=tmp_path)
    assert re.search(r"accuracy 1; agrees from 0.95 to 1 ", text)  # no accuracy is above 1


def test_what_cannot_be_tested_says_why(tmp_path):
    assert "three sizes" in shown("small_pretrained_models_suffice", cwd=tmp_path)


def test_one_experiment_is_in_full_and_the_others_are_what_differs(tmp_path):
    known = find_one(SWEPT).named(Scale.LAPTOP)
    text = shown(SWEPT, cwd=tmp_path)
    values = [f"{each.task.ratio}" for each in list(known.values())[1:]]
    assert f"task.ratio={','.join(values)}" in text and text.count("GradientDescent") == 1
    whole = shown(SWEPT, "--full", cwd=tmp_path)
    assert whole.count("GradientDescent") == len(known)


def test_no_experiment_is_lost_among_the_differences():
    for claim in CLAIMS.values():
        known = claim.named(Scale.LAPTOP)
        if known:
            lines = differences(known)
            assert in_full(next(iter(known.values())))
            assert bool(lines) == (len(known) > 1)
            assert all("…" in line.label or line.text for line in lines)


def test_the_bounds_that_are_shown_are_those_that_judge():
    """By evidence of made-up runs: its text is that of the real evidence but for no number."""
    from ontogeny.claims.verdict import judge
    from ontogeny.engine.execute import execute

    claim = find_one(CHEAP)
    (verdict,) = judge([claim], execute, Scale.SMOKE, 1)
    assert [each.evidence.text for each in criteria(claim, Scale.SMOKE)] == [
        each.text for each in verdict.evidence
    ]


def test_a_bound_that_runs_give_is_told_apart():
    from small import tiny

    from ontogeny import Seeds
    from ontogeny.claims.claim import Claim, Paper

    def evidence(run):
        yield run.final("train loss").below(float(run.final("imbalance").values.mean()))
        yield run.final("train loss").below(0.5)

    paper = Paper("test", "A test", "https://example.org")
    claim = Claim("made", "It is made.", paper, "here", {"run": tiny()}, evidence, Seeds(5, 5))
    assert [each.known for each in criteria(claim, Scale.LAPTOP)] == [False, True]


@pytest.mark.parametrize("name", ["TwoHop", "OneLayer", "AdamW", "InductionScore", "Experiment"])
def test_a_component_says_what_it_is(tmp_path, name):
    text = shown(name, cwd=tmp_path)
    kinds = ("task", "model", "training stage", "probe", "experiment")
    assert re.match(rf"{name}, an? ({'|'.join(kinds)}) ", text)


def test_a_task_is_drawn_with_its_splits_and_rows(tmp_path):
    text = shown("Analogy", cwd=tmp_path)
    assert "`s17 r1 → b17`" in text and "a number above 0; default 1.0" in text
    assert "conclusion: 4 rows (held out" in text
    assert "Example (from ontogeny import Analogy) Analogy(tuples=4, ratio=3.0)" in text
    assert "joint_training_yields_analogy_in_one_layer" in text


def test_a_model_tells_its_parameters_and_a_probe_its_range(tmp_path):
    assert "key_query: 18 × 18" in shown("OneLayer", cwd=tmp_path)
    assert "a number, a fraction, from 0 to 1" in shown("Accuracy", cwd=tmp_path)
    assert "an array, by answer, a fraction" in shown("RolloutAccuracyByStep", cwd=tmp_path)


def test_every_component_can_be_shown():
    from rich.console import Console

    from ontogeny.report.explain import show_component

    screen = Console(width=80, quiet=True)
    known = components()
    assert {"Lego", "GPT2", "ReadoutDescent", "Accuracy", "LanguageModelling"} <= set(known)
    for kinds in known.values():
        show_component(screen, kinds[-1])


def test_a_name_of_two_components_is_refused_with_both_places():
    from ontogeny import Accuracy, ConfigError
    from ontogeny.report.component import the_one

    one, other = (type("Twice", (Accuracy,), {"__module__": name}) for name in ("here", "there"))
    assert the_one([one, one]) is one
    with pytest.raises(ConfigError, match="2 components are called Twice: in here, there"):
        the_one([one, other])
