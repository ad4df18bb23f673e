"""What differs from the paper's scale is computed: it cannot be forgotten, nor grow stale."""

from dataclasses import replace

from ontogeny import GPT2, AdamW, TwoHop
from ontogeny.claims.claim import all_claims
from ontogeny.claims.departures import departures
from ontogeny.claims.scale import Scale
from ontogeny.core.types import Experiment
from ontogeny.probes.behaviour import Loss

STAGE = AdamW(steps=100, learning_rate=1e-3, split="train")
LOSS = {"train loss": Loss("train")}
PAPERS = Experiment(TwoHop(subjects=20), GPT2(width=64, heads=4), (STAGE,), LOSS)


def test_experiments_that_are_alike_do_not_differ():
    assert not list(departures({"run": PAPERS}, {"run": PAPERS}))


def test_fields_are_named_by_part_with_ours_and_the_papers_value():
    model, task = GPT2(width=32, heads=2), TwoHop(subjects=10)
    assert set(departures({"run": replace(PAPERS, model=model, task=task)}, {"run": PAPERS})) == {
        "task: subjects 10 (at the paper's scale 20)",
        "model: width 32 (at the paper's scale 64), heads 2 (4)",
    }


def test_values_of_a_sweep_are_listed_and_many_are_a_range():
    def at(factor):
        return {
            str(n): replace(PAPERS, training=(replace(STAGE, steps=n * factor),))
            for n in range(1, 9)
        }

    assert list(departures(at(20), at(1000))) == [
        "training.0: steps 20 to 160 (at the paper's scale 1,000 to 8,000)"
    ]


def test_stages_that_differ_alike_are_told_once():
    slow = replace(STAGE, learning_rate=1e-4)
    ours, papers = (replace(PAPERS, training=(each, each)) for each in (STAGE, slow))
    assert list(departures({"run": ours}, {"run": papers})) == [
        "training.0, training.1: learning_rate 0.001 (at the paper's scale 0.0001)"
    ]


def test_what_is_left_out_or_our_own_is_said():
    longer = replace(PAPERS, training=(STAGE, STAGE), probes=LOSS | {"test loss": Loss("composed")})
    ours = {f"{kind} {n}": PAPERS for kind in ("plain", "bridged") for n in (8, 16, 24)}
    papers = {f"{kind} {n}": longer for kind in ("plain", "bridged") for n in (8, 16, 32, 64)}
    assert list(departures(ours, papers)) == [
        "without training.1, probes.test loss",
        "experiments left out: 32, 64 of plain, bridged",
        "experiments of our own: 24 of plain, bridged",
    ]


def test_at_the_papers_scale_only_what_is_no_field_remains():
    for claim in all_claims().values():
        assert claim.departures_at(Scale.PAPER) == list(claim.departures)


def test_a_laptops_claim_says_what_it_changed():
    found = all_claims()["late_attribution_yields_analogy_in_gpt2"].departures_at(Scale.LAPTOP)
    assert "task: tuples 50 (at the paper's scale 100)" in found
    assert any("depth 4 (" in text and "width 256" in text for text in found)
