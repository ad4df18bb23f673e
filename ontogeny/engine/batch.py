"""A row: lanes of one structure that run side by side, and what is known of each.

A *lane* is one experiment with one seed. Lanes of a row go through the same program together; a row
that is short of lanes is filled up with copies of its last one, which nobody asks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..core.external import AnyExperiment, External, Trainer
from ..core.fields import ConfigError
from ..core.types import Experiment, Solver
from . import program
from .files import Arrays
from .machine import compiling
from .serialize import Spelled, code_behind, digest, record
from .store import Checkpoint

Position = tuple[int, int]  # stage, looks done in it


@dataclass(frozen=True)
class Lane:
    """One experiment with one seed."""

    label: str
    experiment: AnyExperiment
    seed: int
    name: str  # what it is called in the store
    unknown: tuple[str, ...] = ()  # code that has no text: its answers may not be kept

    @property
    def record(self) -> Spelled:
        """All that decides what it answers, but for the seed."""
        return record(self.experiment)


def lanes(label: str, experiment: AnyExperiment, seeds: Iterable[int]) -> list[Lane]:
    """An experiment with some seeds."""
    name, unknown = digest(record(experiment)), tuple(code_behind(experiment).unknown)
    return [Lane(label, experiment, seed, f"{name}-{seed}", unknown) for seed in seeds]


def confirm(lane: Lane) -> None:
    """Sees to it that a lane is run with the code that it was named by."""
    if digest(record(lane.experiment)) != lane.name.rpartition("-")[0]:
        raise ConfigError(
            f"{lane.label}: its code, or a constant that it uses, is not what it was when this "
            "was planned: ask again. (A worker process imports files anew: what a script sets "
            'under `if __name__ == "__main__":` is not known there.)'
        )


def row_of(lanes: Sequence[Lane], width: int) -> "Row":
    """A row of whatever kind the lanes' experiment is."""
    first = lanes[0].experiment
    return Outside(lanes, first) if isinstance(first, External) else Compiled(lanes, first, width)


