"""Examining: from a model to its report card."""

from typing import Any

from ..core import Model
from ..fields import Invalid, did_you_mean
from .battery import RATE
from .battery import battery as exams_of
from .bring import Source, source_of, source_of_factory
from .card import card
from .references import matched, shipped
from .sit import Entrant, Execute, Result, marked, wanted

BESIDE = ("auto", "none", "train")


def examine(
    model: Any,
    battery: str = "quick",
    *,
    seeds: int = 3,
    rate: float = RATE,
    references: str = "auto",
    name: str = "",
    execute: Execute | None = None,
) -> dict[str, Any]:
    """The report card of a model: a class or function that makes it, where it stands in a file
    (`FILE.py:Model`), or a model of the laboratory.

    `references`: beside which others? "auto" takes what the package carries of about this size, if
    it does, "train" trains them here, "none" does without. `execute` says where it runs.
    """
    if references not in BESIDE:
        raise Invalid(f"references={references!r}: {did_you_mean(references, BESIDE)}")
    exams, runner = exams_of(battery), execute or _here
    brought = _brought(model)
    entrant = Entrant(name or _called(brought), brought)
    runs = runner(wanted(entrant, exams, rate), seeds)
    examined = marked(entrant, exams, runs, seeds, battery, rate)
    size, beside = entrant.parameters, list[Result]()
    if references == "auto":
        beside = shipped(size, battery, rate, seeds)
    elif references == "train":
        beside = trained(size, battery, seeds, rate, runner)
    return card(examined, beside)


def trained(parameters: int, name: str, seeds: int, rate: float, execute: Execute) -> list[Result]:
    """The reference architectures at a size, examined now; runs of all of them share the cores."""
    exams, models = exams_of(name), matched(parameters)
    entrants = [Entrant(kind, model) for kind, model in models.items()]
    every = {label: each for one in entrants for label, each in wanted(one, exams, rate).items()}
    runs = execute(every, seeds)
    return [
        marked(entrant, exams, runs, seeds, name, rate) | {"matched": parameters}
        for entrant in entrants
    ]


def _brought(model: Any) -> Source | Model:
    if isinstance(model, Model):
        return model
    return source_of(model) if isinstance(model, str) else source_of_factory(model)


def _called(brought: Source | Model) -> str:
    return brought.name if isinstance(brought, Source) else type(brought).__name__


def _here(experiments: Any, seeds: int) -> Any:
    from ..engine import execute

    return execute(experiments, seeds)
