"""Examining a user's model: its faults are explained, and it is trained like any other."""

import io
import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from ontogeny import GPT2, Analogy, BackwardHops, ConfigError, IdentityGPT2, WindowMLP, examine
from ontogeny.scorecard.battery import (
    EVALUATIONS,
    LEARNING_RATE,
    LENGTH,
    VOCAB,
    Benchmark,
    Skill,
    battery,
)
from ontogeny.scorecard.check import check
from ontogeny.scorecard.evaluate import Candidate, evaluate, experiments, summary
from ontogeny.scorecard.load import source_of
from ontogeny.scorecard.references import KINDS, matched, packaged, parameters_of
from ontogeny.scorecard.scorecard import figure, ranks, scorecard, table

torch = pytest.importorskip("torch")
EXAMPLES = Path(__file__).parent.parent / "examples"

EMBEDDING = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, vocab, length, width=16):
        super().__init__()
        self.embed, self.read = nn.Embedding(vocab, width), nn.Linear(width, vocab)

    def forward(self, tokens):
        {body}
"""
MEAN = "x = self.embed(tokens); return self.read(x.cumsum(1))"


@pytest.fixture
def written(tmp_path):
    """A file with a model whose `forward` is this."""

    def write(body, code=EMBEDDING):
        file = tmp_path / "mine.py"
        file.write_text(code.format(body=body) if "{body}" in code else code)
        return f"{file}:Model"

    return write


FAULTS = {
    "return self.read(self.embed(tokens)).mean(1)": "at every position, not only at the last",
    "return self.read(self.embed(tokens)).transpose(1, 2)": "axes are swapped",
    "return self.read(self.embed(tokens))[..., :7]": r"made \(3, 12, 7\) of tokens \(3, 12\)",
    "return self.read(self.embed(tokens)) / 0 * 0": "gives nan for token 0 at row 0, position 0",
    "return self.read(self.embed(tokens).mean(1, keepdim=True) + self.embed(tokens))": "not causal",
    "tokens += 1; return self.read(self.embed(tokens % 9))": "changed the tokens it was given",
    "x = self.embed(tokens); return self.read(x - x.mean(0))": "the rest of the batch changes",
    "self.n = getattr(self, 'n', 0) + 1; return self.read(self.embed(tokens)) + self.n": "state",
    "return self.read(self.embed(tokens)).detach()": "cannot be trained",
    "return 'words'": "returned a str",
    "return self.read(self.embed(tokens) @ torch.ones(3, 3))": r"line \d+: return self.read",
}


@pytest.mark.parametrize("body", FAULTS)
def test_a_fault_is_explained_with_what_was_fed_in(written, body):
    with pytest.raises(ConfigError, match=FAULTS[body]) as caught:
        check(source_of(written(body)))
    assert "Model" in str(caught.value)


def test_what_cannot_be_found_or_made_is_said(written, tmp_path):
    with pytest.raises(ConfigError, match="there is no file"):
        source_of(f"{tmp_path}/none.py:Model")
    with pytest.raises(ConfigError, match="names no model"):
        source_of("Model")
    with pytest.raises(ConfigError, match="did you mean 'Model'"):
        source_of(written(MEAN).replace(":Model", ":Modle"))
    with pytest.raises(ConfigError, match="cannot be imported: there is no such module"):
        source_of("no_such_thing:Model")
    with pytest.raises(ConfigError, match=r"SyntaxError"):
        source_of(written("", "class Model(:\n"))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def Model(vocab): return 3", "failed: TypeError"),
        ("def Model(vocab, length): return 3", "int is not a model"),
        ("Model = 3", "neither a class nor a function"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path, code, words):
    file = tmp_path / "other.py"
    file.write_text(code)
    with pytest.raises(ConfigError, match=words):
        check(source_of(f"{file}:Model"))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_the_examples_are_sound_and_of_the_size_that_is_compared(file):
    kind, size = check(source_of(f"{file}:Model"))
    assert kind == ("torch" if file.stem.startswith("torch") else "equinox")
    assert 2e5 < size < 4e5


SHORT = Benchmark(Analogy(tuples=3, ratio=4.0), 20, (Skill("analogy", "?", "conclusion", 1 / 3),))


def test_a_torch_module_is_trained_like_a_model_of_the_laboratory(written):
    """From the same parameters both lose the same at each evaluation."""
    from ontogeny import execute
    from ontogeny.scorecard.torch_modules import TorchExperiment

    source = source_of(written("x = self.embed(tokens); return self.read(x)"))
    trained = Candidate("it", source).experiment(SHORT, 1e-2)
    assert isinstance(trained, TorchExperiment)
    trainer = trained.begin(0)
    params = {k: v.detach().numpy().copy() for k, v in trainer.module.named_parameters()}

    from ontogeny.core.types import Model, Trace

    class Linear(Model):
        def init(self, task, key):
            return {k: jnp.asarray(v) for k, v in params.items()}

        def __call__(self, params, inputs, at):
            x = params["embed.weight"][inputs][at]
            return Trace(x @ params["read.weight"].T + params["read.bias"], x[None])

    ours = execute({"x": SHORT.experiment(Linear(), 1e-2)}, 1)["x"]
    theirs = [trainer.evaluate()["train loss"]]
    for n in range(EVALUATIONS):
        trainer.advance(trained.evaluated_at[n], trained.evaluated_at[n + 1])
        theirs.append(trainer.evaluate()["train loss"])
    np.testing.assert_allclose(ours.curve("train loss")[0], theirs, rtol=1e-4)
    assert theirs[-1] < 0.8 * theirs[0]


def test_a_torch_module_goes_on_where_it_was_saved(written):
    body = "x = self.embed(tokens); return self.read(nn.functional.dropout(x, 0.2, self.training))"
    benchmark = Candidate("it", source_of(written(body))).experiment(SHORT, 1e-2)
    whole = benchmark.begin(1)
    whole.advance(0, 7)
    saved = {name: values.copy() for name, values in whole.save().items()}
    whole.advance(7, 12)
    resumed = benchmark.begin(1)
    resumed.restore(saved)
    resumed.advance(7, 12)
    for name, values in whole.save().items():
        np.testing.assert_array_equal(values, resumed.save()[name])


EQUINOX = """
import equinox as eqx, jax, jax.random as jr, jax.numpy as jnp

