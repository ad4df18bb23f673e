"""What decides a claim and how long that takes, said before anything is run."""

import warnings
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from ..core.errors import one_line
from ..core.evidence import Evidence
from ..core.external import AnyExperiment, External
from ..core.fields import ConfigError
from ..core.run import Run
from ..engine.cost import cost
from ..engine.execute import plan, stage_ends, units_of
from ..engine.machine import cores
from ..engine.pools.processes import Processes
from ..engine.progress import Counted
from ..engine.runs import specs
from .claim import Claim
from .scale import Scale

Fill = Callable[[tuple[int, ...]], np.ndarray]


class Criterion(NamedTuple):
    """A piece of evidence before it is measured: what is asked of which quantity."""

    evidence: Evidence  # of stand-ins: its numbers mean nothing, its bound does
    known: bool  # or the bound itself is measured


def criteria(claim: Claim, scale: Scale) -> list[Criterion]:
    """What a claim will be judged by, from its evidence of stand-ins for its runs.

    It is weighed twice, on different numbers: a bound that differs is one that the runs give.
    """
    first, second = (_weighed(claim, scale, fill) for fill in (_halves, _drawn))
    again = zip_longest((each.text for each in second), first)
    return [Criterion(each, each.text == text) for text, each in again if each]


def _weighed(claim: Claim, scale: Scale, fill: Fill) -> list[Evidence]:
    experiments, seeds = claim.named(scale), claim.seeds.least
    runs = {name: stand_in(name, each, seeds, fill) for name, each in experiments.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return claim.weigh(scale, runs)
    except Exception as problem:  # its code expects what only runs answer
        raise ConfigError(f"its evidence needs real answers: {one_line(problem)}") from problem


def _halves(shape: tuple[int, ...]) -> np.ndarray:
    return np.full(shape, 0.5)


def _drawn(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.2, 0.8, shape)


def stand_in(name: str, experiment: AnyExperiment, seeds: int, fill: Fill = _halves) -> Run:
    """A run with answers of the right shapes, made up."""
    steps = experiment.evaluated_at
    answers: dict[str, np.ndarray]
    if isinstance(experiment, External):
        answers = _Numbers(lambda: fill((seeds, len(steps))))
    else:
        shapes = cost(experiment).answers
        answers = {probe: fill((seeds, len(steps), *shape)) for probe, shape in shapes.items()}
    ends, units = stage_ends(experiment), units_of(experiment)
    return Run(name, np.array(steps), answers, tuple(range(seeds)), ends=ends, units=units)


class _Numbers(dict[str, Any]):
    """Answers of an external experiment, which says neither their names nor their shapes: one
    number to whatever is asked."""

    def __init__(self, made: Callable[[], np.ndarray]) -> None:
        self.made = made

    def __contains__(self, probe: object) -> bool:
        return True

    def __missing__(self, probe: str) -> np.ndarray:
        return self.made()


def seconds(experiments: Mapping[str, AnyExperiment], seeds: int) -> float:
    """About how long experiments run on this machine, from nothing."""
    wanted = {
        spec.name: spec
        for name, each in experiments.items()
        for spec in specs(name, each, range(seeds))
    }
    counted, pool = Counted(), Processes(cores())
    counted.planned(plan(list(wanted.values()), pool), cores())
    return counted.seconds_left
