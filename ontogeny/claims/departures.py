"""In what the experiments that ran differ from those at the paper's scale, field by field."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.external import AnyExperiment
from ..engine.serialize import paths

LISTED = 6  # of many values or names
Both = tuple[Any, Any]  # ours and the paper's


def departures(
    ours: Mapping[str, AnyExperiment], papers: Mapping[str, AnyExperiment]
) -> Iterator[str]:
    """A line for each part with fields that differ, named as `--set` names them; then what of the
    paper's scale is left out."""
    fields: dict[str, dict[str, list[Both]]] = defaultdict(lambda: defaultdict(list))
    without = []
    for name in (each for each in ours if each in papers):
        mine, theirs = paths(ours[name]), paths(papers[name])
        parts = {_part(path) for path in mine}
        without += [_part(path) for path in theirs if _part(path) not in parts]
        for path, value in mine.items():
            if path in theirs and value != theirs[path]:
                fields[_part(path)][path.rpartition(".")[2]].append((value, theirs[path]))
    told: dict[str, list[str]] = defaultdict(list)
    for part, changed in fields.items():
        told[_told(changed)].append(part)
    for text, alike in told.items():
        yield f"{_listed(alike)}: {text}" if alike != [""] else text
    if without:
        yield f"without {_listed(without)}"
    if left_out := _missing(papers, ours):
        yield f"experiments left out: {left_out}"
    if others := _missing(ours, papers):
        yield f"experiments of our own: {others}"


def _told(fields: Mapping[str, list[Both]]) -> str:
    """Fields with our values, and the paper's behind them."""
    ours = {name: _listed(value for value, _ in both) for name, both in fields.items()}
    papers = {name: _listed(value for _, value in both) for name, both in fields.items()}
    where = ["at the paper's scale ", *[""] * len(fields)]
    return ", ".join(
        f"{name} {ours[name]} ({before}{papers[name]})"
        for name, before in zip(fields, where, strict=False)
    )


def _missing(wanted: Iterable[str], there: Iterable[str]) -> str:
    """The values of a sweep that are missing, each once: `64, 128 of by_width`."""
    known = {start for name in there for start in _starts(name)}
    values: dict[str, list[str]] = defaultdict(list)
    for name in wanted:
        first = next((start for start in _starts(name) if start not in known), None)
        if first:
            sweep, _, value = first.rpartition(" ")
            values[sweep].append(value)
    alike: dict[str, list[str]] = defaultdict(list)
    for sweep, some in values.items():
        alike[_listed(some)].append(sweep)
    return "; ".join(
        f"{some} of {_listed(sweeps)}" if sweeps != [""] else some for some, sweeps in alike.items()
    )


def _starts(name: str) -> Iterator[str]:
    """`a b c` starts with `a`, `a b` and `a b c`."""
    keys = name.split(" ")
    return (" ".join(keys[: end + 1]) for end in range(len(keys)))


def _part(path: str) -> str:
    """The part of an experiment that a field belongs to."""
    return path.rpartition(".")[0]


def _listed(some: Iterable[Any]) -> str:
    """What there is, each once; of many numbers the range, of many names the first."""
    each = list(dict.fromkeys(some))
    said = [_said(value) for value in each]
    if len(each) <= LISTED:
        return ", ".join(said)
    if all(type(x) in (int, float) for x in each):
        return f"{said[each.index(min(each))]} to {said[each.index(max(each))]}"
    return f"{', '.join(said[:LISTED])} and {len(each) - LISTED} more"


def _said(value: Any) -> str:
    if type(value) is float:
        return f"{value:g}"
    return f"{value:,}" if type(value) is int else str(value)
