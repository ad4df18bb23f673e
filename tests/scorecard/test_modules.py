"""A user's module: its faults are explained, and it is trained like any other."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from small import ROOT

from ontogeny import GPT2, Analogy, ConfigError, examine
from ontogeny.scorecard.battery import (
    EVALUATIONS,
    Benchmark,
    Skill,
)
from ontogeny.scorecard.check import check
from ontogeny.scorecard.evaluate import Candidate, evaluate, experiments
from ontogeny.scorecard.load import source_of

torch = pytest.importorskip("torch")


EXAMPLES = ROOT / "examples"


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


ARCHITECTURES = [x for x in sorted(EXAMPLES.glob("*.py")) if "class Model(" in x.read_text()]


@pytest.mark.parametrize("file", ARCHITECTURES, ids=lambda file: file.stem)
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
