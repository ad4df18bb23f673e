"""Training a model to hold on to: parameters are kept, on request, at every evaluation."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from ..core.external import AnyExperiment
from ..core.fields import ConfigError, did_you_mean
from ..core.types import Experiment
from ..core.words import in_bytes
from . import units, weights
from .display import shown
from .execute import plan
from .files import Arrays
from .machine import memory
from .pools.here import Here
from .runs import CompiledBatch, RunBatch, RunSpec, specs
from .schedule import Progress
from .store import Checkpoint, Record, Store, log
from .trained import Source, Trained, label_of, sized, some


def train(
    experiment: AnyExperiment,
    seed: int = 0,
    *,
    keep: str | Sequence[int] = "last",
    store: Store | None = None,
    progress: Progress | bool | None = None,
) -> Trained:
    """One run of an experiment as a trained model. What the store has of it is not trained again.

    `keep` says which parameters are kept, in the store if there is one: the last, all (those at
    every evaluation), or those after so many steps. Progress is shown as by `execute`.
    """
    if not isinstance(experiment, Experiment):
        kind = type(experiment).__name__
        raise ConfigError(f"{kind} trains by other means (External): it has no model of ours")
    if not isinstance(seed, int) or not 0 <= seed < 2**31:  # an int32 in jax
        raise ConfigError(f"seed must be a whole number from 0 to {2**31 - 1}, not {seed!r}")
    wanted = _wanted(experiment, keep)
    (spec,) = specs(label_of(experiment), experiment, [seed])
    if store and spec.unknown:
        unread = ", ".join(spec.unknown)
        log.warning("not kept, and trained each time: the code of %s cannot be read", unread)
        store = None
    kept = _Kept(spec.name, store)
    missing = [step for step in wanted if not kept.has(step)]
    record = store.load(spec.name) if store else None
    if record and record.failure:  # where it failed, there is nothing to keep
        missing = [step for step in missing if step in _sound(experiment, record)]
    if missing:
        kept.room_for(missing, experiment)
        with shown(progress, store, wanted=True) as watch:
            ended = _run(spec, experiment, missing, kept, watch)
        record = record or ended
    steps = [step for step in wanted if step in kept]
    if not steps:
        failure = record.failure if record else "it has none"
        raise ConfigError(f"this run has no parameters to keep: {failure}")
    return Trained(Source(experiment, spec, kept, record), steps[-1])


def _wanted(experiment: Experiment, keep: str | Sequence[int]) -> list[int]:
    """The steps whose parameters are asked for."""
    evaluated = experiment.evaluated_at
    if isinstance(keep, str):
        if keep not in ("last", "all"):
            hint = did_you_mean(keep, ["last", "all"])
            raise ConfigError(f"keep must be 'last', 'all' or some steps, not {keep!r}: {hint}")
        return evaluated if keep == "all" else evaluated[-1:]
    if not keep:
        raise ConfigError("keep: name at least one step, 'last' or 'all'")
    for step in keep:
        if step not in evaluated:
            raise ConfigError(
                f"keep: there is no evaluation after {step} steps, but after {some(evaluated)}: "
                "an experiment's `evaluations` say when"
            )
    return sorted({int(step) for step in keep})


def _sound(experiment: Experiment, record: Record) -> list[int]:
    """The steps of a failed run up to which its answers are numbers; never its last."""
    answered = [
        all(np.isfinite(values[evaluation]).all() for values in record.answers.values())
        for evaluation in range(len(experiment.evaluated_at))
    ]
    return experiment.evaluated_at[: [*answered[:-1], False].index(False)]


class _Kept(Mapping[int, Arrays]):
    """Parameters of a run by the number of steps taken: in a store, or else in memory."""

    def __init__(self, name: str, store: Store | None) -> None:
        self.name, self.store = name, store
        self.held: dict[int, Arrays] = {}  # where there is no store, or no room in it

    def __iter__(self) -> Iterator[int]:
        return iter(sorted({*self.held, *(self.store.kept(self.name) if self.store else ())}))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, step: object) -> bool:
        return step in list(self)

    def __getitem__(self, step: int) -> Arrays:
        found = self.held.get(step)
        if found is None and self.store:
            found = self.store.parameters(self.name, step)
        if found is None:
            raise ConfigError(f"the parameters after {step} steps are not there: train again")
        return found

    def has(self, step: int) -> bool:
        """Whether they are there, and are what was written."""
        if not self.store or step not in self.store.kept(self.name):
            return step in self.held
        return self.store.parameters(self.name, step) is not None

    def keep(self, step: int, params: Arrays) -> None:
        """Keeps parameters, in memory if the disk is full."""
        try:
            if self.store:
                self.store.keep(self.name, step, params)
                return
        except OSError as error:
            log.warning("parameters after %s steps are kept in memory alone: %s", step, error)
        self.held[step] = params

    def room_for(self, steps: Sequence[int], experiment: Experiment) -> None:
        """Refuses what will not fit."""
        each = weights.size(experiment)
        if self.store:
            root = self.store.root.absolute()
            above = next(each for each in (root, *root.parents) if each.exists())
            room, where = float(shutil.disk_usage(above).free), f"the disk of {self.store.root}"
        else:
            room, where = memory(), "memory (a store has them on disk)"
        if len(steps) * each > room:
            raise ConfigError(
                f"keep: {sized(len(steps), each)} do not fit in {where}, which has "
                f"{in_bytes(room)}: keep fewer steps"
            )


def _run(
    spec: RunSpec, experiment: Experiment, missing: Sequence[int], kept: _Kept, watch: Progress
) -> Record | None:
    """Trains, as `execute` would, until all that is missing is kept; what it answered, if that is
    to the end."""
    store = kept.store
    checkpoint = store.checkpoint(spec.name) if store else None
    done = experiment.evaluated_at[checkpoint.evaluations - 1] if checkpoint else 0
    # a checkpoint that is past what is missing is of no use
    keeper: units.Keeper | None = _FromTheTop(store) if store and done > missing[0] else store
    said = sized(len(missing), weights.size(experiment))
    watch.said(f"keeping parameters: {said} ({'on disk' if store else 'in memory'})")
    left = set(missing)

    def see(batch: RunBatch) -> None:
        assert isinstance(batch, CompiledBatch)
        if batch.step in left and not batch.failures[0]:
            kept.keep(
                batch.step,
                weights.named(jax.tree.map(lambda leaf: leaf[0], batch.state.params)),
            )
        left.discard(batch.step)

    (unit,) = plan([spec], Here(), store if keeper is store else None, watch)
    watch.planned([unit], 1)
    watch.began(unit)
    training = units.train(unit, keeper, lambda: None if left else "stop", see=see)
    try:
        (record,) = units.follow(training, partial(watch.evaluated, unit))
    except units.Interrupted:
        return None
    finally:
        watch.finished(unit)
    watch.answered(spec, record)
    return record


class _FromTheTop:
    """A store whose checkpoints of a run are too late to begin from."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def checkpoint(self, name: str) -> Checkpoint | None:
        """None."""
        return None

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint."""
        self.store.save(name, checkpoint)

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Keeps a finished run."""
        self.store.seal(name, experiment, record)
