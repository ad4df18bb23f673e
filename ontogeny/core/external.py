"""Experiments that train by other means than compiled programs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, TypeAlias

import equinox as eqx
import numpy as np

from .fields import Component, ConfigError
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
    evaluations: eqx.AbstractVar[int]

    def __check_init__(self) -> None:
        super().__check_init__()
        # evaluations are evenly spaced: where a run is, is then told by one integer
        if self.steps % self.evaluations:
            name = type(self).__name__
            raise ConfigError(
                f"{name}.steps={self.steps} is not divisible by evaluations={self.evaluations}"
            )

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
    def evaluated_at(self) -> list[int]:
        """The number of steps taken at each evaluation, the first before any."""
        return list(range(0, self.steps + 1, self.steps // self.evaluations))


AnyExperiment: TypeAlias = Experiment | External
