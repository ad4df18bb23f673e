"""Every claim is well formed, at both scales, without being run; and judging works."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from small import tiny
from turns import turn

from ontogeny import ConfigError, Outcome, Seeds
from ontogeny.claims.claim import CLAIMS, Claim, Paper, claim
from ontogeny.claims.find import find
from ontogeny.claims.scale import JUDGED, Scale, Sizes
from ontogeny.claims.verdict import judge, write_json
from ontogeny.core import renamed
from ontogeny.engine.execute import plan
from ontogeny.engine.pools.processes import Processes
from ontogeny.engine.runs import specs


@pytest.mark.parametrize("each", CLAIMS.values(), ids=lambda each: each.name)
def test_a_claim_says_a_sentence_and_where_it_stands(each):
    assert each.says.endswith(".") and len(each.says) > 40 and each.where
    assert each.untested or each.exact or each.seeds.least >= 3
    assert each.name.islower() and not each.name.startswith("test")


def test_every_paper_has_a_headline_that_can_be_judged():
    papers = {each.paper.key for each in CLAIMS.values()}
    assert {each.paper.key for each in find([])} == papers
    assert all(each.evidence for each in find([]))


def test_claims_are_found_by_name_part_pattern_and_paper():
    assert [c.name for c in find(["attention_stays_balanced"])] == ["attention_stays_balanced"]
    assert len(find(["joint_*"])) == 4
    assert {c.name for c in find(["gpt2"])} == {n for n in CLAIMS if "gpt2" in n}
    papers = [find([paper]) for paper in {each.paper.key for each in CLAIMS.values()}]
    assert sum(map(len, papers)) == len(find(["all"])) == len(CLAIMS)
    with pytest.raises(ConfigError, match="did you mean 'attention_stays_balanced'"):
        find(["attention_stay_balanced_x"])


@pytest.mark.parametrize(("old", "new"), renamed.CLAIMS.items())
def test_a_claim_under_its_old_name_is_refused_with_the_new_one(old, new):
    assert old not in CLAIMS and new in CLAIMS
    with pytest.raises(ConfigError, match=f"{old} is now called {new}"):
        find([old])


PAPER = Paper("test", "A test", "https://example.org")


def made(evidence, **experiments):
    return Claim("made", "It is made.", PAPER, "here", experiments, evidence, Seeds(5, 5))


def execute(experiments, seeds):
    from ontogeny import execute as run

    return run(experiments, seeds)


def test_judging_weighs_what_the_runs_say():
    def evidence(by_rate, plain):
        assert list(by_rate) == [0.1, 0.5]
        yield by_rate[0.5].final("train loss").below(100)
        yield plain.final("train loss").above(100)

    sweep = {learning_rate: tiny(learning_rate=learning_rate) for learning_rate in (0.1, 0.5)}
    (verdict,) = judge([made(evidence, by_rate=sweep, plain=tiny())], execute)
    assert verdict.outcome == Outcome.CONTRADICTED
    assert [e.outcome for e in verdict.evidence] == ["supported", "contradicted"]
    assert verdict.evidence[0].text == "by_rate 0.5: final train loss is below 100"
    assert verdict.command == "ontogeny judge made --scale laptop"
    (row,) = json.loads(write_json([verdict]))
    assert {"claim", "paper", "where", "outcome", "scale", "seeds", "seconds"} <= set(row)
    assert {"departures", "command", "evidence"} <= set(row)
    assert {"text", "outcome", "ours", "low", "high", "paper", "n"} <= set(row["evidence"][0])


def test_claims_with_other_numbers_of_seeds_are_planned_together():
    """So that what is left to do is known from the beginning."""
    planned = []

    def once(experiments, seeds):
        planned.append(dict(seeds))
        return execute(experiments, seeds)

    def evidence(x):
        yield x.final("train loss").below(100)

    few, many = (
        dataclasses.replace(made(evidence, x=tiny()), name=f"n{n}", seeds=Seeds(n, n))
        for n in (2, 4)
    )
    verdicts = judge([few, many], once)
    assert planned == [{"n2: x": 2, "n4: x": 4}]
    assert [(v.seeds, v.evidence[0].n) for v in verdicts] == [(2, 2), (4, 4)]


def test_a_run_that_blew_up_leaves_a_claim_undecided_and_says_when():
    def evidence(mad, sane):
        yield sane.final("train loss").below(100)

    (verdict,) = judge([made(evidence, mad=tiny(learning_rate=1e30), sane=tiny())], execute)
    assert verdict.outcome == Outcome.UNDECIDED
    assert "mad: seed 0: " in verdict.failures[0] and "step" in verdict.failures[0]


def test_evidence_that_fails_leaves_its_claim_undecided_and_the_others_judged():
    def evidence(x):
        yield x.final("train loss").below(100)

    def faulty(x):
        yield x.final("train loss").below(100)
        yield {}["missing"]

    good, bad = (made(each, x=tiny()) for each in (evidence, faulty))
    verdicts = judge([dataclasses.replace(bad, name="bad"), good], execute)
    assert [v.outcome for v in verdicts] == [Outcome.UNDECIDED, Outcome.SUPPORTED]
    assert verdicts[0].failed and not verdicts[1].failed
    (said,) = verdicts[0].failures
    assert said.startswith("its evidence could not be weighed: KeyError") and "yield {}" in said


def test_sizes_resolve_to_one_scale():
    sized = made(lambda x: iter([]), x=Sizes(tiny(learning_rate=0.1), tiny(learning_rate=0.2)))
    assert sized.named(Scale.LAPTOP)["x"].training[0].learning_rate == 0.1
    assert sized.named(Scale.PAPER)["x"].training[0].learning_rate == 0.2


def test_a_claim_and_its_function_must_agree_on_names():
    with pytest.raises(ConfigError, match="takes"):
        claim(PAPER, "here", one=tiny())(lambda other: iter([]))


def test_a_claim_whose_extra_is_missing_is_untested_and_says_how_to_get_it(monkeypatch):
    from ontogeny.engine import environment as home

    monkeypatch.setattr(home, "find_spec", lambda name: None)
    try:
        claim(PAPER, "here", extra="theory", one=tiny())(needing)
        (verdict,) = judge([CLAIMS["needing"]], execute)
    finally:
        CLAIMS.pop("needing", None)
    assert verdict.outcome == Outcome.UNTESTED
    assert verdict.claim.untested == "it needs cvxpy and scs: pip install 'ontogeny[theory]'"


def test_a_claim_cannot_need_an_extra_that_does_not_exist():
    with pytest.raises(ConfigError, match="no extra 'thoery': did you mean 'theory'"):
        claim(PAPER, "here", extra="thoery", one=tiny())(needing)


def needing(one):
    """A sentence that takes an extra of the package to judge."""
    yield one.final("train loss").below(100)


def test_an_untested_claim_keeps_its_reason():
    (verdict,) = judge(find(["small_pretrained_models_suffice"]), execute)
    assert verdict.outcome == Outcome.UNTESTED and "three sizes" in verdict.claim.untested


PARTS = 4  # of the paper's scale: what `judge all` does is planned whole


@pytest.mark.parametrize("scale", JUDGED)
def test_all_claims_are_planned_together_and_yield_evidence(scale):
    """What `judge all` plans in an empty store: everything has a cost and is in one unit, and
    answers of the shapes that its programs give are evidence for every claim."""
    part, of = (turn() % PARTS, PARTS) if scale == Scale.PAPER else (0, 1)
    words = [sys.executable, Path(__file__).with_name("planning.py"), scale, str(part), str(of)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    wanted = [each for each in CLAIMS.values() if each.evidence][part::of]
    assert told.pop("claims") == len(wanted)
    assert told.pop("runs") > len(wanted)
    assert told == {"unplanned": [], "without a cost": [], "wrong": {}}


def test_what_is_solved_and_what_computes_nothing_are_planned_side_by_side():
    names = ["a_vo_identity_begins_to_copy_at_any_width", "gradients_have_the_stated_form"]
    names += ["an_induction_head_can_be_constructed"]
    every = [
        spec
        for name in names
        for label, experiment in CLAIMS[name].named(Scale.LAPTOP).items()
        for spec in specs(label, experiment, range(3))
    ]
    assert sum(len(unit.specs) for unit in plan(every, Processes(2))) == len(every)
