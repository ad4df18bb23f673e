"""Experiments that train by other means than compiled programs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, TypeAlias

import equinox as eqx
import numpy as np

from .evaluations import Interval, intervals, steps_at
from .fields import Component
from .types import Experiment


class Trainer(ABC):
    """A run of an external experiment, under way."""

    @abstractmethod
    def evaluate(self) -> dict[str, np.ndarray]:
        """Answers every question."""

    @abstractmethod
    def advance(self, start: int, stop: int) -> None:
        """Takes the steps from `start` to `stop`."""

    @abstractmethod
    def save(self) -> dict[str, np.ndarray]:
        """All that it takes to go on from here."""

    @abstractmethod
    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Goes back to what was saved."""


class External(Component):
    """An experiment that trains by other means than compiled programs: somebody's module, a
    pretrained language model. Like all others it is evaluated, saved, resumed and judged."""

    measured_in: ClassVar[Mapping[str, str]] = {}  # what its answers are measured in, by name
    steps: eqx.AbstractVar[int]
    evaluations: eqx.AbstractVar[int]  # how many, besides the one before training

    @abstractmethod
    def begin(self, seed: int) -> Trainer:
        """A run of it, at its start."""

    @property
    @abstractmethod
    def operations(self) -> float:
        """About how many floating-point operations it takes."""

    @property
    def reads(self) -> tuple[Path, ...]:
        """Files whose contents decide what it answers."""
        return ()

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """What is between one evaluation and the next: all in one stage."""
        return intervals(self.evaluations, (self.steps,))

    @property
    def evaluated_at(self) -> list[int]:
        """The number of steps taken at each evaluation, the first before any."""
        return steps_at(self.intervals)


AnyExperiment: TypeAlias = Experiment | External
