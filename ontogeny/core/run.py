"""What the probes answered over training, seed by seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .fields import ConfigError, did_you_mean
from .measurement import Measurement, summary
from .notebook import table
from .quantity import ANYTHING, RANGES, Quantity, Range


@dataclass(frozen=True)
class Run:
    """What the probes answered: one curve per probe and seed."""

    name: str
    steps: Int[np.ndarray, " evaluation"]
    answers: dict[str, Float[np.ndarray, "seed evaluation ..."]]
    seeds: tuple[int, ...]
    failures: tuple[str, ...] = ()
    seconds: float = 0.0
    ends: tuple[int, ...] = ()  # the step at which each stage ends
    units: Mapping[str, str] = field(default_factory=dict)  # what probes' answers are measured in

    def curve(self, probe: str) -> Float[np.ndarray, "seed evaluation ..."]:
        """A probe's answers over training, seed by seed."""
        if probe not in self.answers:
            hint = did_you_mean(probe, self.answers)
            raise ConfigError(f"{self.name or 'this run'} has no probe {probe!r}: {hint}")
        return self.answers[probe]

    def possible(self, probe: str) -> Range:
        """What a probe's answer can be."""
        return RANGES.get(self.units.get(probe, ""), ANYTHING)

    def final(self, probe: str) -> Measurement:
        """A probe's answer at the end."""
        return self._measure("final", probe, self.curve(probe)[:, -1])

    def initial(self, probe: str) -> Measurement:
        """A probe's answer before training."""
        return self._measure("initial", probe, self.curve(probe)[:, 0])

    def peak(self, probe: str) -> Measurement:
        """The largest answer on the way."""
        return self._measure("peak", probe, self.curve(probe).max(axis=1))

    def best(self, probe: str, by: str) -> Measurement:
        """A probe's answer at the evaluation where another, such as a validation loss, is least."""
        # nan is the least to numpy: a run that diverged is judged by where it did
        best = self.curve(by).argmin(axis=1)
        chosen = self.curve(probe)[np.arange(len(best)), best]
        return self._measure("best", probe, chosen)

    def at(self, probe: str, step: int) -> Measurement:
        """A probe's answer at the last evaluation up to a step."""
        last = int(np.searchsorted(self.steps, step, side="right")) - 1
        name = f"at step {self.steps[last]},"
        return self._measure(name, probe, self.curve(probe)[:, last])

    def first_step_above(self, probe: str, level: float) -> Measurement:
        """The step of the first evaluation above a level; later than the last if there is none."""
        return self._first(self.curve(probe) > level, probe, f"{probe} above {level:g}")

    def first_step_below(self, probe: str, level: float) -> Measurement:
        """The step of the first evaluation below a level; later than the last if there is none."""
        return self._first(self.curve(probe) < level, probe, f"{probe} below {level:g}")

    def _first(self, passed: np.ndarray, probe: str, what: str) -> Measurement:
        # argmax finds the first that passed, or 0 if none did
        ever, last = np.asarray(passed.any(axis=1)), float(self.steps[-1])
        steps = np.where(ever, self.steps[passed.argmax(axis=1)], last)
        finite = np.isfinite(self.curve(probe)).all(axis=1)  # or the run has failed
        steps = np.where(ever | finite, steps, np.nan)
        never = f"{(~ever).sum()} of {len(ever)} seeds never have {what} by step {last:g}"
        return Measurement(
            Quantity(f"first step with {what}", self.name, unit="steps"),
            steps,
            self.failures,
            () if ever.all() else (never,),
            None if ever.all() else steps,
            # a crossing that was not seen comes later, however much
            None if ever.all() else np.where(ever, steps, np.inf),
        )

    def _measure(self, reduction: str, probe: str, values: np.ndarray) -> Measurement:
        unit = self.units.get(probe, "")
        quantity = Quantity(probe, self.name, (reduction,), unit=unit)
        return Measurement(quantity, values, self.failures)

    def to_frame(self) -> Any:
        """A pandas data frame, in long format: a row per seed, step, probe and array entry."""
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise ConfigError(
                "Run.to_frame needs pandas: pip install pandas, or ontogeny[export]"
            ) from error
        rows: dict[str, list[Any]] = {"seed": [], "step": [], "probe": [], "index": [], "value": []}
        for probe, answers in self.answers.items():
            for (seed, evaluation, *index), value in np.ndenumerate(answers):
                rows["seed"].append(self.seeds[seed])
                rows["step"].append(int(self.steps[evaluation]))
                rows["probe"].append(probe)
                rows["index"].append(",".join(map(str, index)))  # empty for a single number
                rows["value"].append(float(value))
        return pandas.DataFrame(rows)

    def _repr_html_(self) -> str:
        rows = [
            [probe, summary(answers[:, -1], self.possible(probe))]
            for probe, answers in self.answers.items()
        ]
        seeds, steps = len(self.seeds), int(self.steps[-1]) if len(self.steps) else 0
        title = f"{self.name or 'run'}: {seeds} seed{'s' * (seeds != 1)}, {steps:,} steps"
        return table(title, ["probe", "final mean [95 % interval]"], rows, self.failures)
