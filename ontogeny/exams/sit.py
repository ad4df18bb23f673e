"""Sitting the battery: every exam is trained for and asked, and what came of it is marked."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.random as jr
import numpy as np

from ..core import Model
from ..cost import cost
from ..environment import environment
from ..evidence import Run, interval
from ..external import AnyExperiment
from .battery import FACTS, LEARNT, LENGTH, LOOKS, PASSED, RATE, VOCAB, Exam, signature
from .bring import Source, factory_of, made
from .check import check
from .jaxed import Brought
from .references import parameters_of
from .torched import TorchExam

Execute = Callable[[Mapping[str, AnyExperiment], int], Mapping[str, Run]]
Result = dict[str, Any]


class Entrant:
    """Whoever is examined: a model of the laboratory, or one that was brought."""

    def __init__(self, name: str, brought: Source | Model) -> None:
        self.name = name
        self.source = brought if isinstance(brought, Source) else None
        if isinstance(brought, Source):
            self.kind, self.parameters = check(brought)
            if self.kind == "laboratory":
                brought = made(factory_of(brought), VOCAB, LENGTH, jr.key(0))
            elif self.kind != "torch":
                brought = Brought(*brought, vocab=VOCAB, length=LENGTH)
        if isinstance(brought, Model):
            self.kind = "laboratory" if self.source is None else self.kind
            self.parameters = parameters_of(brought)
        self.model = brought

    def experiment(self, exam: Exam, rate: float) -> AnyExperiment:
        """The exam, as this one sits it."""
        if isinstance(self.model, Model):
            return exam.experiment(self.model, rate)
        return TorchExam(
            *self.model,
            task=exam.room,
            probes=exam.probes,
            learnt=LEARNT,
            rate=rate,
            train=exam.train,
            batch=exam.batch,
            steps=exam.steps,
            looks=LOOKS,
            size=self.parameters,
        )

    def operations(self, exam: Exam, rate: float) -> float:
        """Floating-point operations of a training step."""
        experiment = self.experiment(exam, rate)
        if isinstance(experiment, TorchExam):
            return experiment.step_operations
        return cost(experiment).steps[0]


def wanted(entrant: Entrant, exams: tuple[Exam, ...], rate: float) -> dict[str, AnyExperiment]:
    """The experiments of a battery, by name."""
    return {f"{entrant.name}: {exam.name}": entrant.experiment(exam, rate) for exam in exams}


def marked(
    entrant: Entrant,
    exams: tuple[Exam, ...],
    runs: Mapping[str, Run],
    seeds: int,
    battery: str,
    rate: float = RATE,
) -> Result:
    """What came of all exams of a battery."""
    experiments = wanted(entrant, exams, rate)
    marks: dict[str, Any] = {}
    for exam, name in zip(exams, experiments, strict=True):
        run = runs[name]
        step = entrant.operations(exam, rate)
        for question in exam.questions:
            marks[question.name] = {
                "asks": question.asks,
                "chance": question.chance,
                **_mark(run, question.name, _rows(exam), step),
                "trouble": list(run.trouble),
                "curve": {
                    "steps": run.steps.tolist(),
                    "success": np.round(run.curve(question.name).astype(float), 4).tolist(),
                },
            }
    recalled = marks.get("factual recall")
    if recalled:
        each = np.array(recalled["success"]["each"]) * FACTS / entrant.parameters
        recalled["facts per parameter"] = summary(each)
    return {
        "name": entrant.name,
        "kind": entrant.kind,
        "source": str(entrant.source or ""),
        "parameters": entrant.parameters,
        "matched": entrant.parameters,
        "battery": battery,
        "rate": rate,
        "seeds": seeds,
        "exams": signature(exams),
        "seconds": round(sum(runs[name].seconds for name in experiments), 1),
        "environment": environment(),
        "questions": marks,
    }


def _mark(run: Run, name: str, rows: int, operations: float) -> dict[str, Any]:
    """Success at the end, and how much it took to pass; none where a seed never does."""
    curve = np.nan_to_num(run.curve(name))
    passed = curve > PASSED
    emerged = passed.any(axis=1)
    steps = run.steps[passed.argmax(axis=1)].astype(float)
    took = steps if emerged.all() else None
    return {
        "success": summary(curve[:, -1]),
        "passed": int(emerged.sum()),
        "samples": None if took is None else summary(took * rows),
        "operations": None if took is None else summary(took * operations),
    }


def _rows(exam: Exam) -> int:
    """Sequences that a step of training shows."""
    if exam.batch:
        return exam.batch
    task = exam.task

    def drawn(key: jax.Array) -> Any:
        return task.sample(task.world(key), exam.train, key)

    return int(jax.eval_shape(drawn, jr.key(0)).inputs.shape[0])


def summary(values: np.ndarray) -> dict[str, Any]:
    """The mean over seeds, its interval if there is one, and each seed."""
    low, high = (None if np.isnan(end) else end for end in interval(values))
    return {"mean": float(np.mean(values)), "low": low, "high": high, "each": values.tolist()}
