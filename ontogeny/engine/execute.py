"""From experiments to runs: what is missing is grouped by structure, cut into units and run."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import numpy as np

from ..core.errors import one_line
from ..core.external import AnyExperiment, External
from ..core.fields import ConfigError
from ..core.run import Run, Runs
from .cost import Cost, cost, seconds_by_evaluation
from .display import shown
from .machine import memory
from .pools.here import Here
from .pools.processes import Processes
from .program import side_by_side
from .runs import RunSpec, specs
from .schedule import WORTH_SENDING, Failures, Pool, Progress
from .store import Record, Store, log
from .units import Unit


def execute(
    experiments: Mapping[str, AnyExperiment],
    seeds: int | Mapping[str, int] = 3,
    *,
    workers: int = 0,
    on: Pool | None = None,
    store: Store | None = None,
    progress: Progress | bool | None = None,
    failures: Failures | None = None,
) -> Runs:
    """Runs every experiment for seeds 0, 1, …; what the store has is not run again.

    How many seeds: the same for all, or for each by its name.
    With `workers=0` all happens in this process; otherwise in that many processes, one to a core;
    or on a pool of another kind, like `Cluster()`. How far it is is shown in a terminal and in a
    notebook; elsewhere only with `progress=True`, never with `progress=False`. An experiment that
    fails ends it all; or, if there are `failures` to note it in, is left out of the runs.
    """
    if workers < 0:
        raise ConfigError(f"workers must be at least 0, not {workers}")
    numbers = dict.fromkeys(experiments, seeds) if isinstance(seeds, int) else seeds
    if (fewest := min(numbers.values(), default=1)) < 1:
        raise ConfigError(f"seeds must be at least 1, not {fewest}")
    if sum(numbers.values()) > MOST_RUNS:
        asked = f"{max(numbers.values())} seeds of {len(experiments)} experiments"
        raise ConfigError(f"{asked} are more than {MOST_RUNS:,} runs: too many for one judgement")
    wanted = {name: specs(name, each, range(numbers[name])) for name, each in experiments.items()}
    unique = {spec.name: spec for some in wanted.values() for spec in some}
    missing = []
    for spec in unique.values():
        # A run that is there is read, and checked, once: when somebody asks for it
        if not (store and store.has(spec.name)):
            missing.append(spec)
    done: dict[str, Record] = {}
    pool = on or (Processes(workers) if workers else Here())
    with shown(progress, store, wanted=bool(missing)) as watch:
        for keeper, some in _by_keeper(missing, store).items():
            for spec, record in _run(some, pool, keeper, watch, failures):
                watch.answered(spec, record)
                if not (keeper and keeper.has(spec.name)):  # a full disk, or none
                    done[spec.name] = record
    kept = {name: some for name, some in wanted.items() if name not in (failures or ())}
    return _StoredRuns(kept, done, store)


def _by_keeper(
    missing: Sequence[RunSpec], store: Store | None
) -> dict[Store | None, list[RunSpec]]:
    """What is to be run, by where it may be kept: answers of unknown code nowhere."""
    groups: dict[Store | None, list[RunSpec]] = defaultdict(list)
    for spec in missing:
        groups[None if spec.unknown else store].append(spec)
    unkept = {text: None for spec in groups[None] for text in spec.unknown} if store else {}
    if unkept:
        log.warning("not kept, and run each time: the code of %s cannot be read", ", ".join(unkept))
    return {keeper: some for keeper, some in groups.items() if some}


def _run(
    missing: Sequence[RunSpec],
    pool: Pool,
    store: Store | None,
    progress: Progress,
    failures: Failures | None = None,
) -> Iterator[tuple[RunSpec, Record]]:
    pool.prepare()
    if failures is not None:
        missing = [spec for spec in missing if _can_be_planned(spec, failures)]
    units = plan(missing, pool, store, progress)
    if progress.deadline is not None:
        units.reverse()  # the cheapest first: as much as can be is done in time
    with closing(pool.run(units, store, progress, failures)) as finished:
        for unit, records in finished:
            yield from zip(unit.specs, records, strict=True)


def _can_be_planned(spec: RunSpec, failures: Failures) -> bool:
    """Whether its cost can be counted; if not, that is noted."""
    if spec.label not in failures:
        try:
            cost(spec.experiment)
        except Exception as error:
            failures[spec.label] = str(error) if isinstance(error, ConfigError) else one_line(error)
    return spec.label not in failures


class _StoredRuns(Runs):
    """Runs by name. What a store has is read when it is asked for, so that ten thousand runs take
    no more memory than one."""

    def __init__(
        self, wanted: dict[str, list[RunSpec]], done: dict[str, Record], store: Store | None
    ) -> None:
        self.wanted, self.done, self.store = wanted, done, store

    def __getitem__(self, name: str) -> Run:
        some = self.wanted[name]
        found = {spec.name: self.done.get(spec.name) or self._load(spec.name) for spec in some}
        gone = [spec for spec in some if not found[spec.name]]  # damaged, and set aside
        if gone:
            found |= {spec.name: done for spec, done in _run(gone, Here(), self.store, Progress())}
        return gather(name, some, {known: record for known, record in found.items() if record})

    def _load(self, name: str) -> Record | None:
        return self.store.load(name) if self.store else None

    def __iter__(self) -> Iterator[str]:
        return iter(self.wanted)

    def __len__(self) -> int:
        return len(self.wanted)


def recall(
    experiments: Mapping[str, AnyExperiment], seeds: int, store: Store
) -> dict[str, Run] | None:
    """The runs of a store; None if any of them is not there."""
    found = {}
    for name, experiment in experiments.items():
        wanted = specs(name, experiment, range(seeds))
        done = {spec.name: record for spec in wanted if (record := store.load(spec.name))}
        if len(done) < len(wanted):
            return None
        found[name] = gather(name, wanted, done)
    return found


def so_far(name: str, experiment: AnyExperiment, seeds: int, store: Store) -> Run | None:
    """What a store has of an experiment, checkpoints included: not a number where a seed has not
    come to an evaluation yet. None if there is nothing."""
    known: dict[int, Mapping[str, np.ndarray]] = {}
    for spec in specs(name, experiment, range(seeds)):
        if found := store.load(spec.name) or store.checkpoint(spec.name):
            known[spec.seed] = found.answers
    if not known:
        return None
    evaluations = max(len(values) for answers in known.values() for values in answers.values())
    answers = {
        probe: np.stack([_lengthened(each[probe], evaluations) for each in known.values()])
        for probe in next(iter(known.values()))
    }
    clock = np.array(experiment.evaluated_at[:evaluations])
    ends, units = stage_ends(experiment), units_of(experiment)
    return Run(name, clock, answers, tuple(known), ends=ends, units=units)


def _lengthened(values: np.ndarray, evaluations: int) -> np.ndarray:
    missing = np.full((evaluations - len(values), *values.shape[1:]), np.nan, values.dtype)
    return np.concatenate([values, missing])


MOST_RUNS = 200_000  # that are planned together
_SIDE_BY_SIDE = 256  # runs in a unit, at most: they are saved together


class _Group(NamedTuple):
    """Runs of one structure that are equally far."""

    specs: list[RunSpec]
    cost: Cost
    ahead: tuple[tuple[int, float], ...]  # evaluations to come, and the seconds of each

    @property
    def each(self) -> float:
        """Seconds that one of its runs takes."""
        return sum(often * seconds for often, seconds in self.ahead)


def plan(
    missing: Sequence[RunSpec],
    pool: Pool,
    store: Store | None = None,
    progress: Progress | None = None,
) -> list[Unit]:
    """Groups runs by structure and by how far they are, and cuts the groups into units; the
    costliest first."""
    alike: dict[Any, list[RunSpec]] = defaultdict(list)
    for spec in missing:
        checkpoint = store.checkpoint(spec.name) if store else None
        evaluations = checkpoint.evaluations if checkpoint else 0
        alike[jax.tree.structure(spec.experiment), evaluations].append(spec)
    groups: list[_Group] = []
    for (_, evaluations), some in alike.items():
        if progress:
            progress.planning(len(groups), len(alike))
        price, ahead = cost(some[0].experiment), _ahead(some[0].experiment, evaluations)
        if price.kept > max(pool.memory, 2 * memory()):
            needed = f"{price.kept / 2**30:.3g} GiB"
            raise ConfigError(f"{some[0].label}: its parameters and batches alone take {needed}")
        groups.append(_Group(some, price, ahead))
    whole = sum(group.each * len(group.specs) for group in groups)
    units = [unit for group in groups for unit in _cut(group, pool, whole)]
    return [unit for _, unit in sorted(units, key=lambda pair: -pair[0])]


def _cut(group: _Group, pool: Pool, whole: float) -> Iterator[tuple[float, Unit]]:
    """The units of a group, each with how urgent it is."""
    runs, work = len(group.specs), group.each * len(group.specs)
    # as many pieces as give every worker its share of all the work, if they are worth it
    fair = max(1, math.ceil(pool.workers * work / whole)) if whole else 1
    fair = min(fair, max(1, int(work / WORTH_SENDING)), runs)
    room = max(1, int(pool.memory / group.cost.memory))
    width = side_by_side(min(math.ceil(runs / fair), room, _SIDE_BY_SIDE), group.cost.flops)
    for number, start in enumerate(range(0, runs, width)):
        members = tuple(group.specs[start : start + width])
        seconds = group.each * len(members)
        unit = Unit(members, seconds, width, group.ahead, first=number == 0)
        # later units of a group wait a little, and find its programs compiled
        yield seconds / (min(number, pool.workers) + 1), unit


def _ahead(experiment: AnyExperiment, evaluations: int) -> tuple[tuple[int, float], ...]:
    """Evaluations to come once so many are done, and the seconds of each."""
    left = []
    for often, seconds in seconds_by_evaluation(experiment):
        passed = min(often, evaluations)
        evaluations -= passed
        if often > passed:
            left.append((often - passed, seconds))
    return tuple(left)


def gather(name: str, some: Sequence[RunSpec], done: Mapping[str, Record]) -> Run:
    """The answers of an experiment, from the records of its seeds."""
    records = [done[spec.name] for spec in some]
    return Run(
        name=name,
        steps=np.array(some[0].experiment.evaluated_at),
        answers={k: np.stack([r.answers[k] for r in records]) for k in records[0].answers},
        seeds=tuple(spec.seed for spec in some),
        failures=tuple(r.failure for r in records if r.failure),
        seconds=sum(r.environment["seconds"] for r in records),
        ends=stage_ends(some[0].experiment),
        units=units_of(some[0].experiment),
    )


def units_of(experiment: AnyExperiment) -> Mapping[str, str]:
    """What the answers are measured in, by the name of the probe."""
    if isinstance(experiment, External):
        return experiment.measured_in
    return {name: probe.unit for name, probe in experiment.probes.items()}


def stage_ends(experiment: AnyExperiment) -> tuple[int, ...]:
    """The step at which each stage ends."""
    stages = [experiment] if isinstance(experiment, External) else experiment.training
    return tuple(accumulate(stage.steps for stage in stages))
