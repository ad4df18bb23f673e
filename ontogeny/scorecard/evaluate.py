"""From a candidate and a battery to experiments, and from their runs to scores."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.random as jr
import numpy as np

from ..core.decision import interval
from ..core.external import AnyExperiment
from ..core.run import Run
from ..core.types import Model
from ..engine.cost import cost
from ..engine.environment import environment
from .battery import (
    EVALUATIONS,
    FACTS,
    LEARNING_RATE,
    LEARNT,
    LENGTH,
    PASSED,
    VOCAB,
    Benchmark,
    signature,
)
from .check import Doing, check
from .jax_modules import JaxModule
from .load import Source, build, factory_of
from .references import parameters_of
from .torch_modules import TorchExperiment

Execute = Callable[[Mapping[str, AnyExperiment], int], Mapping[str, Run]]
Result = dict[str, Any]


@dataclass(frozen=True)
class CandidateInfo:
    """What a scorecard needs to know of a candidate, without its code."""

    name: str
    kind: str
    source: str
    parameters: int
    steps: Mapping[str, float]  # operations of a training step, by benchmark

    def operations(self, benchmark: Benchmark, learning_rate: float) -> float:
        """Floating-point operations of a training step."""
        return self.steps[benchmark.name]

    def as_json(self) -> dict[str, Any]:
        """As it is sent to another process."""
        return asdict(self)


class Candidate:
    """The architecture that is examined: a model of this package, or a user's module."""

    def __init__(self, name: str, loaded: Source | Model, doing: Doing = lambda _: None) -> None:
        self.name = name
        self.source = loaded if isinstance(loaded, Source) else None
        if isinstance(loaded, Source):
            self.kind, self.parameters = check(loaded, doing)
            if self.kind == "ontogeny":
                loaded = build(factory_of(loaded), VOCAB, LENGTH, jr.key(0))
            elif self.kind != "torch":
                loaded = JaxModule(*loaded, vocab=VOCAB, length=LENGTH)
        if isinstance(loaded, Model):
            self.kind = "ontogeny" if self.source is None else self.kind
            self.parameters = parameters_of(loaded)
        self.model = loaded

    def experiment(self, benchmark: Benchmark, learning_rate: float) -> AnyExperiment:
        """The experiment that trains the candidate on a benchmark."""
        if isinstance(self.model, Model):
            return benchmark.experiment(self.model, learning_rate)
        return TorchExperiment(
            **self.model._asdict(),
            task=benchmark.widened,
            probes=benchmark.probes,
            learnt=LEARNT,
            learning_rate=learning_rate,
            train=benchmark.train,
            batch_size=benchmark.batch_size,
            steps=benchmark.steps,
            evaluations=EVALUATIONS,
            size=self.parameters,
        )

    def operations(self, benchmark: Benchmark, learning_rate: float) -> float:
        """Floating-point operations of a training step."""
        experiment = self.experiment(benchmark, learning_rate)
        if isinstance(experiment, TorchExperiment):
            return experiment.step_operations
        return cost(experiment).flops

    def info(self, steps: Mapping[str, float]) -> CandidateInfo:
        """What a scorecard needs to know."""
        return CandidateInfo(self.name, self.kind, str(self.source or ""), self.parameters, steps)


def label(candidate: Candidate | CandidateInfo, benchmark: Benchmark) -> str:
    """The name of the candidate's experiment on a benchmark."""
    return f"{candidate.name}: {benchmark.name}"


def experiments(
    candidate: Candidate, benchmarks: tuple[Benchmark, ...], learning_rate: float
) -> dict[str, AnyExperiment]:
    """The experiments of a battery, by name."""
    return {
        label(candidate, benchmark): candidate.experiment(benchmark, learning_rate)
        for benchmark in benchmarks
    }


def evaluate(
    candidate: Candidate | CandidateInfo,
    benchmarks: tuple[Benchmark, ...],
    runs: Mapping[str, Run],
    seeds: int,
    battery: str,
    learning_rate: float = LEARNING_RATE,
    failures: Mapping[str, str] | None = None,
) -> Result:
    """The scores on a battery; a benchmark without a run failed, for the reason given."""
    scores: dict[str, Any] = {}
    seconds = 0.0
    for benchmark in benchmarks:
        name = label(candidate, benchmark)
        run = runs.get(name)
        seconds += run.seconds if run else 0.0
        for skill in benchmark.skills:
            about = {"description": skill.description, "chance": skill.chance}
            if run:
                rows, step = _rows(benchmark), candidate.operations(benchmark, learning_rate)
                scores[skill.name] = about | _score(run, skill.name, rows, step)
            else:
                scores[skill.name] = about | _failed((failures or {})[name])
    recalled = scores.get("factual recall")
    if recalled and recalled["accuracy"]:
        each = np.array(recalled["accuracy"]["each"]) * FACTS / candidate.parameters
        recalled["facts per parameter"] = summary(each)
    return {
        "name": candidate.name,
        "kind": candidate.kind,
        "source": str(candidate.source or ""),
        "parameters": candidate.parameters,
        "matched": candidate.parameters,
        "battery": battery,
        "learning_rate": learning_rate,
        "seeds": seeds,
        "signature": signature(benchmarks),
        "seconds": round(seconds, 1),
        "environment": environment(),
        "skills": scores,
    }


def _score(run: Run, name: str, rows: int, operations: float) -> dict[str, Any]:
    """Final accuracy, and the samples and operations to pass; None where a seed never does."""
    curve = np.nan_to_num(run.curve(name))
    passed = curve > PASSED
    emerged = passed.any(axis=1)
    steps = run.steps[passed.argmax(axis=1)].astype(float)
    # a mean over the seeds that passed would flatter those that seldom do
    took = steps if emerged.all() else None
    return {
        "accuracy": summary(curve[:, -1], most=1.0),
        "passed": int(emerged.sum()),
        "samples": None if took is None else summary(took * rows),
        "operations": None if took is None else summary(took * operations),
        "failures": list(run.failures),
        "curve": {
            "steps": run.steps.tolist(),
            "accuracy": np.round(run.curve(name).astype(float), 4).tolist(),
        },
    }


def _failed(why: str) -> dict[str, Any]:
    """The score of a skill whose benchmark could not be finished."""
    nothing = dict.fromkeys(("accuracy", "samples", "operations", "curve"))
    return {"failed": why, "passed": 0, "failures": [], **nothing}


def _rows(benchmark: Benchmark) -> int:
    """Sequences in a training step."""
    if benchmark.batch_size:
        return benchmark.batch_size
    task = benchmark.task

    def drawn(key: jax.Array) -> Any:
        return task.sample(task.world(key), benchmark.train, key)

    return int(jax.eval_shape(drawn, jr.key(0)).inputs.shape[0])


def summary(values: np.ndarray, most: float = np.inf) -> dict[str, Any]:
    """The mean of numbers from 0 to `most`, its interval if there is one, and each seed."""
    low, high = (None if np.isnan(end) else end for end in interval(values, (0.0, most)))
    return {"mean": float(np.mean(values)), "low": low, "high": high, "each": values.tolist()}
