"""What the probes answered over training, seed by seed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from .fields import ConfigError, did_you_mean
from .measurement import Measurement, summary
from .notebook import frame, table
from .quantity import ANYTHING, RANGES, Quantity, Range
from .words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
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
        return frame(_rows(self, {}))

    def plot(self, *probes: str) -> "Figure":
        """A figure of some probes over training, by default of all that answer with one number: the
        mean over seeds, its interval and each seed."""
        return _drawn({self.name or "run": self}, probes)

    def __repr__(self) -> str:
        seeds, steps = len(self.seeds), int(self.steps[-1]) if len(self.steps) else 0
        failed = f", {len(self.failures)} failed" if self.failures else ""
        asked = ", ".join(self.answers)
        asked = asked if len(asked) <= 60 else f"{asked[:59]}…"
        many = f"{counted(seeds, 'seed')}, {steps:,} steps"
        return f"Run({self.name!r}, {many}, {len(self.steps)} evaluations of {asked}{failed})"

    def _repr_html_(self) -> str:
        rows = [
            [probe, summary(answers[:, -1], self.possible(probe))]
            for probe, answers in self.answers.items()
        ]
        seeds, steps = len(self.seeds), int(self.steps[-1]) if len(self.steps) else 0
        title = f"{self.name or 'run'}: {counted(seeds, 'seed')}, {steps:,} steps"
        return table(title, ["probe", "final mean [95 % interval]"], rows, self.failures)


class Runs(Mapping[str, Run]):
    """Runs by name, as `execute` gives them."""

    def plot(self, *probes: str) -> "Figure":
        """A figure of some probes over training, by default of all that answer with one number: a
        colour per run."""
        return _drawn(self, probes)

    def to_frame(self) -> Any:
        """A pandas data frame, in long format: like that of a run, with the run's name in front."""
        return frame(row for name, run in self.items() for row in _rows(run, {"run": name}))

    def __repr__(self) -> str:
        return f"Runs({', '.join(map(repr, islice(self, _SHOWN)))}{', …' * (len(self) > _SHOWN)})"

    def _repr_html_(self) -> str:
        some = {name: self[name] for name in islice(self, _SHOWN)}  # each is read from the store
        probes = list(dict.fromkeys(probe for run in some.values() for probe in run.answers))
        rows = [[name, *(_final(run, probe) for probe in probes)] for name, run in some.items()]
        more = [f"and {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        failures = [f"{name}: {text}" for name, run in some.items() for text in run.failures]
        title = f"{counted(len(self), 'run')}: final mean [95 % interval]"
        return table(title, ["run", *probes], rows, [*more, *failures])


_SHOWN = 20  # runs, where there is no end of them


def _final(run: Run, probe: str) -> str:
    return summary(run.answers[probe][:, -1]) if probe in run.answers else ""


def _drawn(runs: Mapping[str, Run], probes: tuple[str, ...]) -> "Figure":
    known = list(dict.fromkeys(probe for run in runs.values() for probe in run.answers))
    for probe in probes:
        if probe not in known:
            raise ConfigError(f"no run has a probe {probe!r}: {did_you_mean(probe, known)}")
    # what draws stands above what is drawn: it is looked up when it is asked for
    figures = import_module("ontogeny.report.figures")
    figure: Figure = figures.curves(runs, probes=probes)
    return figure


def _rows(run: Run, before: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A run in long format, with what is to stand in front of each row."""
    for probe, answers in run.answers.items():
        for (seed, evaluation, *index), value in np.ndenumerate(answers):
            yield {
                **before,
                "seed": run.seeds[seed],
                "step": int(run.steps[evaluation]),
                "probe": probe,
                "index": ",".join(map(str, index)),  # empty for a single number
                "value": float(value),
            }
