"""Experiments as text: spelled out in full, named by a digest, edited by path.

The digest covers every field, defaults included, and the code of every component that takes part
(comments and docstrings aside), so that a stored answer is never that of another program.
"""

import ast
import copy
import dataclasses
import hashlib
import inspect
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import jax

from .core import Experiment
from .external import AnyExperiment, External
from .fields import Component, Invalid, did_you_mean

Spelled = dict[str, Any]
Edited = TypeVar("Edited", bound=Component)


def spell(thing: Any) -> Any:
    """A component as JSON: what it is, and every field."""
    match thing:
        case Component():
            fields = {name: spell(value) for name, value in _fields(thing).items()}
            return {"is": f"{type(thing).__module__}.{type(thing).__qualname__}", **fields}
        case dict():
            return {str(name): spell(value) for name, value in thing.items()}
        case tuple() | list():
            return [spell(value) for value in thing]
        case None | bool() | int() | float() | str():
            return thing
    raise Invalid(f"cannot spell out a {type(thing).__name__}")


def _fields(thing: Component, given: bool = False) -> dict[str, Any]:
    """Every field of a component; or those that one gives it."""
    return {name: object.__getattribute__(thing, name) for name in _names(type(thing), given)}


@cache
def _names(kind: type[Component], given: bool) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.init or not given)


def record(experiment: AnyExperiment) -> Spelled:
    """All that decides what an experiment answers: its fields, its code and what it reads."""
    known = {"experiment": spell(experiment), "sources": sources(experiment)}
    read = experiment.reads if isinstance(experiment, External) else ()
    return known | ({"files": {path.name: _contents(path) for path in read}} if read else {})


def _contents(path: Path) -> str:
    """A hash of a file as it is now."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:20]
    except OSError:  # whoever reads it will say so
        return "missing"


def digest(spelled: Spelled) -> str:
    """The name of an experiment, from its record: the same text, the same name."""
    text = json.dumps(spelled, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


# --------------------------------------------------------------------------- the code behind it


def sources(experiment: AnyExperiment) -> dict[str, str]:
    """A hash of each module that the experiment's components are made of, imports included."""
    structure = jax.tree.structure(experiment)
    if structure not in _KNOWN:
        _KNOWN[structure] = _sources(experiment)
    return _KNOWN[structure]


_KNOWN: dict[Any, dict[str, str]] = {}  # floats are of no concern here


def _sources(experiment: AnyExperiment) -> dict[str, str]:
    waiting = [cls.__module__ for part in _components(experiment) for cls in type(part).__mro__]
    waiting.append("ontogeny.lane")
    homes = {name.partition(".")[0] for name in waiting} - _FOREIGN
    found: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name not in found and name.partition(".")[0] in homes:
            found[name] = _hash(name)
            waiting += _imports(name)
    return dict(sorted(found.items()))


# What a component may inherit from or be written with; their versions are in the environment.
_FOREIGN = {"builtins", "abc", "equinox", "jax", "jaxlib", "numpy", "optax", "typing"}


def _components(thing: Any) -> Iterator[Component]:
    if isinstance(thing, Component):
        yield thing
        children = list(_fields(thing).values())
    elif isinstance(thing, dict):
        children = list(thing.values())
    else:
        children = list(thing) if isinstance(thing, tuple | list) else []
    for child in children:
        yield from _components(child)


@cache
def _imports(name: str) -> tuple[str, ...]:
    module = sys.modules.get(name) or __import__(name, fromlist=["*"])
    return tuple(
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") or ""
        for value in vars(module).values()
        if isinstance(value, ModuleType) or callable(value)
    )


@cache
def _hash(name: str) -> str:
    module = sys.modules.get(name) or __import__(name, fromlist=["*"])
    try:
        text = inspect.getsource(module)
    except (OSError, TypeError):  # typed at a prompt: there is no file to read
        return "unknown"
    return hashlib.sha256(ast.dump(_bare(ast.parse(text))).encode()).hexdigest()[:20]


def _bare(tree: ast.Module) -> ast.Module:
    """The code without its docstrings: words may improve without a rerun."""
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=[ast.Expr(value=ast.Constant(value=str())), *rest]):
                node.body = rest
            case (
                ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str())), *rest])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str())), *rest])
            ):
                node.body = rest or [ast.Pass()]
    return tree


# ---------------------------------------------------------------------------------- edit by path


def paths(thing: Any, prefix: str = "") -> dict[str, Any]:
    """Every value one may set, by its path: `task.ratio`, `regime.0.rate`, `looks`."""
    children = _children(thing)
    if children is None:
        return {} if thing is None else {prefix: thing}
    found: dict[str, Any] = {}
    for name, value in children.items():
        found |= paths(value, f"{prefix}.{name}" if prefix else name)
    return found


def value_at(thing: Any, path: str) -> Any:
    """The value that one may set at a path; None if there is none."""
    for name in path.split("."):
        thing = (_children(thing) or {}).get(name)
    return thing if _children(thing) is None else None


def _children(thing: Any) -> dict[str, Any] | None:
    match thing:
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
        raise Invalid(f"no field {path!r} in this experiment: {hint}")
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
        raise Invalid(f"{path}={text}: expected {words[kind]}, like {old}") from None
    return text
