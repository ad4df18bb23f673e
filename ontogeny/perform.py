"""A unit of work, seen through.

A *lane* is one experiment with one seed; a *unit* is some lanes of one structure, which advance
together, look by look. Between looks a unit can be saved, stopped and taken up again.
"""

import math
import os
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from . import lane as one
from . import lift
from .core import Experiment, Solver
from .environment import environment
from .fields import Invalid
from .spell import Spelled, digest, record
from .store import Arrays, Checkpoint, Record, log

# How often a unit saves itself, at most: what a power cut may cost.
CHECKPOINT_SECONDS = float(os.environ.get("ONTOGENY_CHECKPOINT_SECONDS", "20"))


@dataclass(frozen=True)
class Lane:
    """One experiment with one seed."""

    label: str
    experiment: Experiment
    seed: int
    name: str  # what it is called in the store

    @property
    def record(self) -> Spelled:
        """All that decides what it answers, but for the seed."""
        return record(self.experiment)


def lanes(label: str, experiment: Experiment, seeds: Iterable[int]) -> list[Lane]:
    """An experiment with some seeds."""
    name = digest(record(experiment))
    return [Lane(label, experiment, seed, f"{name}-{seed}") for seed in seeds]


@dataclass(frozen=True)
class Unit:
    """Lanes of one structure, at the same position, that advance together."""

    lanes: tuple[Lane, ...]
    position: tuple[int, int]  # stage, looks done in it
    cost: float  # what is left, in floating-point operations
    abreast: int = 1  # how many lanes run side by side

    @property
    def label(self) -> str:
        """What runs, for people."""
        first, *others = dict.fromkeys(lane.label for lane in self.lanes)
        more = f" and {len(others)} more" if others else ""
        runs = "1 run" if len(self.lanes) == 1 else f"{len(self.lanes)} runs"
        return f"{first}{more} ({runs})"


class Look(NamedTuple):
    """News of a unit that runs: how far it is and what it last saw."""

    step: int
    steps: int
    loss: float


@runtime_checkable
class Keeper(Protocol):
    """What keeps runs: a store, or whoever passes them on to one."""

    def checkpoint(self, name: str) -> Checkpoint | None:
        """The newest checkpoint of a run."""

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint."""

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Keeps a finished run."""


