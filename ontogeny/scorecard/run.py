"""Examining: from a model to its report card."""

from pathlib import Path
from typing import Any, NamedTuple

from ..core.fields import ConfigError, did_you_mean
from ..core.types import Model
from ..engine.limits import memory_share
from ..engine.schedule import Progress
from .battery import RATE, Exam
from .battery import battery as exams_of
from .bring import Source, source_of, source_of_factory
from .card import card
from .process import Process
from .references import matched, shipped
from .sit import Entrant, Execute, Result, label, marked, wanted
from .supervise import Report, supervised

BESIDE = ("auto", "none", "train")


class Apart(NamedTuple):
    """How a module is examined in a process of its own."""

    process: Process | None = None  # that has been started already
    store: Path | None = None
    workers: int = 0  # processes that it starts; without, it trains by itself
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
    learning_rate: float = RATE,
    references: str = "auto",
    name: str = "",
    execute: Execute | None = None,
    apart: Apart | None = None,
) -> dict[str, Any]:
    """The report card of a model: a class or function that makes it, where it stands in a file
    (`FILE.py:Model`), or a model of the laboratory.

    `references`: beside which others? "auto" takes what the package carries of about this size, if
    it does, "train" trains them here, "none" does without. `execute` says where it runs; without
    it, `FILE.py:Model` runs in a process of its own, as `apart` says.
    """
    if references not in BESIDE:
        raise ConfigError(f"references={references!r}: {did_you_mean(references, BESIDE)}")
    if seeds < 1:
        raise ConfigError(f"seeds must be at least 1, not {seeds}")
    exams, runner = exams_of(battery), execute or _here
    if isinstance(model, str) and (apart or not execute):
        examined = _apart(model, battery, seeds, learning_rate, name, apart or Apart())
    else:
        brought = _brought(model)
        entrant = Entrant(name or _called(brought), brought)
        runs = runner(wanted(entrant, exams, learning_rate), seeds)
        examined = marked(entrant, exams, runs, seeds, battery, learning_rate)
    size, beside = examined["parameters"], list[Result]()
    if references == "auto":
        beside = shipped(size, battery, learning_rate, seeds)
    elif references == "train":
        beside = trained(size, battery, seeds, learning_rate, runner)
    return card(examined, beside)


def _apart(
    model: str, battery: str, seeds: int, learning_rate: float, name: str, apart: Apart
) -> Result:
    """What came of exams that were sat in another process; those that failed say why."""
    apart.check()
    exams = exams_of(battery)
    request = {
        "model": model,
        "name": name,
        "battery": battery,
        "exams": [exam.name for exam in exams],
        "seeds": seeds,
        "learning_rate": learning_rate,
        "store": apart.store and str(apart.store.resolve()),
        "workers": apart.workers,
        "on": apart.on,
    }
    memory = memory_share() if apart.memory is None else apart.memory * 1e9
    with apart.process or Process() as child:
        report = supervised(
            child, request, memory=memory, minutes=apart.minutes, progress=apart.progress
        )
    return _told(model, exams, report, seeds, battery, learning_rate)


def _told(
    model: str,
    exams: tuple[Exam, ...],
    report: Report,
    seeds: int,
    battery: str,
    learning_rate: float,
) -> Result:
    account, runs = report.account, report.runs
    if report.invalid:
        raise ConfigError(report.failure)
    if not account:
        raise ConfigError(f"{model}: {report.failure}")
    if not runs:
        (first, why), *_ = *report.failures.items(), ("", report.failure)
        raise ConfigError(f"{model} failed in every exam; {first and f'{first}, '}{why}")
    lost = f"not sat to its end: {report.failure}"
    failures = {label(account, exam): lost for exam in exams} | report.failures
    return marked(account, exams, runs, seeds, battery, learning_rate, failures)


def trained(
    parameters: int, name: str, seeds: int, learning_rate: float, execute: Execute
) -> list[Result]:
    """The reference architectures at a size, examined now; runs of all of them share the cores."""
    exams, models = exams_of(name), matched(parameters)
    entrants = [Entrant(kind, model) for kind, model in models.items()]
    every = {
        label: each for one in entrants for label, each in wanted(one, exams, learning_rate).items()
    }
    runs = execute(every, seeds)
    return [
        marked(entrant, exams, runs, seeds, name, learning_rate) | {"matched": parameters}
        for entrant in entrants
    ]


def _brought(model: Any) -> Source | Model:
    if isinstance(model, Model):
        return model
    return source_of(model) if isinstance(model, str) else source_of_factory(model)


def _called(brought: Source | Model) -> str:
    return brought.name if isinstance(brought, Source) else type(brought).__name__


def _here(experiments: Any, seeds: int) -> Any:
    from ..engine.execute import execute

    return execute(experiments, seeds)
