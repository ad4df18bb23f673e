"""Runs under way: one experiment with one seed each, several of one structure side by side."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..core.evaluations import Interval
from ..core.external import AnyExperiment, External, Trainer
from ..core.fields import ConfigError
from ..core.types import Experiment, Solver
from . import program
from .files import Arrays
from .machine import compile_once
from .serialize import Serialized, code_behind, digest, record
from .store import Checkpoint


@dataclass(frozen=True)
class RunSpec:
    """One experiment with one seed, to be run."""

    label: str
    experiment: AnyExperiment
    seed: int
    name: str  # what it is called in the store
    unknown: tuple[str, ...] = ()  # code that has no text: its answers may not be kept

    @property
    def record(self) -> Serialized:
        """All that decides what it answers, but for the seed."""
        return record(self.experiment)


def specs(label: str, experiment: AnyExperiment, seeds: Iterable[int]) -> list[RunSpec]:
    """An experiment with some seeds."""
    name, unknown = digest(record(experiment)), tuple(code_behind(experiment).unknown)
    return [RunSpec(label, experiment, seed, f"{name}-{seed}", unknown) for seed in seeds]


def confirm(spec: RunSpec) -> None:
    """Sees to it that a run is made with the code that it was named by."""
    if digest(record(spec.experiment)) != spec.name.rpartition("-")[0]:
        raise ConfigError(
            f"{spec.label}: its code, or a constant that it uses, is not what it was when this "
            "was planned: ask again. (A worker process imports modules anew: what a script sets in "
            "them from outside is not known there.)"
        )


def batch_of(specs: Sequence[RunSpec], width: int) -> "RunBatch":
    """Runs of one structure, of whatever kind their experiment is."""
    first = specs[0].experiment
    if isinstance(first, External):
        return ExternalBatch(specs, first)
    return CompiledBatch(specs, first, width)


class RunBatch(ABC):
    """Runs that advance together from evaluation to evaluation, and what they have answered.

    Where they are is one number: how many evaluations are done.
    """

    def __init__(self, specs: Sequence[RunSpec]) -> None:
        self.specs = specs
        self.evaluated_at = specs[0].experiment.evaluated_at
        self.failures = [""] * len(specs)
        self.ended: list[dict[str, int]] = [{} for _ in specs]  # by stage: at which step
        self.answers: list[Arrays] = []  # one per evaluation, runs stacked

    @abstractmethod
    def compile(self) -> None:
        """Compiles what is still to be run, sharing the work with others who need the same."""

    @abstractmethod
    def begin(self) -> None:
        """Draws what there is to draw, and evaluates."""

    @abstractmethod
    def advance(self) -> None:
        """Goes on to the next evaluation. Where all runs have ended, nothing changes any more."""

    @abstractmethod
    def states(self) -> list[Arrays]:
        """All that it takes to go on from here, run by run."""

    @abstractmethod
    def resume(self, states: Sequence[Arrays]) -> None:
        """Puts the runs where they were after as many evaluations as there are answers."""

    @property
    def step(self) -> int:
        """How many steps it has taken."""
        return self.evaluated_at[len(self.answers) - 1]

    @property
    def done(self) -> bool:
        """Whether the last evaluation is done."""
        return len(self.answers) == len(self.evaluated_at)

    def keep(self, answers: Arrays) -> None:
        """Takes down what probes answered; a run whose answers are no numbers has failed."""
        self.answers.append(answers)
        now = len(self.answers) - 1
        for place, spec in enumerate(self.specs):
            bad = [name for name, values in answers.items() if not np.isfinite(values[place]).all()]
            if bad and not self.failures[place]:
                since = f"after step {self.evaluated_at[now - 1]}, by step" if now else "at step"
                self.failures[place] = (
                    f"seed {spec.seed}: {', '.join(bad)} not a finite number "
                    f"{since} {self.evaluated_at[now]}"
                )

    def curves(self, place: int) -> Arrays:
        """What a run has answered so far."""
        names = self.answers[0]
        return {name: np.stack([each[name][place] for each in self.answers]) for name in names}

    def checkpoints(self, seconds: float) -> list[Checkpoint]:
        """What is saved of each run."""
        return [
            Checkpoint(
                len(self.answers),
                state,
                self.curves(place),
                {"failure": self.failures[place], "ended": self.ended[place], "seconds": seconds},
            )
            for place, state in enumerate(self.states())
        ]

    def restore(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Goes back to where the runs were when they were saved."""
        curves = [each.answers for each in checkpoints]
        self.answers = [
            {name: np.stack([each[name][n] for each in curves]) for name in curves[0]}
            for n in range(checkpoints[0].evaluations)
        ]
        self.failures = [each.notes["failure"] for each in checkpoints]
        self.ended = [each.notes["ended"] for each in checkpoints]
        self.resume([each.state for each in checkpoints])


class ExternalBatch(RunBatch):
    """A single run of an external experiment."""

    def __init__(self, specs: Sequence[RunSpec], experiment: External) -> None:
        super().__init__(specs)
        (spec,) = specs
        self.trainer: Trainer = experiment.begin(spec.seed)

    def compile(self) -> None:
        """There is nothing to compile."""

    def begin(self) -> None:
        self._evaluate()

    def advance(self) -> None:
        if self.failures[0]:
            self.answers.append(self.answers[-1])
            return
        self.trainer.advance(self.step, self.evaluated_at[len(self.answers)])
        self._evaluate()

    def _evaluate(self) -> None:
        answers = self.trainer.evaluate()
        self.keep({name: np.asarray(value)[None] for name, value in answers.items()})

    def states(self) -> list[Arrays]:
        return [self.trainer.save()]

    def resume(self, states: Sequence[Arrays]) -> None:
        self.trainer.restore(states[0])


