"""Tidy tables: a row per number, with everything that identifies it."""

import csv
import uuid
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..claims.status import Standing
from ..core.fields import ConfigError
from ..core.run import Run
from ..engine.environment import missing
from .tables import read

Row = dict[str, Any]
BATCH = 50_000  # rows
INNER = ("index", "column")  # the axes of an answer, after its seed and step


def evidence(standing: Standing) -> Iterator[Row]:
    """A row per piece of evidence."""
    verdict = standing.verdict
    about = {key: verdict[key] for key in ("claim", "paper", "where", "scale", "outcome")}
    # a row has a number called `paper`, too
    about["source"] = about.pop("paper")
    for item in read(verdict):
        said: Row = {"evidence": item.text, "weighed": str(item.outcome), "note": item.note}
        said |= {"quantity": str(item.quantity), "relation": str(item.relation)}
        said |= {"other": str(item.other) if item.other else None, "unit": item.quantity.unit}
        numbers = ("bound", "tolerance", "ours", "low", "high", "n", "held", "paper", "agreement")
        said |= {name: getattr(item, name) for name in numbers}
        yield about | said | {"series": item.series, "x": item.x}


def answers(runs: Mapping[str, Run], last: bool = False, most: int = 2) -> Iterator[Row]:
    """A row per number that a probe measured: over training, or at the end; of answers with at most
    so many axes of their own."""
    for name, run in runs.items():
        for probe, values in run.answers.items():
            if values.ndim - 2 > most:
                continue
            first = values.shape[1] - 1 if last else 0
            for indices in np.ndindex(*values[:, first:].shape):
                seed, evaluation, *inner = indices
                own = dict(zip(INNER, inner, strict=False))
                about = {"experiment": name, "probe": probe, "seed": run.seeds[seed]}
                step = int(run.steps[first + evaluation])
                value = float(values[seed, first + evaluation, *inner])
                yield about | {"step": step, "index": None, "column": None, "value": value} | own


def write(rows: Iterable[Row], path: Path) -> int:
    """Writes rows to a CSV or Parquet file, atomically; returns how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # of its own name: two exports at once do not write into one file
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        count = (_csv if path.suffix == ".csv" else _parquet)(_batches(rows), aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return count


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    rows = iter(rows)
    while batch := list(islice(rows, BATCH)):
        yield batch


def _csv(batches: Iterator[list[Row]], path: Path) -> int:
    count = 0
    with path.open("w", newline="") as file:
        for batch in batches:
            writer = csv.DictWriter(file, list(batch[0]), lineterminator="\n")
            if not count:
                writer.writeheader()
            writer.writerows(batch)
            count += len(batch)
    return count


def _parquet(batches: Iterator[list[Row]], path: Path) -> int:
    if lacking := missing("export"):
        raise ConfigError(f"a Parquet file: {lacking}")
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    count, writer = 0, None
    for batch in batches:
        table = pyarrow.Table.from_pylist(batch, writer and writer.schema)
        # one schema for all batches: that of the first, empty columns made numbers
        writer = writer or ParquetWriter(path, _typed(pyarrow, table.schema))
        writer.write_table(pyarrow.Table.from_pylist(batch, writer.schema))
        count += len(batch)
    if writer:
        writer.close()
    else:
        path.touch()
    return count


def _typed(pyarrow: Any, schema: Any) -> Any:
    """A column that is empty in the first batch may have numbers in later ones."""
    kinds = [
        pyarrow.field(f.name, pyarrow.float64() if pyarrow.types.is_null(f.type) else f.type)
        for f in schema
    ]
    return pyarrow.schema(kinds)
