"""A real IPython session, in a process of its own, fed cell by cell."""

import os
import re
import subprocess
import sys

from small import ROOT, TESTS


def session(folder, *cells, **environment):
    """What IPython prints while it runs some cells in a folder, line by line; prompts left out."""
    paths = os.pathsep.join(map(str, (ROOT, TESTS, folder)))
    words = ("--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=nocolor")
    done = subprocess.run(
        [sys.executable, "-m", "IPython", *words],
        # an empty line ends a cell of several lines; within one, a line of blanks is no end
        input="".join(cell.strip().replace("\n\n", "\n    \n") + "\n\n" for cell in cells),
        env=os.environ | {"PYTHONPATH": paths, "IPYTHONDIR": str(folder / "ipython")} | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    lines = (_PROMPTS.sub("", line).strip() for line in done.stdout.splitlines())
    return [line for line in lines if line], done.stderr


_PROMPTS = re.compile(r"^((In \[\d+\]| *\.\.\.): ?)*")


def said(lines, word):
    """What follows a word at the beginning of a line."""
    return [line.removeprefix(word).strip() for line in lines if line.startswith(word)]


# ------------------------------------------------------------------------ what one might type

IMPORTS = """
import json, logging, threading
import jax, jax.numpy as jnp
from ontogeny import *
from ontogeny.core.fields import count, number, optional, split
logging.basicConfig(level=logging.WARNING)
FACTOR = 1.0
"""
TYPED = """
def twice(x):
    return FACTOR * x
"""
TASK = """
class Parity(Task):
    splits = ("train", "test")
    vocab = 2
    length: int = count(3, doc="how many bits")
    def world(self, key):
        return ()
    def sample(self, world, split, key):
        bits = jax.random.bernoulli(key, 0.5, (8, self.length)).astype(jnp.int32)
        at = jnp.full((8, 1), self.length - 1)
        return Batch(bits, at, bits.sum(axis=1, keepdims=True) % 2, jnp.ones((8, 1)))
"""
MODEL = """
class Counting(Model):
    scale: float = number(FACTOR, doc="size of the initial weights")
    def init(self, task, key):
        return {"weights": self.scale * jnp.eye(task.vocab, task.answers)}
    def __call__(self, params, inputs, at):
        sums = jnp.cumsum(params["weights"][inputs], axis=0)[at]
        return Trace(sums, sums[None])
"""
STAGE = """
class SignDescent(Stage):
    steps: int = count(doc="how many steps")
    learning_rate: float = number(least=0, doc="the size of a step")
    until: Until | None = optional(Until, doc="when it ends early")
    def init(self, now):
        return ()
    def step(self, now, memory):
        slopes = jax.grad(lambda p: now.with_params(p).loss(now.batch("train")))(now.params)
        move = lambda p, g: p - self.learning_rate * jnp.sign(g)
        return jax.tree.map(move, now.params, slopes), memory
"""
BASE = """
class Base(Loss):
    part: str = split("train", doc="rows")
    def __call__(self, now):
        return twice(super().__call__(now)) * jnp.ones_like(now.params["weights"]).mean()
"""
OWN = """
class Mine(Base):
    '''A probe with a parent that was typed too.'''
    factor: float = number(2.0, doc="how much")
    def __call__(self, now):
        return self.factor * super().__call__(now)
"""
EXPERIMENT = """
def made(rate, **more):
    probes = {"mine": Mine("train"), "loss": Loss("train")} | more
    return Experiment(Parity(), Counting(), (SignDescent(8, rate),), probes, 4)
"""
WORKERS = """
def answers(workers, on=None):
    store = Store("store" if on is None else "ray")
    before = len(store.names())
    runs = execute({str(r): made(r) for r in (0.1, 0.2)}, 2, workers=workers, on=on, store=store)
    curves = {name: run.curve("mine").tolist() for name, run in runs.items()}
    print("WORKERS", json.dumps([len(store.names()) - before, curves]))
"""
TYPED_HERE = (IMPORTS, TYPED, TASK, MODEL, STAGE, BASE, OWN, EXPERIMENT, WORKERS)