class Row(ABC):
    """Lanes under way, and what they have answered."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self.lanes = lanes
        self.evaluated_at = lanes[0].experiment.evaluated_at
        self.failures = [""] * len(lanes)
        self.ended: list[dict[str, int]] = [{} for _ in lanes]
        self.answers: list[Arrays] = []  # one per look, lanes stacked

    @abstractmethod
    def compile(self, stage: int, turn: int) -> None:
        """Compiles its programs from a stage on. Whoever runs other rows of the same structure
        takes another turn: begins with another program, and finds the others' on disk."""

    @abstractmethod
    def begin(self) -> None:
        """Draws what there is to draw, and looks."""

    @abstractmethod
    def advance(self, stage: int, look: int) -> None:
        """Goes on to the next look. Where all lanes have ended, nothing changes any more."""

    @abstractmethod
    def states(self) -> list[Arrays]:
        """All that it takes to go on from here, lane by lane."""

    @abstractmethod
    def resume(self, position: Position, states: Sequence[Arrays]) -> None:
        """Puts the lanes where they were."""

    @property
    def step(self) -> int:
        """How many steps it has taken."""
        return self.evaluated_at[len(self.answers) - 1]

    def note(self, seen: Arrays) -> None:
        """Takes down what was seen; a lane whose answers are no numbers is in trouble."""
        self.answers.append(seen)
        look = len(self.answers) - 1
        for place, lane in enumerate(self.lanes):
            bad = [name for name, values in seen.items() if not np.isfinite(values[place]).all()]
            if bad and not self.failures[place]:
                since = f"after step {self.evaluated_at[look - 1]}, by step" if look else "at step"
                self.failures[place] = (
                    f"seed {lane.seed}: {', '.join(bad)} not a finite number "
                    f"{since} {self.evaluated_at[look]}"
                )

    def curves(self, place: int) -> Arrays:
        """What a lane has answered so far."""
        names = self.answers[0]
        return {name: np.stack([look[name][place] for look in self.answers]) for name in names}

    def checkpoints(self, position: Position, seconds: float) -> list[Checkpoint]:
        """What is saved of each lane."""
        return [
            Checkpoint(
                position,
                state,
                self.curves(place),
                {"failure": self.failures[place], "ended": self.ended[place], "seconds": seconds},
            )
            for place, state in enumerate(self.states())
        ]

    def restore(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Goes back to where the lanes were when they were saved."""
        self.resume(checkpoints[0].position, [c.state for c in checkpoints])
        curves = [c.answers for c in checkpoints]
        evaluations = len(next(iter(curves[0].values())))
        self.answers = [
            {name: np.stack([c[name][n] for c in curves]) for name in curves[0]}
            for n in range(evaluations)
        ]
        self.failures = [c.notes["failure"] for c in checkpoints]
        self.ended = [c.notes["ended"] for c in checkpoints]


class Outside(Row):
    """A lane of an external experiment."""

    def __init__(self, lanes: Sequence[Lane], experiment: External) -> None:
        super().__init__(lanes)
        (self.lane,) = lanes
        self.course: Trainer = experiment.begin(self.lane.seed)

    def compile(self, stage: int, turn: int) -> None:
        """There is nothing to compile."""

    def begin(self) -> None:
        self._look()

    def advance(self, stage: int, look: int) -> None:
        if self.failures[0]:
            self.answers.append(self.answers[-1])
            return
        self.course.advance(self.evaluated_at[look], self.evaluated_at[look + 1])
        self._look()

    def _look(self) -> None:
        self.note({name: np.asarray(seen)[None] for name, seen in self.course.evaluate().items()})

    def states(self) -> list[Arrays]:
        return [self.course.save()]

    def resume(self, position: Position, states: Sequence[Arrays]) -> None:
        self.course.restore(states[0])


class Compiled(Row):
    """Lanes of one structure, side by side in one program."""

    def __init__(self, lanes: Sequence[Lane], experiment: Experiment, width: int) -> None:
        super().__init__(lanes)
        self.experiment = experiment
        filled = [*lanes, *[lanes[-1]] * (width - len(lanes))]
        self.experiments: Experiment = jax.tree.map(
            lambda *leaves: jnp.array(leaves, jnp.float32), *(lane.experiment for lane in filled)
        )
        self.seeds = jnp.array([lane.seed for lane in filled])
        self.state: program.State

    def compile(self, stage: int, turn: int) -> None:
        structure = f"{jax.tree.structure(self.experiment)} {len(self.seeds)}"
        programs = list(enumerate(self._programs(stage)))
        first = turn % len(programs)
        for n, lowered in programs[first:] + programs[:first]:
            with compiling(f"{structure} {stage} {n}"):
                lowered().compile()

    def _programs(self, stage: int) -> Iterator[Callable[[], jax.stages.Lowered]]:
        """Each stage from this one on, which take longest and most memory; looking; beginning."""
        row = self.experiments, self.seeds
        state = program.begin_all.eval_shape(*row)
        for place, rule in enumerate(self.experiment.training[stage:], stage):
            if not _solves(rule):
                entered = program.enter_all.eval_shape(*row, state, stage=place)
                yield partial(
                    program.advance_all.lower,
                    *row,
                    entered,
                    *self._when(place, 0),
                    **self._how(place),
                )
        yield partial(program.evaluate_all.lower, *row, state, jnp.asarray(0))
        if not self.answers:
            yield partial(program.begin_all.lower, *row)

    def begin(self) -> None:
        self.state = program.begin_all(self.experiments, self.seeds)
        self._look()

    def advance(self, stage: int, look: int) -> None:
        rule = self.experiment.training[stage]
        if look == 0:
            self.state = program.enter_all(self.experiments, self.seeds, self.state, stage)
        if _solves(rule):
            self._solve(stage)
            self._look()
        elif any(self._active(stage)):
            self.state = program.advance_all(
                self.experiments,
                self.seeds,
                self.state,
                *self._when(stage, look),
                **self._how(stage),
            )
            self._look()
            if rule.until:
                self._perhaps_end(stage)
        else:
            self.answers.append(self.answers[-1])

    def _active(self, stage: int) -> list[bool]:
        return [
            not failures and str(stage) not in ended
            for failures, ended in zip(self.failures, self.ended, strict=True)
        ]

    def _when(self, stage: int, look: int) -> tuple[jax.Array, jax.Array]:
        filled = np.ones(len(self.seeds), bool)
        filled[: len(self.lanes)] = self._active(stage)
        return jnp.asarray(look * self._how(stage)["steps"]), jnp.asarray(filled)

    def _how(self, stage: int) -> dict[str, int]:
        rule = self.experiment.training[stage]
        return {"stage": stage, "steps": rule.steps // self.experiment.evaluations_of(rule)}

    def _look(self) -> None:
        """Asks every probe."""
        step = jnp.asarray(self.evaluated_at[len(self.answers)])
        seen = self.state._replace(memory=())  # so that one program looks, whatever the stage
        answers = program.evaluate_all(self.experiments, self.seeds, seen, step)
        self.note({name: np.asarray(found)[: len(self.lanes)] for name, found in answers.items()})

    def _solve(self, stage: int) -> None:
        """Solves lane by lane; one that has no solution is in trouble, and has no numbers."""
        solved = []
        for place, lane in enumerate(self.lanes):
            state: program.State = jax.tree.map(lambda leaf, place=place: leaf[place], self.state)
            try:
                assert isinstance(lane.experiment, Experiment)
                state = program.solve(lane.experiment, lane.seed, state, stage)
            except ConfigError as error:
                self.failures[place] = self.failures[place] or f"seed {lane.seed}: {error}"
                nothing = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), state.params)
                state = state._replace(params=nothing)
            solved.append(state)
        solved += [solved[-1]] * (len(self.seeds) - len(solved))
        self.state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *solved)

    def _perhaps_end(self, stage: int) -> None:
        for place, lane in enumerate(self.lanes):
            assert isinstance(lane.experiment, Experiment)
            until = lane.experiment.training[stage].until
            assert until is not None
            if until.passed(float(np.mean(self.answers[-1][until.probe][place]))):
                self.ended[place].setdefault(str(stage), self.step)

    def states(self) -> list[Arrays]:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.state)]
        return [
            {f"{n:05d}": leaf[place] for n, leaf in enumerate(leaves)}
            for place in range(len(self.lanes))
        ]

    def resume(self, position: Position, states: Sequence[Arrays]) -> None:
        stage, look = position
        state = program.begin_all.eval_shape(self.experiments, self.seeds)
        if look or stage:  # at a stage's start, the memory of the one before: entering drops it
            entered = stage if look else stage - 1
            state = program.enter_all.eval_shape(self.experiments, self.seeds, state, stage=entered)
        filled = [*states, *[states[-1]] * (len(self.seeds) - len(states))]
        stacked = [
            jnp.stack([state[f"{n:05d}"] for state in filled])
            for n in range(len(jax.tree.leaves(state)))
        ]
        self.state = jax.tree.unflatten(jax.tree.structure(state), stacked)


def _solves(stage: object) -> bool:
    return isinstance(stage, Solver)
