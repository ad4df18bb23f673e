"""How fast this machine is, and how near to that the models train.

Everything is measured in one run, and a fraction of peak sets training beside a matrix product
timed by the same process in turns with it, so that a noisy machine harms the ratios least.
"""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from ..core.process import die_with_parent
from ..core.types import Experiment, Model, Task
from ..engine import program
from ..engine.cost import cost
from ..engine.environment import processor
from ..engine.machine import cores, settle
from ..models.clauses import ClauseTransformer
from ..models.gpt2 import GPT2
from ..models.induction import MEMORIES, InductionPair
from ..models.one_layer import OneLayer
from ..models.rollout import rollout
from ..probes.behaviour import Loss
from ..tasks.analogy import Analogy
from ..tasks.lego import Lego, split_of
from ..tasks.triggers import Triggers
from ..training.descent import AdamW, GradientDescent
from ..training.momentum import Momentum
from ..training.readout import ReadoutDescent

RUNS = (1, 4, 16, 64)
ROWS, CHAIN = 256, 160  # of free-running chains
_GEMM = 1024


def subjects() -> dict[str, Experiment]:
    """What is trained: the one-layer model in both its stages and end to end, GPT-2s, an
    induction pair, a transformer of clauses."""
    task, few = Analogy(tuples=100, ratio=4.0), Analogy(tuples=10, ratio=4.0)
    attention = GradientDescent(steps=10, learning_rate=1.0, trainable=("key_query", "value"))

    memories, triggers = (
        Momentum(steps=2, learning_rate=0.03, trainable=MEMORIES),
        Triggers(length=256, rows=64),
    )

    def trained(model: Any, stage: Any, task: Task = task) -> Experiment:
        return Experiment(task, model, (stage,), {"train loss": Loss("train")}, evaluations=1)

    return {
        "one-layer, attention": trained(OneLayer(), attention),
        "one-layer, readout": trained(OneLayer(), ReadoutDescent(steps=50, learning_rate=1.0)),
        "one-layer, end to end": trained(OneLayer(), GradientDescent(steps=10, learning_rate=1.0)),
        "one-layer, 10 tuples": trained(
            OneLayer(width=64), GradientDescent(steps=200, learning_rate=1.0), few
        ),
        "GPT-2, width 128": trained(GPT2(width=128), AdamW(steps=16, learning_rate=1e-3)),
        "GPT-2, width 256": trained(GPT2(width=256), AdamW(steps=6, learning_rate=1e-3)),
        "induction pair": trained(InductionPair(width=256), memories, triggers),
        "the same without tables": trained(_Direct(width=256), memories, triggers),
        "LEGO, clauses": trained(ClauseTransformer(), AdamW(steps=10, learning_rate=1e-3), Lego()),
    }


class _Direct(InductionPair):
    """The same transformer by its definition: every product at every position."""

    batched = Model.batched


