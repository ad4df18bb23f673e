"""Trained models as objects: what they compute, answer and attend to, and probes after the fact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from ..core.errors import one_line
from ..core.fields import ConfigError, did_you_mean
from ..core.notebook import table
from ..core.run import Run
from ..core.types import Batch, Experiment, Model, Moment, Params, Probe, Task, Trace, World
from ..core.words import in_bytes
from ..models.clauses import ClauseModel
from ..tasks.lego import CLAUSE
from . import program, tokens, weights
from .evaluation import ask
from .execute import gather
from .files import Arrays
from .runs import CompiledBatch, RunSpec
from .store import Record


@dataclass(frozen=True)
class Source:
    """Where trained models of one run come from."""

    experiment: Experiment
    spec: RunSpec
    kept: Mapping[int, Arrays]  # parameters by the number of steps taken
    record: Record | None = None  # what the run answered, if it has ended
    changed: tuple[str, ...] = ()  # code that is not what it was when the run was made

    @cached_property
    def world(self) -> World:
        """What the task drew at the run's start."""
        # by the program that began the run, so that it is the same to the last bit
        batch = CompiledBatch([self.spec], self.experiment, width=1)
        return jax.tree.map(lambda x: x[0], program.begin_all(batch.experiments, batch.seeds).world)

    @property
    def size(self) -> str:
        """How much is kept: `61 × 1.2 MB = 73.2 MB`."""
        return sized(len(self.kept), weights.size(self.experiment))


def sized(many: int, each: int) -> str:
    """How much so many parameters take."""
    return f"{many} × {in_bytes(each)} = {in_bytes(many * each)}" if many > 1 else in_bytes(each)


class Trained:
    """A model with the parameters that it has after some steps of a run.

    `steps` are those at which the run's parameters were kept; `at(step)` is the model then.
    """

    def __init__(self, source: Source, step: int) -> None:
        self.source, self.step = source, step
        self.experiment, self.seed = source.experiment, source.spec.seed

    @property
    def steps(self) -> tuple[int, ...]:
        """After how many steps of the run parameters were kept."""
        return tuple(sorted(self.source.kept))

    @cached_property
    def params(self) -> Params:
        """The parameters, in the model's own structure."""
        home = f"the parameters after {self.step} steps"
        return weights.fitted(self.source.kept[self.step], self.experiment, home)

    def at(self, step: int) -> "Trained":
        """The same run's model at another evaluation whose parameters were kept."""
        if step not in self.source.kept:
            there = f"kept are the parameters after {some(self.steps)} steps"
            if step in self.experiment.evaluated_at:
                raise ConfigError(f"step {step} was not kept (keep=[{step}] does): {there}")
            raise ConfigError(f"this run has no evaluation after {step} steps: {there}")
        return Trained(self.source, step)

    @property
    def moment(self) -> Moment:
        """All there is at this instant, as probes see it."""
        key = program.key_of(jnp.asarray(self.seed), "evaluation")
        parts = self.experiment.task, self.source.world, self.experiment.model, self.params
        return Moment(*parts, jr.fold_in(key, self.step))

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """What the task calls its tokens, in their order."""
        return tokens.names(self.experiment.task, self.source.world)

    # -- what one may ask of it

    def batch(self, split: str = "train") -> Batch:
        """Rows of a split: those that probes saw at this evaluation."""
        task = self.experiment.task
        if split not in task.splits:
            hint = did_you_mean(split, task.splits)
            raise ConfigError(f"{type(task).__name__} has no split {split!r}: {hint}")
        rows: Batch = _rows(self.moment, split)
        return rows

    def trace(self, asked: Batch | str = "train") -> Trace:
        """What the model computes on every row of a batch, of a split (by its name), or on a prompt
        (in names of tokens)."""
        trace: Trace = _trace(self.moment, self._batch(asked))
        return trace

    def attention(self, asked: Batch | str = "train") -> tuple[np.ndarray, ...]:
        """Attention weights, layer by layer: row × head × position read × position."""
        weights = self.trace(asked).attention
        if not weights:
            raise ConfigError(f"a {type(self.experiment.model).__name__} has no attention")
        return tuple(map(np.asarray, weights))

    def predict(self, prompt: str | Sequence[str], top: int = 5) -> dict[str, float]:
        """What the model answers to a prompt in names of tokens, such as `s3 r1 r2`: the likeliest
        answers, by name, with their probabilities. Where labels are numbers: its number."""
        now, asked = self.moment, self._prompt(prompt)
        try:
            # by a model of clauses all answers are read: the last is asked for
            outputs = _trace(now, asked).outputs[:, -1:]
        except (TypeError, ValueError, IndexError) as error:
            kind = type(now.model).__name__
            raise ConfigError(f"a {kind} cannot read this prompt: {one_line(error)}") from error
        names = now.task.answer_names(now.world)
        if tokens.are_numbers(now.task, now.world):
            return dict(zip(names, outputs[0, 0].tolist(), strict=True))
        found = _probabilities(now.task, outputs, asked, len(names)).tolist()
        # targets of one name are one answer: what tells them apart does not count
        ranked = sorted(dict(zip(names, found, strict=True)).items(), key=lambda each: -each[1])
        return dict(ranked[:top])

    def probe(self, probe: Probe) -> np.ndarray:
        """What a probe answers, as if it had been among the experiment's."""
        name = type(probe).__name__
        # which checks that the probe fits the task
        replace(self.experiment, probes=self.experiment.probes | {name: probe})
        return np.asarray(_ask({name: probe}, self.moment)[name])

    @property
    def run(self) -> Run:
        """What the experiment's own probes answered over training."""
        spec, record = self.source.spec, self.source.record
        if record is None:
            raise ConfigError("this run was not trained to its end: train it with keep='last'")
        return gather(spec.label, [spec], {spec.name: record})

    def _batch(self, asked: Batch | str) -> Batch:
        if isinstance(asked, Batch):
            return asked
        words = asked.split()
        named = asked not in self.experiment.task.splits and words and words[0] in self.tokens
        return self._prompt(asked) if named else self.batch(asked)

    def _prompt(self, prompt: str | Sequence[str]) -> Batch:
        """A prompt as a row. It has no target, and nobody looks at it."""
        task, model = self.experiment.task, self.experiment.model
        given = tokens.numbers(task, self.source.world, prompt)
        at = jnp.array([_read_at(task, model, given)])
        return Batch(jnp.array([given]), at, jnp.zeros_like(at), jnp.ones(at.shape))

    def in_words(self, asked: Batch | str = "train", rows: int | Sequence[int] = 6) -> list[str]:
        """Rows of a batch, or of a split, as people read them: `s3 r1 → b3`."""
        batch = asked if isinstance(asked, Batch) else self.batch(asked)
        return tokens.in_words(self.experiment.task, self.source.world, batch, rows)

    # -- files and screens

    def save(self, path: str | Path, form: str = "safetensors") -> list[Path]:
        """Writes `model.safetensors` and `config.json`, and all else that is kept, for
        `ontogeny.load`; or, as "gpt2", the model alone for the transformers library."""
        from .saved import save

        return save(self, Path(path), form)

    def _facts(self) -> dict[str, str]:
        count = sum(leaf.size for leaf in jax.tree.leaves(weights.shapes(self.experiment)))
        facts = {
            "seed": str(self.seed),
            "step": f"{self.step:,} of {self.experiment.evaluated_at[-1]:,}",
            "parameters": f"{count:,}",
            "kept": f"{some(self.steps)} ({self.source.size})",
        }
        record = self.source.record
        facts |= {"failed": record.failure} if record and record.failure else {}
        changed = ", ".join(self.source.changed)
        return facts | ({"changed since it was trained": changed} if changed else {})

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        return f"<Trained {self.source.spec.label}: {facts}>"

    def _repr_html_(self) -> str:
        return table(self.source.spec.label, ("", ""), self._facts().items())


