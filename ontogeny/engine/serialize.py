"""Experiments as text: spelled out in full, named by a digest, edited by path.

The digest covers every field, defaults included, and the code of every component that takes part
(comments and docstrings aside), so that a stored answer is never that of another program.
"""

import copy
import dataclasses
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import jax

from ..core import evaluations
from ..core.evaluations import Log
from ..core.external import AnyExperiment, External
from ..core.fields import Component, ConfigError, did_you_mean
from ..core.types import Experiment
from .modules import PACKAGE, known_as, loaded, spec_of
from .sources import Code, code_of

Serialized = dict[str, Any]
Edited = TypeVar("Edited", bound=Component)
PLAIN = frozenset({type(None), bool, int, float, str})


def serialize(thing: Any) -> Any:
    """A component as JSON: what it is, and every field."""
    if type(thing) in PLAIN:  # most are, and to ask for an abstract class takes ten times as long
        return thing
    match thing:
        case Component():
            fields = {name: serialize(value) for name, value in _fields(thing).items()}
            home = known_as(type(thing).__module__)
            return {"is": f"{home}.{type(thing).__qualname__}", **fields}
        case dict():
            return {str(name): serialize(value) for name, value in thing.items()}
        case tuple() | list():
            return [serialize(value) for value in thing]
        case bool() | int() | float() | str():
            return thing
    raise ConfigError(f"cannot serialize a {type(thing).__name__}")


def _fields(thing: Component, given: bool = False) -> dict[str, Any]:
    """Every field of a component; or those that one gives it."""
    return {name: object.__getattribute__(thing, name) for name in _names(type(thing), given)}


@cache
def _names(kind: type[Component], given: bool) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.init or not given)


def deserialize(known: Any) -> Any:
    """What was serialized. Of other people's code, only what is imported already is made: no text
    decides which modules run."""
    match known:
        case {"is": str(name)}:
            kind = _kind(name)
            fixed = {"is", *_names(kind, False)} - {*_names(kind, True)}  # not the constructor's
            return kind(**{k: deserialize(v) for k, v in known.items() if k not in fixed})
        case dict():
            return {name: deserialize(value) for name, value in known.items()}
        case list():
            return tuple(map(deserialize, known))
    return known


def _kind(name: str) -> type[Component]:
    """A class of components, by the name of its module and its own."""
    home, _, own = name.rpartition(".")
    while home and not loaded(home):
        if home.partition(".")[0] == PACKAGE and spec_of(home):
            import_module(home)
        else:
            home, _, outer = home.rpartition(".")
            own = f"{outer}.{own}"
    if not home:
        raise ConfigError(
            f"{name} is not known here: import the module that it is defined in first"
        )
    kind: Any = loaded(home)
    for part in own.split("."):
        kind = getattr(kind, part, None)
    if not (isinstance(kind, type) and issubclass(kind, Component)):
        raise ConfigError(f"{name} is no component: {home} has none of this name")
    return kind


def record(experiment: AnyExperiment) -> Serialized:
    """All that decides what an experiment answers: its fields, its code and what it reads."""
    code = code_behind(experiment)
    known = {"experiment": serialize(experiment), "sources": dict(sorted(code.modules.items()))}
    known |= {"versions": dict(sorted(code.versions.items()))}
    read = experiment.reads if isinstance(experiment, External) else ()
    return known | ({"files": {path.name: _contents(path) for path in read}} if read else {})


def _contents(path: Path) -> str:
    """A hash of a file as it is now."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:20]
    except OSError:  # whoever reads it will say so
        return "missing"


def digest(serialized: Serialized) -> str:
    """The name of an experiment, from its record: the same text, the same name."""
    text = json.dumps(serialized, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


# --------------------------------------------------------------------------- the code behind it


def code_behind(experiment: AnyExperiment) -> Code:
    """The code that an experiment's answers depend on, as it is loaded now."""
    structure = jax.tree.structure(experiment)
    known = _KNOWN.get(structure)
    if known is None or not known.holds:
        parts = list(components_of(experiment))
        used = [name for part in parts for name in part.uses]
        known = _KNOWN[structure] = code_of(map(type, parts), used)
        _trace_anew(known)
    return known