_COMPILED: set[str] = set()  # structures whose programs this process has: most units are not new


class CompiledBatch(RunBatch):
    """Runs of one structure, vmapped; short of `width`, filled up with copies that nobody asks."""

    def __init__(self, specs: Sequence[RunSpec], experiment: Experiment, width: int) -> None:
        super().__init__(specs)
        self.experiment, self.intervals = experiment, experiment.intervals
        filled = [*specs, *[specs[-1]] * (width - len(specs))]
        self.experiments: Experiment = jax.tree.map(
            lambda *leaves: jnp.array(leaves, jnp.float32), *(spec.experiment for spec in filled)
        )
        self.seeds = jnp.array([spec.seed for spec in filled])
        self.state: program.State

    def compile(self) -> None:
        structure = f"{jax.tree.structure(self.experiment)} {len(self.seeds)}"
        if structure in _COMPILED:
            return
        programs = self._programs().items()
        compile_once({f"{structure} {name}": lowered for name, lowered in programs})
        _COMPILED.add(structure)

    def _programs(self) -> dict[str, Callable[[], jax.stages.Lowered]]:
        """Each stage still to come, which take longest and most memory; evaluating; beginning."""
        both = self.experiments, self.seeds
        state = program.begin_all.eval_shape(*both)
        found: dict[str, Callable[[], jax.stages.Lowered]] = {}
        to_come = {each.stage: each for each in self.intervals[max(0, len(self.answers) - 1) :]}
        for stage, interval in to_come.items():
            if not self._solves(stage):
                now = program.enter_all.eval_shape(*both, state, stage=stage), *self._when(interval)
                found[f"advance {stage}"] = partial(
                    program.advance_all.lower, *both, *now, stage=stage
                )
        found["evaluate"] = partial(program.evaluate_all.lower, *both, state, jnp.asarray(0))
        if not self.answers:
            found["begin"] = partial(program.begin_all.lower, *both)
        return found

    def begin(self) -> None:
        self.state = program.begin_all(self.experiments, self.seeds)
        program.check_first_tokens(self.experiment, jax.tree.map(lambda x: x[0], self.state.world))
        self._evaluate()

    def advance(self) -> None:
        interval = self.intervals[len(self.answers) - 1]
        both, stage = (self.experiments, self.seeds), interval.stage
        if interval.start == 0:
            self.state = program.enter_all(*both, self.state, stage)
        if self._solves(stage):
            self._solve(stage)
            self._evaluate()
        elif any(self._active(stage)):
            self.state = program.advance_all(*both, self.state, *self._when(interval), stage=stage)
            self._evaluate()
            self._perhaps_end(stage)
        else:
            self.answers.append(self.answers[-1])

    def _solves(self, stage: int) -> bool:
        return isinstance(self.experiment.training[stage], Solver)

    def _active(self, stage: int) -> list[bool]:
        return [
            not failure and str(stage) not in ended
            for failure, ended in zip(self.failures, self.ended, strict=True)
        ]

    def _when(self, interval: Interval) -> tuple[jax.Array, jax.Array, jax.Array]:
        active = np.ones(len(self.seeds), bool)
        active[: len(self.specs)] = self._active(interval.stage)
        return jnp.asarray(interval.start), jnp.asarray(interval.steps), jnp.asarray(active)

    def _evaluate(self) -> None:
        """Asks every probe."""
        step = jnp.asarray(self.evaluated_at[len(self.answers)])
        state = self.state._replace(memory=())  # so that one program serves all stages
        answers = program.evaluate_all(self.experiments, self.seeds, state, step)
        self.keep({name: np.asarray(each)[: len(self.specs)] for name, each in answers.items()})

    def _solve(self, stage: int) -> None:
        """Solves run by run; one that has no solution has failed, and has no numbers."""
        solved = []
        for place, spec in enumerate(self.specs):
            state: program.State = jax.tree.map(lambda leaf, place=place: leaf[place], self.state)
            try:
                assert isinstance(spec.experiment, Experiment)
                state = program.solve(spec.experiment, spec.seed, state, stage)
            except ConfigError as error:
                self.failures[place] = self.failures[place] or f"seed {spec.seed}: {error}"
                nothing = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), state.params)
                state = state._replace(params=nothing)
            solved.append(state)
        solved += [solved[-1]] * (len(self.seeds) - len(solved))
        self.state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *solved)

    def _perhaps_end(self, stage: int) -> None:
        for place, spec in enumerate(self.specs):
            assert isinstance(spec.experiment, Experiment)
            until = spec.experiment.training[stage].until
            if until and until.passed(float(np.mean(self.answers[-1][until.probe][place]))):
                self.ended[place].setdefault(str(stage), self.step)

    def states(self) -> list[Arrays]:
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self.state)]
        return [
            {f"{n:05d}": leaf[place] for n, leaf in enumerate(leaves)}
            for place in range(len(self.specs))
        ]

    def resume(self, states: Sequence[Arrays]) -> None:
        both = self.experiments, self.seeds
        state = program.begin_all.eval_shape(*both)
        if len(self.answers) > 1:  # with the memory of the stage that the last evaluation was in
            stage = self.intervals[len(self.answers) - 2].stage
            state = program.enter_all.eval_shape(*both, state, stage=stage)
        filled = [*states, *[states[-1]] * (len(self.seeds) - len(states))]
        stacked = [
            jnp.stack([state[f"{n:05d}"] for state in filled])
            for n in range(len(jax.tree.leaves(state)))
        ]
        self.state = jax.tree.unflatten(jax.tree.structure(state), stacked)