def measure(quick: bool = False, tell: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """All measurements: the peak, each subject with one worker and with all, seeds 1 to 64."""
    repeats = 3 if quick else 12
    names = list(subjects())
    found: dict[str, Any] = {
        "machine": {"processor": processor(), "cores": cores()},
        "jax": jax.__version__,
        "training": {},
        "seeds": {},
    }
    with _workers(cores()) as on_workers:
        found["gemm_gflops"] = {
            "one worker": on_workers(1, ("gemm", repeats))[0],
            "all workers": sum(on_workers(cores(), ("gemm", repeats))),
        }
        for name in names:
            tell(name)
            alone = on_workers(1, ("train", name, 1, repeats))[0]
            together = on_workers(cores(), ("train", name, 1, repeats))
            found["training"][name] = {
                "gflops": alone["gflops"],
                "fraction_of_peak": alone["fraction"],
                "steps_per_second": {
                    "1": alone["steps"],
                    str(cores()): sum(row["steps"] for row in together),
                },
            }
        for name in ("one-layer, 10 tuples", "one-layer, readout", "GPT-2, width 128"):
            tell(f"{name}, seeds")
            rates = [on_workers(1, ("train", name, runs, repeats))[0]["steps"] for runs in RUNS]
            found["seeds"][name] = dict(zip(map(str, RUNS), rates, strict=True))
        tell("LEGO, free-running")
        found["rollout_seconds"] = on_workers(1, ("rollout", repeats))[0]
    return found


# ---------------------------------------------------------------------------- in pinned processes


@contextmanager
def _workers(workers: int) -> Iterator[Callable[[int, tuple[Any, ...]], list[Any]]]:
    """Processes, one per core; the same question to some of them at once."""
    context = multiprocessing.get_context("spawn")
    lines, people = [], []
    for core in range(workers):
        ours, theirs = context.Pipe()
        person = context.Process(target=_serve, args=(core, theirs), daemon=True)
        person.start()
        lines.append(ours)
        people.append(person)

    def ask(number: int, question: tuple[Any, ...]) -> list[Any]:
        for line in lines[:number]:
            line.send(question)
        return [line.recv() for line in lines[:number]]

    try:
        yield ask
    finally:
        for line, person in zip(lines, people, strict=True):
            line.send(None)
            person.join(timeout=10)
            person.terminate()


def _serve(core: int, line: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asks decides when to stop
    die_with_parent()
    settle(core)
    with suppress(EOFError, BrokenPipeError):  # whoever asked has been interrupted
        while (question := line.recv()) is not None:
            match question:
                case ("gemm", repeats):
                    line.send(_gemm(repeats))
                case ("train", name, runs, repeats):
                    line.send(_train(subjects()[name], runs, repeats))
                case ("rollout", repeats):
                    line.send(_rollout(repeats))


def _gemm(repeats: int) -> float:
    """Billions of operations a second in a large matrix product."""
    (seconds,) = _fastest([_product()], 10 * repeats)
    return 2 * _GEMM**3 / seconds / 1e9


def _product() -> Callable[[], Any]:
    matrix = jnp.ones((_GEMM, _GEMM))
    product = jax.jit(lambda x: x @ x)
    return lambda: product(matrix).block_until_ready()


def _rollout(repeats: int) -> float:
    """Seconds in which a transformer of clauses writes long chains, all its own answers."""
    task, model = Lego(rows=ROWS), ClauseTransformer()
    params, world = model.init(task, jr.key(0)), task.world(jr.key(1))
    batch = jax.jit(lambda: task.sample(world, split_of(CHAIN), jr.key(2)))()
    written = jax.jit(lambda params: rollout(model, params, batch, task))
    (seconds,) = _fastest([lambda: written(params).block_until_ready()], repeats)
    return seconds


def _train(experiment: Experiment, runs: int, repeats: int) -> dict[str, float]:
    """Steps a second over all runs, and the useful operations in them beside the peak."""
    (stage,) = experiment.training
    flops = cost(experiment).flops
    # as the engine would: small models together, large ones one after the other
    width = program.side_by_side(runs, flops)
    stacked = jax.tree.map(lambda leaf: jnp.full(width, leaf), experiment)
    active, start, steps = jnp.ones(width, bool), jnp.asarray(0), jnp.asarray(stage.steps)
    rows = [jnp.arange(first, first + width) for first in range(0, runs, width)]
    began = [program.begin_all(stacked, seeds) for seeds in rows]
    states = [program.enter_all(stacked, *row, stage=0) for row in zip(rows, began, strict=True)]

    def advance() -> None:
        for index, seeds in enumerate(rows):
            before = states[index]
            states[index] = program.advance_all(
                stacked, seeds, before, start, steps, active, stage=0
            )
        jax.block_until_ready(states)

    training, product = _fastest([advance, _product()], max(2, repeats // runs))
    pace = runs * stage.steps / training
    gflops, peak = pace * flops / 1e9, 2 * _GEMM**3 / product / 1e9
    return {"steps": pace, "gflops": gflops, "fraction": gflops / peak}


def _fastest(works: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The least time of each, taken in turns: what the machine does when nothing else runs."""
    best = [float("inf")] * len(works)
    for turn in range(repeats + 1):
        for index, work in enumerate(works):
            began = time.perf_counter()
            work()
            if turn:  # the first turn compiles
                best[index] = min(best[index], time.perf_counter() - began)
    return best
