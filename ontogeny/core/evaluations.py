"""When probes answer: at even distances, ever more rarely, or at steps of one's own."""

from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from . import fields
from .fields import Component, ConfigError

ALLOWED = "a whole number, Log(points) or a tuple of steps"


class Log(Component):
    """Evaluations ever farther apart, as a logarithmic axis has them: dense in a stage's first
    steps, where abilities emerge, and few later on."""

    points: int = fields.count(30, doc="how many a stage has, at most: steps are whole numbers")

    def __str__(self) -> str:
        return f"log {self.points}"


class Interval(NamedTuple):
    """Steps of a stage from one evaluation to the next, counted from the stage's start."""

    stage: int
    start: int
    end: int

    @property
    def steps(self) -> int:
        """How many."""
        return self.end - self.start


Evaluations: TypeAlias = int | Log | tuple[int, ...]


def check(asked: Evaluations, steps: int) -> None:
    """Refuses what is no such thing for so many steps in all."""
    if isinstance(asked, Log):
        return
    if isinstance(asked, bool) or not isinstance(asked, int | tuple):
        raise ConfigError(f"Experiment.evaluations must be {ALLOWED}, not {asked!r}")
    if isinstance(asked, int) and asked < 1:
        raise ConfigError(f"Experiment.evaluations must be at least 1, not {asked}")
    for step in asked if isinstance(asked, tuple) else ():
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= steps:
            raise ConfigError(
                f"Experiment.evaluations: {step!r} is no step of this training, which takes {steps}"
            )


@cache
def intervals(asked: Evaluations, stages: tuple[int, ...]) -> tuple[Interval, ...]:
    """What is between evaluations, the first before any step, of stages with so many steps."""
    return tuple(
        Interval(number, *each)
        for number, (steps, until) in enumerate(zip(stages, accumulate(stages), strict=True))
        for each in pairwise([0, *_within(asked, until - steps, steps)])
    )


def steps_at(intervals: Iterable[Interval]) -> list[int]:
    """The number of steps taken at each evaluation, in all stages together."""
    return [0, *accumulate(each.steps for each in intervals)]


def _within(asked: Evaluations, before: int, steps: int) -> list[int]:
    """The steps of a stage after which probes answer, counted from its start, which is after
    `before` others; its last is always among them."""
    if isinstance(asked, Log):
        spaced = np.geomspace(steps, 1, min(asked.points, steps))  # a single one is the last
        return sorted(set(np.rint(spaced).astype(int).tolist()))
    if isinstance(asked, int):
        parts = min(asked, steps)
        return [-(-steps * part // parts) for part in range(1, parts + 1)]
    wanted = sorted(set(asked))
    inside = wanted[bisect_right(wanted, before) : bisect_right(wanted, before + steps)]
    return sorted({*(step - before for step in inside), steps})


def parse(text: str) -> Evaluations:
    """Evaluations as one types them: `20`, `log 30` or `1+10+100`."""
    word, _, points = text.strip().partition(" ")
    try:
        if word == "log":
            return Log(int(points)) if points else Log()
        steps = tuple(int(each) for each in text.split("+"))
    except ValueError:
        raise ConfigError(
            f"evaluations={text}: expected a number of them, like 20, log 30, or steps: 1+10+100"
        ) from None
    return steps if "+" in text else steps[0]
