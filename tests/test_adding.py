"""A new task, model, stage, probe or claim is one file: contracts, commands and page find it."""

import importlib
import sys
import textwrap

import pytest
import test_contracts as contracts
from components import components, examples

from ontogeny import Store
from ontogeny.claims.claim import CLAIMS
from ontogeny.cli.main import run
from ontogeny.core.types import Model, Probe, Stage, Task
from ontogeny.report.page import report_page

FILES = {
    "parity": '''
        """Is the number of ones even?"""
        from typing import ClassVar

        import jax.numpy as jnp
        import jax.random as jr

        from ontogeny import Batch, Task
        from ontogeny.core.fields import count

        class Parity(Task):
            """`1 0 1 → 0`"""

            splits: ClassVar[tuple[str, ...]] = ("train", "test")
            vocab: ClassVar[int] = 2
            length: int = count(3, doc="how many bits")

            def world(self, key):
                return ()

            def sample(self, world, split, key):
                bits = jr.bernoulli(key, 0.5, (8, self.length)).astype(jnp.int32)
                at = jnp.full((8, 1), self.length - 1)
                return Batch(bits, at, bits.sum(axis=1, keepdims=True) % 2, jnp.ones((8, 1)))
        ''',
    "counting": '''
        """Logits that are linear in the tokens so far."""
        import jax.numpy as jnp

        from ontogeny import Model, Trace
        from ontogeny.core.fields import number

        class Counting(Model):
            """f(x) = Σ W[x]"""

            scale: float = number(0.1, doc="size of the initial weights")

            def init(self, task, key):
                return {"weights": self.scale * jnp.eye(task.vocab, task.answers)}

            def __call__(self, params, inputs, at):
                sums = jnp.cumsum(params["weights"][inputs], axis=0)[at]
                return Trace(sums, sums[None])
        ''',
    "signs": '''
        """Signs of gradients."""
        import jax
        import jax.numpy as jnp

        from ontogeny import Stage, Until
        from ontogeny.core.fields import Example, count, number, optional

        class SignDescent(Stage):
            """θ ← θ - η sign(∇L)"""

            steps: int = count(doc="how many steps")
            learning_rate: float = number(least=0, doc="the size of a step")
            until: Until | None = optional(Until, doc="when it ends early")

            @classmethod
            def examples(cls):
                return [Example(cls(steps=2, learning_rate=0.1))]

            def init(self, now):
                return ()

            def step(self, now, memory):
                batch = now.batch("train")
                slopes = jax.grad(lambda p: now.with_params(p).loss(batch))(now.params)
                move = lambda p, g: p - self.learning_rate * jnp.sign(g)
                return jax.tree.map(move, now.params, slopes), memory
        ''',
    "norms": '''
        """The size of the parameters."""
        import jax.flatten_util
        import jax.numpy as jnp

        from ontogeny import Probe

        class LargestWeight(Probe):
            """The largest absolute parameter."""

            def __call__(self, now):
                return jnp.max(jnp.abs(jax.flatten_util.ravel_pytree(now.params)[0]))
        ''',
    "claims": '''
        """A sentence of nobody's."""
        from ontogeny import Experiment, Paper, claim
        from mylab.counting import Counting
        from mylab.norms import LargestWeight
        from mylab.parity import Parity
        from mylab.signs import SignDescent

        @claim(
            Paper("mine", "Mine", "https://example.org"),
            "p. 1",
            seeds=5,
            trained=Experiment(
                Parity(), Counting(), (SignDescent(4, 0.25),), {"largest": LargestWeight()}, 2
            ),
        )
        def weights_grow_under_sign_descent(trained):
            """Under sign descent weights grow at a steady rate."""
            yield trained.final("largest").above(0.2)
        ''',
}
NAME = "weights_grow_under_sign_descent"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of somebody else's, with one file for each thing."""
    folder = tmp_path / "mylab"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("mylab.claims")
    yield "mylab"
    CLAIMS.pop(NAME, None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "mylab"]:
        del sys.modules[name]


def test_contracts_find_a_new_component_and_try_it_by_its_example(package):
    tries = {
        Task: contracts.test_the_same_key_draws_the_same_rows_and_they_fit_the_task,
        Model: contracts.test_models_read_where_they_are_asked_and_see_nothing_that_comes_later,
        Stage: contracts.test_a_zero_learning_rate_moves_nothing_and_a_small_one_moves_a_little,
        Probe: contracts.test_probes_answer_with_finite_numbers_of_one_shape,
    }
    for kind, keeps_its_promises in tries.items():
        (component,) = components(kind, package)
        contracts.test_every_field_says_what_it_means(component)
        (example,) = examples(kind, package)
        contracts.test_every_leaf_is_a_float(example)
        keeps_its_promises(example)


def test_commands_and_page_find_a_new_claim(package, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words in (["judge", NAME, "--workers", "0"], ["list", NAME], ["show", NAME]):
        assert run(words) == 0
        assert NAME in capsys.readouterr().out
    page, verdicts, _ = report_page(Store(tmp_path / ".ontogeny"), [NAME])
    assert verdicts == 1 and "Under sign descent weights grow" in page
