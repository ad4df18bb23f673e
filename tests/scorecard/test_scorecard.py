"""The battery, its references, and the card that is made of them."""

import io
import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from ontogeny import GPT2, Analogy, BackwardHops, ConfigError, IdentityGPT2, WindowMLP
from ontogeny.scorecard.battery import (
    LEARNING_RATE,
    LENGTH,
    VOCAB,
    battery,
)
from ontogeny.scorecard.evaluate import summary
from ontogeny.scorecard.references import KINDS, matched, packaged, parameters_of
from ontogeny.scorecard.scorecard import figure, ranks, scorecard, table


def test_every_benchmark_fits_the_shared_vocabulary_and_can_be_trained():
    model = WindowMLP(width=4, mlp_width=8)
    for benchmark in battery("quick"):
        experiment = benchmark.experiment(model)
        assert benchmark.widened.vocab == VOCAB and benchmark.widened.length == LENGTH
        assert list(experiment.probes)[1:] == [skill.name for skill in benchmark.skills]
        for skill in benchmark.skills:
            assert skill.split in benchmark.task.splits and 0 < skill.chance < 1
    assert [10 * benchmark.steps for benchmark in battery("quick")] == [
        e.steps for e in battery("full")
    ]
    with pytest.raises(ConfigError, match="did you mean 'quick'"):
        battery("quikc")


def test_references_have_the_size_of_the_one_examined():
    for parameters in (100_000, 300_000, 1_000_000):
        for name, model in matched(parameters).items():
            assert abs(parameters_of(model) / parameters - 1) < 0.15, name


def test_hops_written_backwards_can_be_followed_by_causal_attention():
    """All that decides an answer has been read where it is asked for."""
    task = BackwardHops(values=3, hops=2, cyclic=False, rows=400)
    world = task.world(jr.key(0))
    for split in ("1 hop", "2 hops"):
        batch = task.sample(world, split, jr.key(1))
        known: dict[tuple, int] = {}
        for row, at, targets, weights in zip(*map(np.asarray, batch[:4]), strict=True):
            for place, target, weight in zip(at, targets, weights, strict=True):
                if weight > 0:
                    read = (int(place), *map(int, row[: place + 1]))
                    assert known.setdefault(read, int(target)) == target
        assert len(known) > 5


def test_identities_change_nothing_at_first_and_are_trained():
    task = Analogy(tuples=3)
    plain, more = GPT2(width=16, depth=2, heads=2), IdentityGPT2(width=16, depth=2, heads=2)
    ours, theirs = plain.init(task, jr.key(0)), more.init(task, jr.key(0))
    inputs, at = jnp.array([1, 13]), jnp.array([1])
    same = plain(ours, inputs, at).outputs, more(theirs, inputs, at).outputs
    np.testing.assert_allclose(*same, rtol=1e-6)

    def total(params):
        return jnp.sum(more(params, inputs, at).outputs[:, 3])

    slopes = jax.grad(total)(theirs).blocks.identities
    assert (np.abs(slopes.kq_identity).sum() > 0) and (np.abs(slopes.vo_identity).sum() > 0)


def result_of(name, accuracy, samples=None):
    score = {
        "description": "?",
        "chance": 0.1,
        "accuracy": summary(np.array(accuracy)),
        "passed": 3 if samples else 0,
        "samples": samples and summary(np.array(samples)),
        "operations": samples and summary(1e6 * np.array(samples)),
    }
    about = {"parameters": 1000, "battery": "quick", "seeds": 3}
    return {"name": name, "skills": {"analogy": score}, **about}


ALL = [1.0, 1.0, 1.0]


MINE = result_of("mine", ALL, [290.0, 300.0, 310.0])


@pytest.mark.parametrize(
    ("other", "rank"),
    [
        (result_of("sooner", ALL, [190.0, 200.0, 210.0]), 2),
        (result_of("later", ALL, [390.0, 400.0, 410.0]), 1),
        (result_of("sooner by chance", ALL, [100.0, 300.0, 400.0]), 1),
        (result_of("worse", [0.4, 0.5, 0.6]), 1),
    ],
)
def test_ranks_count_who_is_clearly_better_by_accuracy_then_by_samples(other, rank):
    assert ranks(MINE, [other]) == {"analogy": rank}
    assert ranks(MINE, [other, other]) == {"analogy": 2 * rank - 1}
    alone = result_of("mine", ALL[:1], [300.0])
    assert ranks(alone, [result_of("other", [0.9])]) == {"analogy": 1}
    assert ranks(result_of("mine", [0.9]), [alone]) == {"analogy": 2}


def test_packaged_references_are_of_the_benchmarks_as_they_are():
    carried = packaged(300_000, "quick", LEARNING_RATE, 3)
    assert [row["name"] for row in carried] == list(KINDS)
    for row in carried:
        assert abs(row["parameters"] / 300_000 - 1) < 0.1
        assert row["parameters"] == parameters_of(matched(300_000)[row["name"]])
    assert (
        packaged(300_000, "full", LEARNING_RATE, 3)
        == []
        == packaged(3_000_000, "quick", LEARNING_RATE, 3)
    )


def test_the_scorecard_has_a_table_and_a_figure():
    from rich.console import Console

    made = scorecard(MINE, [result_of("a", [0.4, 0.5, 0.6])])
    assert json.loads(json.dumps(made)) == made
    assert len(figure(made).axes) == 1
    screen = Console(width=160, record=True, file=io.StringIO())
    screen.print(table(made))
    told = screen.export_text()
    assert "✓ analogy" in told and " 300 " in told and "1 of 2" in told and "a 50%" in told
    narrow = Console(width=90, record=True, file=io.StringIO())
    narrow.print(table(made, 90))
    assert "description" in told and "description" not in narrow.export_text()
