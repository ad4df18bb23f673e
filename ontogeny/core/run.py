"""What the probes answered over training, seed by seed."""

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from .evidence import Measurement, summary
from .fields import ConfigError, did_you_mean
from .notebook import table


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

    def curve(self, probe: str) -> Float[np.ndarray, "seed evaluation ..."]:
        """A probe's answers over training, seed by seed."""
        if probe not in self.answers:
            hint = did_you_mean(probe, self.answers)
            raise ConfigError(f"{self.name or 'this run'} has no probe {probe!r}: {hint}")
        return self.answers[probe]

    def final(self, probe: str) -> Measurement:
        """A probe's answer at the end."""
        return self._measure(f"final {probe}", self.curve(probe)[:, -1])

    def initial(self, probe: str) -> Measurement:
        """A probe's answer before training."""
        return self._measure(f"initial {probe}", self.curve(probe)[:, 0])

    def peak(self, probe: str) -> Measurement:
        """The largest answer on the way."""
        return self._measure(f"peak {probe}", self.curve(probe).max(axis=1))

    def best(self, probe: str, by: str) -> Measurement:
        """A probe's answer at the evaluation where another, such as a validation loss, is least."""
        # nan is the least to numpy: a run that diverged is judged by where it did
        best = self.curve(by).argmin(axis=1)
        chosen = self.curve(probe)[np.arange(len(best)), best]
        return self._measure(f"best {probe}", chosen)

    def at(self, probe: str, step: int) -> Measurement:
        """A probe's answer at the last evaluation up to a step."""
        last = int(np.searchsorted(self.steps, step, side="right")) - 1
        return self._measure(f"{probe} at step {self.steps[last]}", self.curve(probe)[:, last])

    def first_step_above(self, probe: str, level: float) -> Measurement:
        """The step of the first evaluation above a level; not a number if there is none."""
        return self._first(self.curve(probe) > level, f"{probe} above {level:g}")

    def first_step_below(self, probe: str, level: float) -> Measurement:
        """The step of the first evaluation below a level; not a number if there is none."""
        return self._first(self.curve(probe) < level, f"{probe} below {level:g}")

    def _first(self, passed: np.ndarray, what: str) -> Measurement:
        # argmax finds the first that passed, or 0 if none did
        steps = np.where(passed.any(axis=1), self.steps[passed.argmax(axis=1)], np.nan)
        never = tuple(
            f"seed {seed} never has {what}"
            for seed, step in zip(self.seeds, steps, strict=True)
            if np.isnan(step)
        )
        measured = self._measure(f"first step with {what}", steps)
        return replace(measured, failures=measured.failures + never)

    def _measure(self, what: str, values: np.ndarray) -> Measurement:
        return Measurement(f"{self.name}: {what}" if self.name else what, values, self.failures)

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
        rows = [[probe, summary(answers[:, -1])] for probe, answers in self.answers.items()]
        seeds, steps = len(self.seeds), int(self.steps[-1]) if len(self.steps) else 0
        title = f"{self.name or 'run'}: {seeds} seed{'s' * (seeds != 1)}, {steps:,} steps"
        return table(title, ["probe", "final mean [95 % interval]"], rows, self.failures)
