"""From experiments to runs: what is missing is grouped by structure, cut into units and run."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import jax
import numpy as np

from .cost import Cost, cost
from .crew import WORTH_SENDING, Pool, Progress
from .evidence import Run
from .external import AnyExperiment, External
from .fields import Invalid
from .lift import abreast
from .perform import Unit
from .row import Lane, lanes
from .store import Record, Store
from .workers import Here, Processes


def execute(
    experiments: Mapping[str, AnyExperiment],
    seeds: int = 3,
    *,
    workers: int = 0,
    on: Pool | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Mapping[str, Run]:
    """Runs every experiment for seeds 0, 1, …; what the store has is not run again.

    With `workers=0` all happens in this process; otherwise in that many processes, one to a core;
    or on a pool of another kind, like `Cluster()`.
    """
    if seeds < 1:
        raise Invalid(f"seeds must be at least 1, not {seeds}")
    rows = {name: lanes(name, each, range(seeds)) for name, each in experiments.items()}
    unique = {lane.name: lane for row in rows.values() for lane in row}
    missing = [lane for name, lane in unique.items() if not (store and store.load(name))]
    done: dict[str, Record] = {}
    if missing:
        pool = on or (Processes(workers) if workers else Here())
        for lane, record in _run(missing, pool, store, progress or Progress()):
            if not (store and store.has(lane.name)):  # a full disk, or none
                done[lane.name] = record
    return _Runs(rows, done, store)


def _run(
    missing: Sequence[Lane], pool: Pool, store: Store | None, progress: Progress
) -> Iterator[tuple[Lane, Record]]:
    pool.prepare()
    with closing(pool.run(plan(missing, pool, store), store, progress)) as finished:
        for unit, records in finished:
            yield from zip(unit.lanes, records, strict=True)


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
    looks = max(len(values) for answers in known.values() for values in answers.values())
    answers = {
        probe: np.stack([_lengthened(each[probe], looks) for each in known.values()])
        for probe in next(iter(known.values()))
    }
    return Run(name, np.array(experiment.clock[:looks]), answers, tuple(known))


def _lengthened(values: np.ndarray, looks: int) -> np.ndarray:
    missing = np.full((looks - len(values), *values.shape[1:]), np.nan, values.dtype)
    return np.concatenate([values, missing])


# The most that a unit holds, in lanes and in bytes: they are saved together, and leave together.
_LANES = 256
_BYTES = 2**26


def plan(missing: Sequence[Lane], pool: Pool, store: Store | None = None) -> list[Unit]:
    """Groups lanes by structure and position and cuts the groups; the costliest units first."""
    groups: dict[Any, list[Lane]] = defaultdict(list)
    for lane in missing:
        checkpoint = store.checkpoint(lane.name) if store else None
        position = checkpoint.position if checkpoint else (0, 0)
        groups[jax.tree.structure(lane.experiment), position].append(lane)
    costs = {key: cost(row[0].experiment) for key, row in groups.items()}
    whole = sum(_left(costs[key], key[1]) * len(row) for key, row in groups.items())
    units: list[tuple[float, Unit]] = []
    for key, row in groups.items():
        each = _left(costs[key], key[1])
        fair = math.ceil(pool.workers * each * len(row) / whole) if whole else 1
        fair = min(fair, max(1, int(each * len(row) / WORTH_SENDING)), len(row))
        room = max(1, int(pool.memory / costs[key].memory))
        widest = min(math.ceil(len(row) / fair), room, _LANES)
        side = abreast(widest, max(costs[key].steps, default=0.0))
        rows = [tuple(row[n : n + side]) for n in range(0, len(row), side)]
        few = math.ceil(len(row) * max(1 / _LANES, costs[key].kept / _BYTES))
        alone = isinstance(row[0].experiment, External)  # each holds a model: one at a time
        pieces = len(rows) if alone else min(max(fair, few), len(rows))
        for turn, piece in enumerate(np.array_split(np.arange(len(rows)), pieces)):
            members = tuple(lane for place in piece for lane in rows[place])
            # later pieces of a group wait a little, and find its programs compiled
            work, after = each * len(members), min(turn, pool.workers)
            unit = Unit(members, key[1], work, side, turn if turn < pool.workers else 0)
            units.append((work / (after + 1), unit))
    return [unit for _, unit in sorted(units, key=lambda pair: -pair[0])]


def _left(price: Cost, position: tuple[int, int]) -> float:
    stage, look = position
    return sum(price.stages[stage:]) - look * price.looks[stage] if stage < len(price.stages) else 0


def _gather(name: str, row: Sequence[Lane], done: Mapping[str, Record]) -> Run:
    records = [done[lane.name] for lane in row]
    return Run(
        name=name,
        steps=np.array(row[0].experiment.clock),
        answers={k: np.stack([r.answers[k] for r in records]) for k in records[0].answers},
        seeds=tuple(lane.seed for lane in row),
        trouble=tuple(r.trouble for r in records if r.trouble),
        seconds=sum(r.environment["seconds"] for r in records),
    )
