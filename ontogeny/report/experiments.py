"""Experiments in few lines: one in full, the others by what is different, in words that
`--set` and `--sweep` take."""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.external import AnyExperiment
from ..engine.serialize import serialize


class Line(NamedTuple):
    """What a line is about, and what it says."""

    label: str
    text: str


class _Part(NamedTuple):
    """A component of an experiment: its class, and its fields in words."""

    kind: str
    fields: dict[str, str]

    @property
    def text(self) -> str:
        return "  ".join([self.kind, *(f"{name}={value}" for name, value in self.fields.items())])


def in_full(experiment: AnyExperiment) -> list[Line]:
    """A line per component: its class, and all of its fields."""
    return [Line(path, part.text) for path, part in _parts(experiment).items()]


def differences(experiments: Mapping[str, AnyExperiment]) -> list[Line]:
    """In what each further experiment differs from the first; those of one sweep share a line."""
    known = {name: _parts(experiment) for name, experiment in experiments.items()}
    first, *others = known
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    changed: dict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    for name in others:
        whole, paths = _compared(known[first], known[name])
        key = (name.rpartition(" ")[0] or name, *whole)
        groups[key].append(name)
        changed[key] |= dict.fromkeys(paths)
    lines = []
    for key, names in groups.items():
        sweep, *whole = key
        last = _some([name.rpartition(" ")[2] for name in names])
        label = names[0] if len(names) == 1 else f"{sweep} {last}"
        fields = [
            _field(path, [_value(known[name], path) for name in names]) for path in changed[key]
        ]
        lines.append(Line(label, "\n".join([*fields, *whole]) or "the same"))
    return lines


def _field(path: str, values: Sequence[str]) -> str:
    """A field as `--set` takes it, or its values as `--sweep` does."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1 or len(distinct) == len(values):
        return f"{path}={_some(distinct)}"
    return f"{path}={' or '.join(distinct)}"


def _some(values: Sequence[str]) -> str:
    """Values as `--sweep` takes them; of many the first and the last."""
    first, last = values[:_FIRST], values[-1:]
    return ",".join(values if len(values) <= _FIRST + 2 else [*first, "…", *last])


_FIRST = 4


def _compared(first: dict[str, _Part], other: dict[str, _Part]) -> tuple[list[str], list[str]]:
    """What is different as a whole, in words, and the paths of fields that have another value."""
    whole, paths, more = [], [], []
    for path, part in other.items():
        known = first.get(path)
        if known is not None and known.kind == part.kind:
            paths += [
                f"{path}.{name}".removeprefix(".")
                for name, value in part.fields.items()
                if value != known.fields.get(name)
            ]
        elif path.startswith(_PROBES):  # what more is measured is told in short
            more.append(path)
        else:
            whole.append(f"{path}: {part.text}".removeprefix(": "))
    without = [path for path in first if path not in other]
    return [*whole, *_listed("with", more), *_listed("without", without)], paths


_PROBES = "probes."


def _listed(word: str, paths: Iterable[str]) -> list[str]:
    """Probes, and whatever else, that there are or are not."""
    paths = list(paths)
    probes = [path.removeprefix(_PROBES) for path in paths if path.startswith(_PROBES)]
    others = [path for path in paths if not path.startswith(_PROBES)]
    told = [*others, *([f"probes {'; '.join(probes)}"] if probes else [])]
    return [f"{word} {', '.join(told)}"] if told else []


def _value(parts: dict[str, _Part], path: str) -> str:
    part, _, name = path.rpartition(".")
    return parts[part].fields[name]


def _parts(experiment: AnyExperiment) -> dict[str, _Part]:
    """Its components by their paths; the experiment's own fields come last."""
    found: dict[str, _Part] = {}
    _collect(serialize(experiment), "", found)
    own = found.pop("")
    for name, value in own.fields.items():
        if own.kind == "Experiment":
            found[name] = _Part(value, {})
    return found if own.kind == "Experiment" else {"": own, **found}


def _collect(serialized: dict[str, Any], path: str, found: dict[str, _Part]) -> None:
    fields: dict[str, str] = {}
    found[path] = _Part(serialized["is"].rpartition(".")[2], fields)
    for name, value in serialized.items():
        inside = _components(value)
        for key, part in inside.items():
            _collect(part, ".".join(filter(None, [path, name, key])), found)
        if name != "is" and value is not None and not inside:
            fields[name] = _plain(value)


def _components(value: Any) -> dict[str, dict[str, Any]]:
    """The components in a field, by what comes after its name in a path."""
    if isinstance(value, dict) and "is" in value:
        return {} if value["is"].endswith(".Log") else {"": value}
    if isinstance(value, list):
        value = {str(place): each for place, each in enumerate(value)}
    if isinstance(value, dict) and value and all(isinstance(each, dict) for each in value.values()):
        return value
    return {}


def _plain(value: Any) -> str:
    """A value as one types it."""
    match value:
        case dict():  # log-spaced evaluations
            return shlex.quote(f"log {value['points']}")
        case bool():
            return str(value).lower()
        case list():
            return shlex.quote("+".join(map(str, value)))
    return shlex.quote(str(value))
