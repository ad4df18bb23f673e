"""Examining: from a model to its scorecard."""

import inspect
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..core.fields import ConfigError, did_you_mean
from ..core.types import Model
from ..engine.display import shown
from ..engine.pools.limits import memory_share
from ..engine.schedule import Progress
from .battery import LEARNING_RATE, Benchmark
from .battery import battery as benchmarks_of
from .evaluate import Candidate, Execute, Result, evaluate, experiments, label
from .isolation.process import Process
from .isolation.supervisor import Report, supervise
from .load import Source, source_of, source_of_factory
from .references import matched, packaged
from .scorecard import Scorecard, scorecard

REFERENCES = ("auto", "none", "train")


class Isolation(NamedTuple):
    """How a module is examined in a process of its own."""

    process: Process | None = None  # if it has been started already
    store: Path | None = None
    workers: int = 0  # processes that it starts; with 0 it trains by itself
    on: str | None = None
    minutes: float | None = None  # for all of it
    memory: float | None = None  # gigabytes for all of its processes
    progress: Progress | None = None

    def check(self) -> None:
        """Refuses what cannot be."""
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigError(f"--minutes must be above 0, not {self.minutes:g}")
        if self.memory is not None and not self.memory >= 1:
            raise ConfigError(f"--memory must be at least 1 (GB), not {self.memory:g}")


def examine(
    model: Any,
    battery: str = "quick",
    *,
    seeds: int = 3,
    learning_rate: float = LEARNING_RATE,
    references: str = "auto",
    name: str = "",
    execute: Execute | None = None,
    isolation: Isolation | None = None,
    progress: Progress | bool | None = None,
) -> Scorecard:
    """The scorecard of a model: `FILE.py:Model`, a class or function that builds a module, or a
    model of this package.

    `references` to compare with: "auto" takes results of about this size that come with the
    package, "train" trains them here, "none" does without. `execute` runs experiments; without it,
    `FILE.py:Model` runs in a process of its own, as `isolation` says. For `progress` see `execute`.
    """
    if references not in REFERENCES:
        raise ConfigError(f"references={references!r}: {did_you_mean(references, REFERENCES)}")
    if seeds < 1:
        raise ConfigError(f"seeds must be at least 1, not {seeds}")
    benchmarks, runner = benchmarks_of(battery), execute or partial(_here, progress)
    if isinstance(model, str) and (isolation or not execute):
        how = isolation or Isolation()
        with shown(how.progress or progress, None) as watch:
            how = how._replace(progress=watch)
            examined = _isolated(model, battery, seeds, learning_rate, name, how)
    else:
        source = _source(model)
        candidate = Candidate(name or _name(source), source)
        runs = runner(experiments(candidate, benchmarks, learning_rate), seeds)
        examined = evaluate(candidate, benchmarks, runs, seeds, battery, learning_rate)
    size, compared = examined["parameters"], list[Result]()
    if references == "auto":
        compared = packaged(size, battery, learning_rate, seeds)
    elif references == "train":
        compared = train_references(size, battery, seeds, learning_rate, runner)
    return scorecard(examined, compared)


def _isolated(
    model: str, battery: str, seeds: int, learning_rate: float, name: str, isolation: Isolation
) -> Result:
    """The result of training in another process."""
    isolation.check()
    benchmarks = benchmarks_of(battery)
    request = {
        "model": model,
        "name": name,
        "battery": battery,
        "benchmarks": [benchmark.name for benchmark in benchmarks],
        "seeds": seeds,
        "learning_rate": learning_rate,
        "store": isolation.store and str(isolation.store.resolve()),
        "workers": isolation.workers,
        "on": isolation.on,
    }
    memory = memory_share() if isolation.memory is None else isolation.memory * 1e9
    with isolation.process or Process() as child:
        report = supervise(
            child, request, memory=memory, minutes=isolation.minutes, progress=isolation.progress
        )
    return _result(model, benchmarks, report, seeds, battery, learning_rate)


def _result(
    model: str,
    benchmarks: tuple[Benchmark, ...],
    report: Report,
    seeds: int,
    battery: str,
    learning_rate: float,
) -> Result:
    info, runs = report.info, report.runs
    if report.invalid:
        raise ConfigError(report.failure)
    if not info:
        raise ConfigError(f"{model}: {report.failure}")
    if not runs:
        (first, why), *_ = *report.failures.items(), ("", report.failure)
        raise ConfigError(f"{model} failed in every benchmark; {first and f'{first}, '}{why}")
    lost = f"not finished: {report.failure}"
    failures = {label(info, benchmark): lost for benchmark in benchmarks} | report.failures
    return evaluate(info, benchmarks, runs, seeds, battery, learning_rate, failures)


def train_references(
    parameters: int, name: str, seeds: int, learning_rate: float, execute: Execute
) -> list[Result]:
    """Trains the reference architectures at a size; their runs share the cores."""
    benchmarks, models = benchmarks_of(name), matched(parameters)
    candidates = [Candidate(kind, model) for kind, model in models.items()]
    every = {
        label: each
        for one in candidates
        for label, each in experiments(one, benchmarks, learning_rate).items()
    }
    runs = execute(every, seeds)
    return [
        evaluate(candidate, benchmarks, runs, seeds, name, learning_rate) | {"matched": parameters}
        for candidate in candidates
    ]


def _source(model: Any) -> Source | Model:
    if isinstance(model, Model):
        return model
    if inspect.isclass(model) and issubclass(model, Model) and model.__module__ == "__main__":
        made: Model = model()  # it may have been typed, and is sent to workers as it is
        return made
    return source_of(model) if isinstance(model, str) else source_of_factory(model)


def _name(source: Source | Model) -> str:
    return source.name if isinstance(source, Source) else type(source).__name__


def _here(progress: Progress | bool | None, experiments: Any, seeds: int) -> Any:
    from ..engine.execute import execute

    return execute(experiments, seeds, progress=progress)