class Model(eqx.Module):
    embed: jax.Array
    read: eqx.nn.Linear
    shift: jax.Array

    def __init__(self, vocab, length, key):
        one, two = jr.split(key)
        self.embed, self.read = jr.normal(one, (vocab, 8)), eqx.nn.Linear(8, vocab, key=two)
        self.shift = jnp.arange(3)

    def __call__(self, tokens):
        return jax.vmap(self.read)(self.embed[(tokens + self.shift[0])])
"""
LINEN = """
import flax.linen as nn
import jax.numpy as jnp

class Model(nn.Module):
    vocab: int
    length: int

    @nn.compact
    def __call__(self, tokens):
        return nn.Dense(self.vocab)(jnp.cumsum(nn.Embed(self.vocab, 8)(tokens), axis=0))
"""
NNX = """
from flax import nnx
import jax.numpy as jnp

class Model(nnx.Module):
    def __init__(self, vocab, length, rngs):
        self.embed, self.read = nnx.Embed(vocab, 8, rngs=rngs), nnx.Linear(8, vocab, rngs=rngs)

    def __call__(self, tokens):
        return self.read(jnp.cumsum(self.embed(tokens), axis=0))
"""


@pytest.mark.parametrize(("code", "kind"), [(EQUINOX, "equinox"), (LINEN, "flax"), (NNX, "nnx")])
def test_modules_of_jax_run_like_models_of_the_laboratory(written, store, code, kind):
    from ontogeny import execute

    candidate = Candidate("it", source_of(written("", code)))
    assert candidate.kind == kind and candidate.parameters > 0
    runs = lambda experiments, seeds: execute(experiments, seeds, store=store)  # noqa: E731
    done = runs(experiments(candidate, (SHORT,), 1e-3), 3)
    result = evaluate(candidate, (SHORT,), done, 3, "short")
    losses = next(iter(runs({"x": candidate.experiment(SHORT, 1e-3)}, 3).values()))
    assert (losses.curve("train loss")[:, -1] < losses.curve("train loss")[:, 0]).all()
    assert len(set(losses.curve("train loss")[:, 0])) == 3  # a seed is a start of its own
    assert len(result["skills"]["analogy"]["accuracy"]["each"]) == 3


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


def test_a_module_is_examined_from_python(monkeypatch, store):
    from ontogeny import execute

    monkeypatch.setattr("ontogeny.scorecard.battery.benchmarks", lambda longer: (SHORT,))
    runs = lambda experiments, seeds: execute(experiments, seeds, store=store)  # noqa: E731
    made = examine(
        f"{EXAMPLES}/torch_transformer.py:Model", references="none", seeds=2, execute=runs
    )
    assert made["examined"]["kind"] == "torch" and made["ranks"] == {"analogy": 1}
    with pytest.raises(ConfigError, match="did you mean 'train'"):
        examine(GPT2(), references="trian")
    with pytest.raises(ConfigError, match="must be a class or function of a file"):
        examine(lambda vocab, length: None)


def test_the_command_explains_a_fault_and_ends_with_two(written):
    words = [sys.executable, "-m", "ontogeny.cli.main", "examine", written("return tokens")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("ontogeny: Model made (3, 12) of tokens (3, 12)")


def test_the_guides_model_is_sound(tmp_path):
    guide = (EXAMPLES.parent / "docs" / "examine.md").read_text()
    code = guide.partition("```python\n")[2].partition("```")[0]
    file = tmp_path / "guide.py"
    file.write_text(code)
    kind, size = check(source_of(f"{file}:Model"))
    assert kind == "torch" and size > 1e5
