"""Changes of a claim's experiments, as one types them: `PATH=VALUE`."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..core.external import AnyExperiment
from ..core.fields import ConfigError, did_you_mean
from ..engine.serialize import edit, paths, value_at

LONGEST = 1000  # characters of a change
FACTOR = re.compile(r"x(\d[\d.]*(?:[eE][-+]?\d+)?)")  # x2: twice what stands there


@dataclass(frozen=True)
class Change:
    """`PATH=VALUE`, or `ARGUMENT.PATH=VALUE` for one of a claim's experiments only. With `*` for a
    part of the path it changes all that fit; `x2` doubles a number."""

    path: str
    value: str

    def __str__(self) -> str:
        return f"{self.path}={self.value}"


def parse_change(text: str) -> Change:
    """Reads `PATH=VALUE`."""
    if len(text) > LONGEST:
        raise ConfigError(
            f"{shortened(text)} has {len(text)} characters: at most {LONGEST} make a change"
        )
    path, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not path or not value:
        raise ConfigError(f"{text!r} is not PATH=VALUE")
    if not text.isprintable():
        raise ConfigError(f"{text!r} has a sign that cannot be typed")
    return Change(path, value)


def shortened(text: str) -> str:
    """A text as an error says it back."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def changed(
    what: str, experiments: Mapping[str, AnyExperiment], changes: Iterable[Change]
) -> dict[str, AnyExperiment]:
    """Experiments after the changes; each must fit at least one of them. `what` they belong to is
    told where none fits."""
    some = list(changes)
    change = changer(what, experiments, [each.path for each in some])
    return change([each.value for each in some])


def changer(
    what: str, experiments: Mapping[str, AnyExperiment], where: Sequence[str]
) -> Callable[[Sequence[str]], dict[str, AnyExperiment]]:
    """What makes experiments with other values at some paths. Where these are is looked up once,
    for thousands of cells of a map."""
    concerned = [places(experiments, path) for path in where]
    for path, found in zip(where, concerned, strict=True):
        if not found:
            known = {p for experiment in experiments.values() for p in paths(experiment)}
            known |= {f"{_argument(name)}.{p}" for name, x in experiments.items() for p in paths(x)}
            raise ConfigError(f"{what} has no field {path!r}: {did_you_mean(path, known)}")

    def change(values: Sequence[str]) -> dict[str, AnyExperiment]:
        result = dict(experiments)
        for found, value in zip(concerned, values, strict=True):
            for name, own in found.items():
                for path in own:
                    result[name] = edited(result[name], path, value)
        return result

    return change


def places(experiments: Mapping[str, AnyExperiment], path: str) -> dict[str, list[str]]:
    """The fields that a path means, by the name of the experiment that has them."""
    argument, _, rest = path.partition(".")
    narrowed = any(_argument(name) == argument for name in experiments)
    wanted = rest if narrowed else path
    found = {
        name: _fitting(experiment, wanted)
        for name, experiment in experiments.items()
        if not narrowed or _argument(name) == argument
    }
    return {name: some for name, some in found.items() if some}


def _argument(name: str) -> str:
    """The argument of the claim that an experiment belongs to: its name's first word."""
    return name.split(" ", maxsplit=1)[0]


def _fitting(experiment: AnyExperiment, path: str) -> list[str]:
    if "*" in path:
        return [each for each in paths(experiment) if _fits(each, path)]
    return [path] if value_at(experiment, path) is not None else []


def _fits(path: str, pattern: str) -> bool:
    """Whether a path is as a pattern says: a `*` stands for what is between two dots."""
    parts, wanted = path.split("."), pattern.split(".")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def edited(experiment: AnyExperiment, path: str, text: str) -> AnyExperiment:
    """An experiment with one value replaced, or multiplied."""
    return edit(experiment, path, _multiplied(value_at(experiment, path), text))


def _multiplied(old: Any, text: str) -> str:
    if isinstance(old, bool) or not isinstance(old, int | float):
        return text
    if not (times := FACTOR.fullmatch(text)):
        return text
    product = old * float(times[1])
    return repr(round(product)) if isinstance(old, int) else f"{product:.6g}"
