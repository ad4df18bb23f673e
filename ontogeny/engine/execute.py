"""From experiments to runs: what is missing is grouped by structure, cut into units and run."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import accumulate
from typing import Any

import jax
import numpy as np

from ..core.errors import told
from ..core.external import AnyExperiment, External
from ..core.fields import ConfigError
from ..core.run import Run
from .batch import Lane, lanes
from .cost import Cost, cost, seconds_by_evaluation
from .machine import memory
from .pools import Here, Processes
from .program import side_by_side
from .schedule import WORTH_SENDING, Failures, Pool, Progress
from .store import Record, Store, log
from .unit import Unit


def execute(
    experiments: Mapping[str, AnyExperiment],
    seeds: int | Mapping[str, int] = 3,
    *,
    workers: int = 0,
    on: Pool | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    failures: Failures | None = None,
) -> Mapping[str, Run]:
    """Runs every experiment for seeds 0, 1, …; what the store has is not run again.

    How many seeds: the same for all, or for each by its name.
    With `workers=0` all happens in this process; otherwise in that many processes, one to a core;
    or on a pool of another kind, like `Cluster()`. An experiment that fails ends it all; or, if
    there are `failures` to note it in, is left out of the runs.
    """
    numbers = dict.fromkeys(experiments, seeds) if isinstance(seeds, int) else seeds
    if (fewest := min(numbers.values(), default=1)) < 1:
        raise ConfigError(f"seeds must be at least 1, not {fewest}")
    if sum(numbers.values()) > MOST_RUNS:
        asked = f"{max(numbers.values())} seeds of {len(experiments)} experiments"
        raise ConfigError(f"{asked} are more than {MOST_RUNS:,} runs: too many for one judgement")
    rows = {name: lanes(name, each, range(numbers[name])) for name, each in experiments.items()}
    unique = {lane.name: lane for row in rows.values() for lane in row}
    missing, watch = [], progress or Progress()
    for lane in unique.values():
        if found := store.load(lane.name) if store else None:
            watch.answered(lane, found)
        else:
            missing.append(lane)
    done: dict[str, Record] = {}
    pool = on or (Processes(workers) if workers else Here())
    for keeper, some in _by_keeper(missing, store).items():
        for lane, record in _run(some, pool, keeper, watch, failures):
            watch.answered(lane, record)
            if not (keeper and keeper.has(lane.name)):  # a full disk, or none
                done[lane.name] = record
    kept = {name: row for name, row in rows.items() if name not in (failures or ())}
    return _Runs(kept, done, store)


def _by_keeper(missing: Sequence[Lane], store: Store | None) -> dict[Store | None, list[Lane]]:
    """What is to be run, by where it may be kept: answers of unknown code nowhere."""
    groups: dict[Store | None, list[Lane]] = defaultdict(list)
    for lane in missing:
        groups[None if lane.unknown else store].append(lane)
    unkept = {text: None for lane in groups[None] for text in lane.unknown} if store else {}
    if unkept:
        log.warning("not kept, and run each time: the code of %s cannot be read", ", ".join(unkept))
    return {keeper: some for keeper, some in groups.items() if some}


def _run(
    missing: Sequence[Lane],
    pool: Pool,
    store: Store | None,
    progress: Progress,
    failures: Failures | None = None,
) -> Iterator[tuple[Lane, Record]]:
    pool.prepare()
    if failures is not None:
        missing = [lane for lane in missing if _can_be_planned(lane, failures)]
    units = plan(missing, pool, store, progress)
    with closing(pool.run(units, store, progress, failures)) as finished:
        for unit, records in finished:
            yield from zip(unit.lanes, records, strict=True)


def _can_be_planned(lane: Lane, failures: Failures) -> bool:
    """Whether its cost can be counted; if not, that is noted."""
    if lane.label not in failures:
        try:
            cost(lane.experiment)
        except Exception as error:
            failures[lane.label] = str(error) if isinstance(error, ConfigError) else told(error)
    return lane.label not in failures


class _Runs(Mapping[str, Run]):
    """Runs by name. What a store has is read when it is asked for, so that ten thousand runs take
    no more memory than one."""

    def __init__(
        self, rows: dict[str, list[Lane]], done: dict[str, Record], store: Store | None
    ) -> None:
        self.rows, self.done, self.store = rows, done, store

    def __getitem__(self, name: str) -> Run:
        row = self.rows[name]
        found = {lane.name: self.done.get(lane.name) or self._load(lane.name) for lane in row}
        gone = [lane for lane in row if not found[lane.name]]  # damaged since, and set aside
        if gone:
            found |= {lane.name: done for lane, done in _run(gone, Here(), self.store, Progress())}
        return _gather(name, row, {known: record for known, record in found.items() if record})

    def _load(self, name: str) -> Record | None:
        return self.store.load(name) if self.store else None

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def recall(
    experiments: Mapping[str, AnyExperiment], seeds: int, store: Store
) -> dict[str, Run] | None:
    """The runs of a store; None if any of them is not there."""
    found = {}
    for name, experiment in experiments.items():
        row = lanes(name, experiment, range(seeds))
        done = {lane.name: record for lane in row if (record := store.load(lane.name))}
        if len(done) < len(row):
            return None
        found[name] = _gather(name, row, done)
    return found


def so_far(name: str, experiment: AnyExperiment, seeds: int, store: Store) -> Run | None:
    """What a store has of an experiment, checkpoints included: not a number where a seed has not
    come to a look yet. None if there is nothing."""
    known: dict[int, Mapping[str, np.ndarray]] = {}
    for lane in lanes(name, experiment, range(seeds)):
        if found := store.load(lane.name) or store.checkpoint(lane.name):
            known[lane.seed] = found.answers
    if not known:
        return None
    evaluations = max(len(values) for answers in known.values() for values in answers.values())
    answers = {
        probe: np.stack([_lengthened(each[probe], evaluations) for each in known.values()])
        for probe in next(iter(known.values()))
    }
    clock = np.array(experiment.evaluated_at[:evaluations])
    return Run(name, clock, answers, tuple(known), ends=stage_ends(experiment))


def _lengthened(values: np.ndarray, evaluations: int) -> np.ndarray:
    missing = np.full((evaluations - len(values), *values.shape[1:]), np.nan, values.dtype)
    return np.concatenate([values, missing])


MOST_RUNS = 200_000  # that are planned together

# The most that a unit holds, in lanes and in bytes: they are saved together, and leave together.
_LANES = 256
_BYTES = 2**26


def plan(
    missing: Sequence[Lane],
    pool: Pool,
    store: Store | None = None,
    progress: Progress | None = None,
) -> list[Unit]:
    """Groups lanes by structure and position and cuts the groups; the costliest units first."""
    groups: dict[Any, list[Lane]] = defaultdict(list)
    for lane in missing:
        checkpoint = store.checkpoint(lane.name) if store else None
        position = checkpoint.position if checkpoint else (0, 0)
        groups[jax.tree.structure(lane.experiment), position].append(lane)
    costs: dict[Any, Cost] = {}
    for key, row in groups.items():
        if progress:
            progress.planning(len(costs), len(groups))
        costs[key] = cost(row[0].experiment)
    for key, row in groups.items():
        if costs[key].kept > max(pool.memory, 2 * memory()):
            needed = f"{costs[key].kept / 2**30:.3g} GiB"
            raise ConfigError(f"{row[0].label}: its parameters and batches alone take {needed}")
    ahead = {key: _ahead(row[0].experiment, key[1]) for key, row in groups.items()}
    lefts = {key: sum(often * each for often, each in some) for key, some in ahead.items()}
    whole = sum(lefts[key] * len(row) for key, row in groups.items())
    units: list[tuple[float, Unit]] = []
    for key, row in groups.items():
        each = lefts[key]
        fair = max(1, math.ceil(pool.workers * each * len(row) / whole)) if whole else 1
        fair = min(fair, max(1, int(each * len(row) / WORTH_SENDING)), len(row))
        room = max(1, int(pool.memory / costs[key].memory))
        widest = min(math.ceil(len(row) / fair), room, _LANES)
        side = side_by_side(widest, costs[key].flops)
        rows = [tuple(row[n : n + side]) for n in range(0, len(row), side)]
        few = math.ceil(len(row) * max(1 / _LANES, costs[key].kept / _BYTES))
        alone = isinstance(row[0].experiment, External)  # each holds a model: one at a time
        pieces = len(rows) if alone else min(max(fair, few), len(rows))
        for turn, piece in enumerate(np.array_split(np.arange(len(rows)), pieces)):
            members = tuple(lane for place in piece for lane in rows[place])
            # later pieces of a group wait a little, and find its programs compiled
            work, after = each * len(members), min(turn, pool.workers)
            first = turn if turn < pool.workers else 0
            unit = Unit(members, key[1], work, side, first, tuple(ahead[key]))
            units.append((work / (after + 1), unit))
    return [unit for _, unit in sorted(units, key=lambda pair: -pair[0])]


def _ahead(experiment: AnyExperiment, position: tuple[int, int]) -> list[tuple[int, float]]:
    """The course of an experiment from a position on."""
    whole, (stage, look) = seconds_by_evaluation(experiment), position
    if position == (0, 0):
        return whole
    (often, each), *later = whole[1 + stage :]
    return [(often - look, each), *later]


def _gather(name: str, row: Sequence[Lane], done: Mapping[str, Record]) -> Run:
    records = [done[lane.name] for lane in row]
    return Run(
        name=name,
        steps=np.array(row[0].experiment.evaluated_at),
        answers={k: np.stack([r.answers[k] for r in records]) for k in records[0].answers},
        seeds=tuple(lane.seed for lane in row),
        failures=tuple(r.failure for r in records if r.failure),
        seconds=sum(r.environment["seconds"] for r in records),
        ends=stage_ends(row[0].experiment),
    )


def stage_ends(experiment: AnyExperiment) -> tuple[int, ...]:
    """The step at which each stage ends."""
    stages = [experiment] if isinstance(experiment, External) else experiment.training
    return tuple(accumulate(stage.steps for stage in stages))