_KNOWN: dict[Any, Code] = {}  # floats are of no concern here
_TRACED: dict[str, str] = {}  # what this process was last asked to run, by name


def _trace_anew(code: Code) -> None:
    """Has jax forget what it traced if some code is not what it was: it knows a component by its
    class, and would go on with what a function did before it was typed again or reloaded."""
    changed = any(_TRACED.get(name, text) != text for name, text in code.modules.items())
    _TRACED.update(code.modules)
    if changed:
        jax.clear_caches()


def components_of(thing: Any) -> Iterator[Component]:
    """A component and all that it is made of."""
    if isinstance(thing, Component):
        yield thing
        children = list(_fields(thing).values())
    elif isinstance(thing, dict):
        children = list(thing.values())
    else:
        children = list(thing) if isinstance(thing, tuple | list) else []
    for child in children:
        yield from components_of(child)


# ---------------------------------------------------------------------------------- edit by path


def paths(thing: Any) -> dict[str, Any]:
    """Every value one may set, by its path: `task.ratio`, `training.0.learning_rate`."""
    return {path: value for path, value, _ in settings(thing)}


def settings(thing: Any, prefix: str = "", owner: str = "") -> Iterator[tuple[str, Any, str]]:
    """Every value one may set: its path, itself, and the name of the class that has it."""
    children = _children(thing)
    if children is None:
        if thing is not None:
            yield prefix, thing, owner
        return
    own = type(thing).__name__ if isinstance(thing, Component) else ""
    for name, value in children.items():
        yield from settings(value, f"{prefix}.{name}" if prefix else name, own)


def value_at(thing: Any, path: str) -> Any:
    """The value that one may set at a path; None if there is none."""
    for name in path.split("."):
        thing = (_children(thing) or {}).get(name)
    return thing if _children(thing) is None else None


def _children(thing: Any) -> dict[str, Any] | None:
    if type(thing) in PLAIN:
        return None
    match thing:
        case Log():  # typed as one value
            return None
        case Component():
            return _fields(thing, given=True)
        case dict():
            return thing
        case (Component(), *_):
            return {str(place): value for place, value in enumerate(thing)}
    return None


def edit(experiment: Edited, path: str, text: str) -> Edited:
    """The experiment with the value at a path replaced, checked as if written by hand."""
    old = value_at(experiment, path)
    if old is None:
        hint = did_you_mean(path, paths(experiment))
        raise ConfigError(f"no field {path!r} in this experiment: {hint}")
    edited: Edited = _replace(experiment, path.split("."), _parse(text, old, path))
    return edited


def _replace(thing: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    head, *rest = path
    match thing:
        case dict():
            return thing | {head: _replace(thing[head], rest, value)}
        case tuple():
            place = int(head)
            return (*thing[:place], _replace(thing[place], rest, value), *thing[place + 1 :])
    part = _replace(getattr(thing, head), rest, value)
    if not isinstance(value, float):
        return dataclasses.replace(thing, **{head: part})
    # A float concerns its own component alone: the experiment need not be checked again, which
    # is ten times as quick, and counts in a sweep of thousands.
    changed = copy.copy(thing)
    object.__setattr__(changed, head, part)
    if not isinstance(changed, Experiment):
        changed.__check_init__()
    return changed


def _parse(text: str, old: Any, path: str) -> Any:
    """Text read as the kind of value that stands there now."""
    if path.rpartition(".")[2] == "evaluations":
        return evaluations.parse(text)
    kind = type(old)
    try:
        match old:
            case bool():
                return {"true": True, "false": False}[text.lower()]
            case int():
                return int(text)
            case float():
                return float(text)
            case tuple():
                return tuple(text.split("+"))
    except (ValueError, KeyError):
        words = {bool: "true or false", int: "a whole number", float: "a number"}
        raise ConfigError(f"{path}={text}: expected {words[kind]}, like {old}") from None
    return text
