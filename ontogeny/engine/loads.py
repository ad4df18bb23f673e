"""Whether the code that runs is what its file says: not if the file was edited after it was
imported, nor if a class or function was taken from a module that has been loaded again since.

Of such code there is no text any more: what it answers may be computed, and not be kept.
"""

import inspect
from collections.abc import Iterator
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .modules import Text, loaded


def functions_of(thing: Any) -> Iterator[FunctionType]:
    """A function, or those of a class, out of whatever they are wrapped in."""
    for value in vars(thing).values() if isinstance(thing, type) else [thing]:
        for part in (
            value,
            *(getattr(value, each, None) for each in ("__func__", "fget", "method")),
        ):
            inner = inspect.unwrap(part) if callable(part) else part
            if isinstance(inner, FunctionType):
                yield inner


def is_text_of_module(text: Text, module: ModuleType) -> bool:
    """Whether a text says what the functions of a module do: not if the file was edited between
    the module's import and when it was read."""
    # other loaders change code as they load it
    if type(getattr(module, "__loader__", None)) is not SourceFileLoader:
        return True
    own = (
        function
        for value in list(vars(module).values())
        if getattr(value, "__module__", None) == module.__name__
        for function in (functions_of(value) if callable(value) else ())
        if function.__code__.co_filename == module.__file__
    )
    return all(_said(text.source, function) for function in own)


def is_text_of(text: str, function: FunctionType) -> bool:
    """Whether a function is still what is written where it says that it comes from. What was typed
    is kept as it was; a script that a notebook has run may have been edited."""
    file = function.__code__.co_filename
    return bool(text) and (not Path(file).is_file() or _said(text, function))


def is_superseded(thing: Any) -> bool:
    """Whether a class or function is of an earlier load of its module, which now has another."""
    now: Any = loaded(thing.__module__)
    for name in thing.__qualname__.split("."):
        now = getattr(now, name, None)  # what was made in a function is not to be found
    if now is None or now is thing or not callable(now):
        return False
    ours, theirs = list(functions_of(thing)), list(functions_of(now))
    return len(ours) != len(theirs) or not all(
        _alike(one.__code__, other.__code__) for one, other in zip(ours, theirs, strict=True)
    )


def taken(module: ModuleType, text: Text) -> Iterator[tuple[str, str, Any, Any]]:
    """What a module has taken from others by `from … import`: its name here, the other module, what
    is used, and what the other has now."""
    for here, home, there in text.taken:
        origin = loaded(home)
        if origin and here in vars(module) and there in vars(origin):
            yield here, home, vars(module)[here], vars(origin)[there]


def _said(text: str, function: FunctionType) -> bool:
    """Whether a text has a function as it runs."""
    code = function.__code__
    return any(_alike(each, code) for each in _codes(text) if each.co_name == code.co_name)


@cache
def _codes(text: str) -> list[CodeType]:
    try:
        return list(_within(compile(text, "", "exec")))
    except (SyntaxError, ValueError):
        return []


def _within(code: CodeType) -> Iterator[CodeType]:
    for inside in code.co_consts:
        if isinstance(inside, CodeType):
            yield inside
            yield from _within(inside)


def _alike(one: CodeType, other: CodeType) -> bool:
    """Whether two pieces of code do the same, wherever they stand."""
    if (one.co_code, one.co_names, one.co_varnames) != (
        other.co_code,
        other.co_names,
        other.co_varnames,
    ):
        return False
    constants = [
        [each for each in code.co_consts if not isinstance(each, CodeType)] for code in (one, other)
    ]
    inside = [
        [each for each in code.co_consts if isinstance(each, CodeType)] for code in (one, other)
    ]
    return (
        repr(constants[0]) == repr(constants[1])
        and len(inside[0]) == len(inside[1])
        and all(map(_alike, *inside))
    )
