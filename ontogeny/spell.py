"""Experiments as text: spelled out in full, named by a digest, edited by path.

The digest covers every field, defaults included, and the code of every component that takes part
(comments and docstrings aside), so that a stored answer is never that of another program.
"""

import ast
import dataclasses
import hashlib
import inspect
import json
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from .core import Experiment
from .fields import Component, Invalid, did_you_mean

Spelled = dict[str, Any]


def spell(thing: Any) -> Any:
    """A component as JSON: what it is, and every field."""
    match thing:
        case Component():
            fields = {f.name: spell(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
            return {"is": f"{type(thing).__module__}.{type(thing).__qualname__}", **fields}
        case dict():
            return {str(name): spell(value) for name, value in thing.items()}
        case tuple() | list():
            return [spell(value) for value in thing]
        case None | bool() | int() | float() | str():
            return thing
    raise Invalid(f"cannot spell out a {type(thing).__name__}")


def record(experiment: Experiment) -> Spelled:
    """All that decides what an experiment answers: its fields and its code."""
    return {"experiment": spell(experiment), "sources": sources(experiment)}


def digest(spelled: Spelled) -> str:
    """The name of an experiment, from its record: the same text, the same name."""
    text = json.dumps(spelled, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


# --------------------------------------------------------------------------- the code behind it


def sources(experiment: Experiment) -> dict[str, str]:
    """A hash of each module that the experiment's components are made of, imports included."""
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
        children = [getattr(thing, field.name) for field in dataclasses.fields(thing)]
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
    if isinstance(thing, Component):
        children = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing) if f.init}
    elif isinstance(thing, dict):
        children = thing
    elif isinstance(thing, tuple) and thing and isinstance(thing[0], Component):
        children = {str(place): value for place, value in enumerate(thing)}
    else:
        return {} if thing is None else {prefix: thing}
    found: dict[str, Any] = {}
    for name, value in children.items():
        found |= paths(value, f"{prefix}.{name}" if prefix else name)
    return found


def edit(experiment: Experiment, path: str, text: str) -> Experiment:
    """The experiment with the value at a path replaced, checked as if written by hand."""
    known = paths(experiment)
    if path not in known:
        raise Invalid(f"no field {path!r} in this experiment: {did_you_mean(path, known)}")
    edited: Experiment = _replace(experiment, path.split("."), _parse(text, known[path], path))
    return edited


def _replace(thing: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    head, *rest = path
    if isinstance(thing, dict):
        return thing | {head: _replace(thing[head], rest, value)}
    if isinstance(thing, tuple):
        place = int(head)
        return (*thing[:place], _replace(thing[place], rest, value), *thing[place + 1 :])
    return dataclasses.replace(thing, **{head: _replace(getattr(thing, head), rest, value)})


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