def perform(
    unit: Unit,
    store: Keeper | None = None,
    stop: Callable[[], bool] = lambda: False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> Generator[Look, None, list[Record]]:
    """Runs a unit to its end, with news at every look; goes on from its checkpoints if it has any.

    When `stop` says so, a checkpoint is written and the unit is left at that (Interrupted).
    """
    return (yield from _Performance(unit, store, stop, checkpoint_seconds).run())


class Interrupted(Exception):  # noqa: N818
    """A unit was asked to stop; its checkpoints hold what it did."""


class _Performance:
    """A unit under way."""

    def __init__(
        self, unit: Unit, store: Keeper | None, stop: Callable[[], bool], checkpoint_seconds: float
    ) -> None:
        self.lanes, self.store, self.stop = unit.lanes, store, stop
        self.checkpoint_seconds = checkpoint_seconds
        self.experiment = unit.lanes[0].experiment
        self.experiments = jax.tree.map(
            lambda *leaves: jnp.array(leaves, jnp.float32),
            *(lane.experiment for lane in self.lanes),
        )
        self.seeds = jnp.array([lane.seed for lane in self.lanes])
        self.clock = self.experiment.clock
        self.abreast = unit.abreast
        self.trouble = [""] * len(self.lanes)
        self.ended: list[dict[str, int]] = [{} for _ in self.lanes]
        self.answers: list[Arrays] = []  # one per look, lanes stacked
        self.started = time.monotonic()
        self.due = self.started + checkpoint_seconds  # when to save next
        self.spent = 0.0  # seconds, before this process took over
        self.position = (0, 0)
        self.state: one.State
        if store:
            self._restore(store)

    def run(self) -> Generator[Look, None, list[Record]]:
        if not self.answers:
            self.state = lift.begin(self.experiments, self.seeds)
            self._look()
            yield self._news()
        while self.position[0] < len(self.experiment.regime):
            self._perhaps_save()
            stage, look = self.position
            looks = self.experiment.looks_of(self.experiment.regime[stage])
            if look == 0:
                self.state = lift.enter(self.experiments, self.seeds, self.state, stage)
            self._advance(stage, look, looks)
            self.position = (stage, look + 1) if look + 1 < looks else (stage + 1, 0)
            yield self._news()
        return self._seal()

    def _advance(self, stage: int, look: int, looks: int) -> None:
        rule = self.experiment.regime[stage]
        if isinstance(rule, Solver):
            self._solve(stage)
            self._look()
            return
        active = [
            not trouble and str(stage) not in ended
            for trouble, ended in zip(self.trouble, self.ended, strict=True)
        ]
        if not any(active):
            self.answers.append(self.answers[-1])
            return
        steps = rule.steps // looks
        self.state = lift.advance(
            self.experiments,
            self.seeds,
            self.state,
            jnp.asarray(look * steps),
            jnp.array(active),
            stage=stage,
            steps=steps,
            abreast=self.abreast,
        )
        self._look()
        if rule.until:
            self._perhaps_end(stage)

    def _look(self) -> None:
        """Asks every probe."""
        step = jnp.asarray(self.clock[len(self.answers)])
        seen = self.state._replace(memory=())  # so that one program looks, whatever the stage
        self._note(lift.look(self.experiments, self.seeds, seen, step, self.abreast))

    def _solve(self, stage: int) -> None:
        """Solves lane by lane; one that has no solution is in trouble, and has no numbers."""
        solved = []
        for place, lane in enumerate(self.lanes):
            state: one.State = jax.tree.map(lambda leaf, place=place: leaf[place], self.state)
            try:
                state = one.solve(lane.experiment, lane.seed, state, stage)
            except Invalid as error:
                self.trouble[place] = self.trouble[place] or f"seed {lane.seed}: {error}"
                nothing = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), state.params)
                state = state._replace(params=nothing)
            solved.append(state)
        self.state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *solved)

    def _note(self, answers: one.Answers) -> None:
        seen = {name: np.asarray(values) for name, values in answers.items()}
        self.answers.append(seen)
        look = len(self.answers) - 1
        for place, lane in enumerate(self.lanes):
            bad = [name for name, values in seen.items() if not np.isfinite(values[place]).all()]
            if bad and not self.trouble[place]:
                since = f"after step {self.clock[look - 1]}, by step" if look else "at step"
                self.trouble[place] = (
                    f"seed {lane.seed}: {', '.join(bad)} not a finite number "
                    f"{since} {self.clock[look]}"
                )

    def _perhaps_end(self, stage: int) -> None:
        for place, lane in enumerate(self.lanes):
            until = lane.experiment.regime[stage].until
            assert until is not None
            if until.passed(float(np.mean(self.answers[-1][until.probe][place]))):
                self.ended[place].setdefault(str(stage), self.clock[len(self.answers) - 1])

    def _news(self) -> Look:
        last = self.answers[-1]
        losses = ["train loss", *(name for name in last if "loss" in name)]
        loss = next((last[name] for name in losses if name in last), np.array(math.nan))
        return Look(self.clock[len(self.answers) - 1], self.clock[-1], float(np.mean(loss)))

    # -- checkpoints

    def _perhaps_save(self) -> None:
        stopping = self.stop()
        if self.store and len(self.answers) > 1 and (stopping or time.monotonic() > self.due):
            self._save(self.store)
        if stopping:
            raise Interrupted

    def _save(self, store: Keeper) -> None:
        began = time.monotonic()
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.state)]
        for place, lane in enumerate(self.lanes):
            state = {f"{n:05d}": leaf[place] for n, leaf in enumerate(leaves)}
            notes = {
                "trouble": self.trouble[place],
                "ended": self.ended[place],
                "seconds": self._seconds(),
            }
            checkpoint = Checkpoint(self.position, state, self._curves(place), notes)
            try:
                store.save(lane.name, checkpoint)
            except OSError as error:  # a full disk costs the checkpoint, not the run
                log.warning("no checkpoint of %s: %s", lane.label, error)
        # what takes long to save (a large model) is saved more rarely
        now = time.monotonic()
        self.due = now + max(self.checkpoint_seconds, 20 * (now - began))

    def _restore(self, store: Keeper) -> None:
        found = [store.checkpoint(lane.name) for lane in self.lanes]
        checkpoints = [c for c in found if c is not None]
        positions = {c.position for c in checkpoints}
        if len(checkpoints) < len(self.lanes) or len(positions) > 1:
            return  # nothing that all lanes have in common: start from the top
        stage, look = self.position = checkpoints[0].position
        state = lift.begin.eval_shape(self.experiments, self.seeds)
        if look or stage:  # at a stage's start, the memory of the one before: entering drops it
            entered = stage if look else stage - 1
            state = lift.enter.eval_shape(self.experiments, self.seeds, state, stage=entered)
        stacked = [
            jnp.stack([c.state[f"{n:05d}"] for c in checkpoints])
            for n in range(len(jax.tree.leaves(state)))
        ]
        self.state = jax.tree.unflatten(jax.tree.structure(state), stacked)
        curves = [c.answers for c in checkpoints]
        looks = len(next(iter(curves[0].values())))
        self.answers = [
            {name: np.stack([c[name][n] for c in curves]) for name in curves[0]}
            for n in range(looks)
        ]
        self.trouble = [c.notes["trouble"] for c in checkpoints]
        self.ended = [c.notes["ended"] for c in checkpoints]
        self.spent = max(c.notes["seconds"] for c in checkpoints)

    # -- results

    def _curves(self, place: int) -> Arrays:
        names = self.answers[0]
        return {name: np.stack([look[name][place] for look in self.answers]) for name in names}

    def _seconds(self) -> float:
        return self.spent + time.monotonic() - self.started

    def _seal(self) -> list[Record]:
        records = []
        for place, lane in enumerate(self.lanes):
            around = environment() | {
                "seed": lane.seed,
                "seconds": self._seconds() / len(self.lanes),
                "trouble": self.trouble[place],
                "ended": self.ended[place],
            }
            done = Record(self._curves(place), self.trouble[place], around)
            records.append(done)
            if self.store:
                try:
                    self.store.seal(lane.name, lane.record, done)
                except OSError as error:
                    log.warning("%s is not kept: %s", lane.label, error)
        return records
