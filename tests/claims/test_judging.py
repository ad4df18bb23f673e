"""How many seeds a claim is judged from, and what is said when they leave it open."""

import numpy as np
import pytest
from small import tiny

from ontogeny import Outcome, Paper, Run, Scale, Seeds
from ontogeny.claims.claim import CLAIMS, Claim, claim
from ontogeny.claims.verdict import judge, weigh
from ontogeny.engine.execute import execute as execute_for_real
from ontogeny.engine.progress import Counted
from ontogeny.engine.schedule import OutOfTime

PAPER = Paper("test", "A test", "https://example.org")


def made(seeds, name="made", exact=""):
    def evidence(x):
        yield x.final("accuracy").above(0.5, paper=0.9)

    return Claim(name, "It is made.", PAPER, "here", {"x": tiny()}, evidence, seeds, exact=exact)


def runs_of(accuracies, asked):
    """An executor that trains nothing: seed by seed the accuracies given, a second each."""

    def execute(experiments, seeds):
        asked.append(dict(seeds))
        return {
            label: Run(
                label,
                np.array([0]),
                {"accuracy": np.array(accuracies(label))[: seeds[label], None]},
                tuple(range(seeds[label])),
                seconds=float(seeds[label]),
                units={"accuracy": "fraction"},
            )
            for label in experiments
        }

    return execute


def test_seeds_are_added_until_it_is_decided_or_the_most_is_reached():
    """Three claims in one judgement: each goes on as long as it is open, together with others."""
    given = {"sure": [0.9] * 20, "late": [0.9] * 4 + [0.1] + [0.9] * 15, "open": [0.9, 0.1] * 10}
    asked = []
    claims = [made(Seeds(5, 20), name) for name in given]
    verdicts = judge(claims, runs_of(lambda label: given[label.partition(":")[0]], asked))
    assert [sorted(each.values()) for each in asked] == [[5, 5, 5], [10, 10], [20]]
    assert [v.seeds for v in verdicts] == [5, 10, 20]
    assert [v.outcome for v in verdicts] == ["supported", "supported", "undecided"]
    assert verdicts[0].numbers["agrees"] == 1 and verdicts[2].numbers["differs"] == 1
    assert "--seeds" not in verdicts[1].command


def test_a_number_of_seeds_that_is_asked_for_is_kept_to():
    asked = []
    (verdict,) = judge([made(Seeds(5, 20))], runs_of(lambda _: [0.9] * 20, asked), seeds=4)
    assert len(asked) == 1 and verdict.seeds == 4 and verdict.outcome == Outcome.UNDECIDED
    assert verdict.command.endswith("--seeds 4")
    # all of the error is for the one stop there is
    (verdict,) = judge([made(Seeds(5, 20))], runs_of(lambda _: [0.9] * 9 + [0], asked), seeds=10)
    assert verdict.outcome == Outcome.SUPPORTED


def test_an_open_verdict_says_what_would_decide_it():
    execute = runs_of(lambda _: [0.9] * 4 + [0.1] + [0.9] * 20, [])
    (verdict,) = judge([made(Seeds(5, 5))], execute)
    assert verdict.outcome == Outcome.UNDECIDED
    many = int(verdict.would_decide.split()[1])
    assert verdict.would_decide == f"about {many} more seeds, {many} s" and 3 <= many <= 15
    (halves,) = judge([made(Seeds(10, 10))], runs_of(lambda _: [0.9, 0.1] * 5, []))
    assert halves.would_decide.startswith("no number of seeds in reach")
    (sure,) = judge([made(Seeds(5, 5))], runs_of(lambda _: [0.9] * 5, []))
    assert sure.would_decide == "" and halves.as_json()["would_decide"]


def test_what_is_said_to_be_exact_is_asked_of_one_seed_and_checked_with_two():
    asked = []
    exact = made(Seeds(1, 1), exact="nothing is drawn")
    (verdict,) = judge([exact], runs_of(lambda _: [0.9] * 5, asked))
    assert asked == [{"made: x": 1}] and verdict.outcome == Outcome.SUPPORTED
    (verdict,) = judge([exact], runs_of(lambda _: [0.9, 0.8], asked), seeds=2)
    assert verdict.outcome == Outcome.UNDECIDED
    assert "seeds differ" in verdict.failures[0] and verdict.failed


def test_a_run_that_failed_is_not_mended_by_more_seeds():
    asked = []
    (verdict,) = judge([made(Seeds(5, 20))], runs_of(lambda _: [0.9, np.nan] * 10, asked))
    assert len(asked) == 1 and verdict.outcome == Outcome.UNDECIDED and not verdict.would_decide


def test_a_store_weighs_again_as_it_was_judged():
    """Ten seeds that somebody asked for are one stop; ten that a claim came to are its second."""
    runs = runs_of(lambda _: [0.9] * 8 + [0.1, 0.9], [])({"x": tiny()}, {"x": 10})
    plan = made(Seeds(5, 20))
    assert weigh(plan, Scale.LAPTOP, runs, 10).evidence[0].stops == ((5, 0.032), (10, 0.012))
    assert weigh(plan, Scale.LAPTOP, runs, 10, fixed=True).evidence[0].stops == ((10, 0.05),)


@pytest.mark.parametrize(("given", "least", "most"), [({}, 5, 20), ({"seeds": 7}, 7, 7)])
def test_a_claim_says_how_many_seeds(given, least, most):
    try:
        claim(PAPER, "here", name="counted", says="x.", x=tiny(), **given)(lambda x: iter(()))
        assert (CLAIMS["counted"].seeds.least, CLAIMS["counted"].seeds.most) == (least, most)
    finally:
        CLAIMS.pop("counted", None)


def test_what_is_not_run_in_time_is_said_and_what_was_decided_stands():
    given = {"sure": [0.9] * 5, "open": [0.9] * 4 + [0.1], "late": [0.9] * 5}
    done = runs_of(lambda label: given[label.partition(":")[0]], [])

    def execute(experiments, seeds):
        if max(seeds.values()) > 5 or "late: x" in experiments:
            raise OutOfTime
        return done(experiments, seeds)

    def recall(experiments, seeds):
        return None

    claims = [made(Seeds(5, 20), name) for name in ("sure", "open")]
    sure, open_ = judge(claims, execute, recall=recall)
    assert sure.outcome == Outcome.SUPPORTED
    # its second round was not run: the first one stands
    assert (open_.outcome, open_.seeds, open_.failures) == (Outcome.UNDECIDED, 5, [])
    (late,) = judge([made(Seeds(5, 20), "late")], execute, recall=recall)
    assert late.outcome == Outcome.UNDECIDED and "the time was over" in late.failures[0]
    (found,) = judge(
        [made(Seeds(5, 20), "late")],
        execute,
        recall=lambda experiments, seeds: {
            name: runs[f"late: {name}"]
            for name, runs in [("x", done({"late: x": None}, {"late: x": seeds}))]
        },
    )
    assert found.outcome == Outcome.SUPPORTED and found.seeds == 5


def test_work_ends_when_its_time_is_over(store):
    """As an interrupt ends it: what was done is kept, and the next one goes on from there."""
    watch = Counted()
    watch.deadline = 0.0
    with pytest.raises(OutOfTime):
        execute_for_real({"x": tiny()}, 2, store=store, progress=watch)
    watch.deadline = None
    assert len(execute_for_real({"x": tiny()}, 2, store=store, progress=watch)["x"].seeds) == 2
