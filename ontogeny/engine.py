"""From experiments to runs: what is missing is grouped by structure, cut into units and run."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import jax
import numpy as np

from .core import Experiment
from .cost import Cost, cost
from .evidence import Run
from .fields import Invalid
from .perform import Lane, Unit
from .store import Record, Store
from .workers import Here, Pool, Processes, Progress


def execute(
    experiments: Mapping[str, Experiment],
    seeds: int = 3,
    *,
    workers: int = 0,
    on: Pool | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> dict[str, Run]:
    """Runs every experiment for seeds 0, 1, …; what the store has is not run again.

    With `workers=0` all happens in this process; otherwise in that many processes, one to a core;
    or on a pool of another kind, like `Cluster()`.
    """
    if seeds < 1:
        raise Invalid(f"seeds must be at least 1, not {seeds}")
    lanes = {
        name: [Lane(name, experiment, seed) for seed in range(seeds)]
        for name, experiment in experiments.items()
    }
    unique = {lane.name: lane for row in lanes.values() for lane in row}
    done = {name: r for name in unique if store and (r := store.load(name))}
    missing = [lane for name, lane in unique.items() if name not in done]
    if missing:
        pool = on or (Processes(workers) if workers else Here())
        units = plan(missing, pool, store)
        with closing(pool.run(units, store, progress or Progress())) as finished:
            for unit, records in finished:
                done |= {lane.name: r for lane, r in zip(unit.lanes, records, strict=True)}
    return {name: _gather(name, row, done) for name, row in lanes.items()}


def recall(
    experiments: Mapping[str, Experiment], seeds: int, store: Store
) -> dict[str, Run] | None:
    """The runs of a store; None if any of them is not there."""
    found = {}
    for name, experiment in experiments.items():
        lanes = [Lane(name, experiment, seed) for seed in range(seeds)]
        done = {lane.name: record for lane in lanes if (record := store.load(lane.name))}
        if len(done) < len(lanes):
            return None
        found[name] = _gather(name, lanes, done)
    return found


def so_far(name: str, experiment: Experiment, seeds: int, store: Store) -> Run | None:
    """What a store has of an experiment, checkpoints included: not a number where a seed has not
    come to a look yet. None if there is nothing."""
    known: dict[int, Mapping[str, np.ndarray]] = {}
    for lane in (Lane(name, experiment, seed) for seed in range(seeds)):
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


# Cutting a group finer shares the work better, but each piece compiles its program anew: some
# seconds, in which a core does about this many operations.
_WORTH_COMPILING = 3e11


def plan(lanes: Sequence[Lane], pool: Pool, store: Store | None = None) -> list[Unit]:
    """Groups lanes by structure and position and cuts the groups; the costliest units first."""
    groups: dict[Any, list[Lane]] = defaultdict(list)
    for lane in lanes:
        checkpoint = store.checkpoint(lane.name) if store else None
        position = checkpoint.position if checkpoint else (0, 0)
        groups[jax.tree.structure(lane.experiment), position].append(lane)
    costs = {key: cost(row[0].experiment) for key, row in groups.items()}
    whole = sum(_left(costs[key], key[1]) * len(row) for key, row in groups.items())
    units: list[tuple[float, Unit]] = []
    for key, row in groups.items():
        each = _left(costs[key], key[1])
        fair = math.ceil(2 * pool.workers * each * len(row) / whole) if whole else 1
        fair = min(fair, max(1, int(each * len(row) / _WORTH_COMPILING)))
        tight = math.ceil(len(row) * costs[key].memory / pool.memory)
        pieces = np.array_split(np.arange(len(row)), min(max(fair, tight), len(row)))
        for turn, piece in enumerate(pieces, start=1):
            members = tuple(row[place] for place in piece)
            # later pieces of a group wait a little, and find its program compiled
            units.append((each * len(members) / turn, Unit(members, key[1], each * len(members))))
    return [unit for _, unit in sorted(units, key=lambda pair: -pair[0])]


def _left(price: Cost, position: tuple[int, int]) -> float:
    stage, look = position
    return sum(price.stages[stage:]) - look * price.looks[stage] if stage < len(price.stages) else 0


def _gather(name: str, lanes: Sequence[Lane], done: Mapping[str, Record]) -> Run:
    records = [done[lane.name] for lane in lanes]
    return Run(
        name=name,
        steps=np.array(lanes[0].experiment.clock),
        answers={k: np.stack([r.answers[k] for r in records]) for k in records[0].answers},
        seeds=tuple(lane.seed for lane in lanes),
        trouble=tuple(r.trouble for r in records if r.trouble),
        seconds=sum(r.environment["seconds"] for r in records),
    )
