"""Sitting the battery: every exam is trained for and asked, and what came of it is marked."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.random as jr
import numpy as np

from ..core.evidence import interval
from ..core.external import AnyExperiment
from ..core.run import Run
from ..core.types import Model
from ..engine.cost import cost
from ..engine.environment import environment
from .battery import FACTS, LEARNT, LENGTH, LOOKS, PASSED, RATE, VOCAB, Exam, signature
from .bring import Source, factory_of, made
from .check import Doing, check
from .jaxed import Brought
from .references import parameters_of
from .torched import TorchExam

Execute = Callable[[Mapping[str, AnyExperiment], int], Mapping[str, Run]]
Result = dict[str, Any]


@dataclass(frozen=True)
class Account:
    """What there is to know of whoever is examined, where its code is not."""

    name: str
    kind: str
    source: str
    parameters: int
    steps: Mapping[str, float]  # operations of a training step, by exam

    def operations(self, exam: Exam, learning_rate: float) -> float:
        """Floating-point operations of a training step."""
        return self.steps[exam.name]

    def as_json(self) -> dict[str, Any]:
        """As it is told to another process."""
        return asdict(self)


class Entrant:
    """Whoever is examined: a model of the laboratory, or one that was brought."""

    def __init__(self, name: str, brought: Source | Model, doing: Doing = lambda _: None) -> None:
        self.name = name
        self.source = brought if isinstance(brought, Source) else None
        if isinstance(brought, Source):
            self.kind, self.parameters = check(brought, doing)
            if self.kind == "laboratory":
                brought = made(factory_of(brought), VOCAB, LENGTH, jr.key(0))
            elif self.kind != "torch":
                brought = Brought(*brought, vocab=VOCAB, length=LENGTH)
        if isinstance(brought, Model):
            self.kind = "laboratory" if self.source is None else self.kind
            self.parameters = parameters_of(brought)
        self.model = brought

    def experiment(self, exam: Exam, learning_rate: float) -> AnyExperiment:
        """The exam, as this one sits it."""
        if isinstance(self.model, Model):
            return exam.experiment(self.model, learning_rate)
        return TorchExam(
            **self.model._asdict(),
            task=exam.room,
            probes=exam.probes,
            learnt=LEARNT,
            learning_rate=learning_rate,
            train=exam.train,
            batch_size=exam.batch_size,
            steps=exam.steps,
            evaluations=LOOKS,
            size=self.parameters,
        )

    def operations(self, exam: Exam, learning_rate: float) -> float:
        """Floating-point operations of a training step."""
        experiment = self.experiment(exam, learning_rate)
        if isinstance(experiment, TorchExam):
            return experiment.step_operations
        return cost(experiment).flops

    def account(self, steps: Mapping[str, float]) -> Account:
        """What there is to know of it."""
        return Account(self.name, self.kind, str(self.source or ""), self.parameters, steps)


def label(entrant: Entrant | Account, exam: Exam) -> str:
    """What an exam is called when it is sat."""
    return f"{entrant.name}: {exam.name}"


def wanted(
    entrant: Entrant, exams: tuple[Exam, ...], learning_rate: float
) -> dict[str, AnyExperiment]:
    """The experiments of a battery, by name."""
    return {label(entrant, exam): entrant.experiment(exam, learning_rate) for exam in exams}


def marked(
    entrant: Entrant | Account,
    exams: tuple[Exam, ...],
    runs: Mapping[str, Run],
    seeds: int,
    battery: str,
    learning_rate: float = RATE,
    failures: Mapping[str, str] | None = None,
) -> Result:
    """What came of all exams of a battery; those without a run failed, for the reason given."""
    marks: dict[str, Any] = {}
    seconds = 0.0
    for exam in exams:
        name = label(entrant, exam)
        run = runs.get(name)
        seconds += run.seconds if run else 0.0
        for question in exam.questions:
            asked = {"asks": question.asks, "chance": question.chance}
            if run:
                rows, step = _rows(exam), entrant.operations(exam, learning_rate)
                marks[question.name] = asked | _mark(run, question.name, rows, step)
            else:
                marks[question.name] = asked | _failed((failures or {})[name])
    recalled = marks.get("factual recall")
    if recalled and recalled["success"]:
        each = np.array(recalled["success"]["each"]) * FACTS / entrant.parameters
        recalled["facts per parameter"] = summary(each)
    return {
        "name": entrant.name,
        "kind": entrant.kind,
        "source": str(entrant.source or ""),
        "parameters": entrant.parameters,
        "matched": entrant.parameters,
        "battery": battery,
        "learning_rate": learning_rate,
        "seeds": seeds,
        "exams": signature(exams),
        "seconds": round(seconds, 1),
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
        "failures": list(run.failures),
        "curve": {
            "steps": run.steps.tolist(),
            "success": np.round(run.curve(name).astype(float), 4).tolist(),
        },
    }


def _failed(why: str) -> dict[str, Any]:
    """The mark of a question that could not be asked to the end."""
    nothing = dict.fromkeys(("success", "samples", "operations", "curve"))
    return {"failed": why, "passed": 0, "failures": [], **nothing}


def _rows(exam: Exam) -> int:
    """Sequences that a step of training shows."""
    if exam.batch_size:
        return exam.batch_size
    task = exam.task

    def drawn(key: jax.Array) -> Any:
        return task.sample(task.world(key), exam.train, key)

    return int(jax.eval_shape(drawn, jr.key(0)).inputs.shape[0])


def summary(values: np.ndarray) -> dict[str, Any]:
    """The mean over seeds, its interval if there is one, and each seed."""
    low, high = (None if np.isnan(end) else end for end in interval(values))
    return {"mean": float(np.mean(values)), "low": low, "high": high, "each": values.tolist()}