def label_of(experiment: Experiment) -> str:
    """What is trained on what."""
    return " on ".join(type(part).__name__ for part in (experiment.model, experiment.task))


def some(steps: Sequence[int]) -> str:
    """Steps, in few words."""
    shown = [f"{step:,}" for step in steps]
    if len(shown) > 8:
        shown = [*shown[:4], f"… ({len(shown) - 6} more) …", *shown[-2:]]
    return ", ".join(shown)


def _read_at(task: Task, model: Model, given: list[int]) -> list[int]:
    """Where a prompt is read: at its last token; by models of clauses at every answer, in order."""
    if not isinstance(model, ClauseModel):
        return [len(given) - 1]
    clauses = [given[start : start + CLAUSE] for start in range(0, len(given), CLAUSE)]
    blank = task.vocab - 1
    answered = [clause[:3] == [blank] * 3 for clause in clauses]
    first = answered.index(True) if any(answered) else len(clauses)
    if len(clauses[-1]) < CLAUSE or not all(answered[first:]) or first == len(clauses):
        raise ConfigError(
            f"{type(model).__name__} reads clauses of five tokens: first predicates, as in "
            "`x1 (01) x0 _ _`, then answers, as in `_ _ _ x0 y2`"
        )
    return [CLAUSE * (place + 1) - 1 for place in range(first, len(clauses))]


# ------------------------------------------------------------------------------ compiled


@partial(jax.jit, static_argnames="split")
def _rows(now: Moment, split: str) -> Batch:
    return now.batch(split)


@jax.jit
def _trace(now: Moment, batch: Batch) -> Trace:
    return now.trace(batch)


_ask = jax.jit(ask)


@partial(jax.jit, static_argnames="answers")
def _probabilities(task: Task, outputs: jax.Array, asked: Batch, answers: int) -> jax.Array:
    """How likely each answer is: a task's loss is minus the logarithm of it."""

    def likely(target: jax.Array) -> jax.Array:
        one = Batch(asked.inputs, asked.at[:, -1:], target[None, None], jnp.ones((1, 1)))
        return jnp.exp(-task.loss(outputs, one))

    found: jax.Array = jax.lax.map(likely, jnp.arange(answers), batch_size=min(answers, 4096))
    return found
