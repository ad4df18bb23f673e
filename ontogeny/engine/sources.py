"""The code behind an experiment: everything that its answers can depend on, hashed.

From the modules of its components on, every import is followed, wherever it stands in a file:
what is a constant there, a helper or a re-export is in the hash of the module that it comes from.
The standard library is left out and installed distributions count by name and version. What was
typed at a prompt or in a notebook has no file: there a class is hashed by its cell, with all the
names that the cell uses. What has no text at all is *unknown*, and nothing of it may be kept.
"""

import ast
import dataclasses
import hashlib
import inspect
import linecache
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import EllipsisType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .loads import functions_of, is_superseded, is_text_of, is_text_of_module, taken
from .modules import (
    PACKAGE,
    Text,
    asks_names,
    distribution,
    imported,
    is_outside,
    is_settled,
    known_as,
    loaded,
    naming,
    newest_text,
    outline,
    short_hash,
    spec_of,
    take_newest,
    text_of,
)

_DISPLAY = f"{PACKAGE}.core.notebook"  # how a component looks: no answer depends on it
_CONSTANT = bool | int | float | complex | str | bytes | None | EllipsisType


class Code:
    """A hash for each module, a version for each distribution, and what is unknown."""

    def __init__(self) -> None:
        self.modules: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.unknown: list[str] = []
        self.fixed = True  # whether only reloading a module can change it
        self._naming: dict[str, str] = {}
        self._asks_names = False
        self.cells: set[str] = set()  # in which something was typed, by Python's name for each
        self.used: dict[str, dict[str, Any]] = {}  # by module, what its cells use by name
        self._texts: list[Text] = []  # of a user's modules
        self._specs: dict[str, ModuleSpec | None] = {}
        self._seen: dict[int, Any] = {}

    @property
    def holds(self) -> bool:
        """Whether it would be found again now."""
        return (
            self.fixed
            and all(spec_of(name) is spec for name, spec in self._specs.items())
            and all(text.is_newest for text in self._texts)  # autoreload changes modules in place
        )

    # -- modules

    def add(self, name: str) -> None:
        """A module, and all that it imports."""
        waiting = [name]
        while waiting:
            name = known_as(waiting.pop())
            if name in self._specs or name == _DISPLAY or is_outside(name):
                continue
            if installed := distribution(name):
                self.versions[installed[0]] = installed[1]
                continue
            spec = self._specs[name] = spec_of(name)
            if _sent and name == "__main__":
                self.modules |= _sent.main
                waiting += _sent.imports
                continue
            self.fixed &= is_settled(name)
            text = text_of(name)
            if text and name.partition(".")[0] != PACKAGE:
                text = self._as_it_runs(name, text)
            if text:
                self.modules[name] = text.hash
                self._named(name, text.naming, text.asks_names)
                self._overridden(name, text.constants)
                waiting += text.imports
            elif name in sys.modules and name != "__main__" and not _is_folder(spec):
                self.unknown.append(name)  # of `__main__`, classes are looked at one by one

    def _named(self, home: str, naming: str, asks: bool) -> None:
        """What tokens are called somewhere: a matter of code that asks for it, and of no other."""
        if naming:
            self._naming[f"{home}: names"] = naming
        self._asks_names |= asks
        if self._asks_names:
            self.modules |= self._naming

    def _overridden(self, name: str, written: dict[str, Any]) -> None:
        """Constants of a user's module that were set to something else from elsewhere."""
        if not written or name not in sys.modules:
            return
        self.fixed = False
        now = vars(sys.modules[name])
        for key, value in written.items():
            if key in now and repr(now[key]) != repr(value):
                self._value(now[key], f"{name}.{key}")

    def _as_it_runs(self, name: str, text: Text) -> Text:
        """The text of a user's module that says what runs, or a note that there is none."""
        module = loaded(name)
        if module is None:
            return text
        if not is_text_of_module(text, module):
            newest = newest_text(name)
            if newest and is_text_of_module(newest, module):
                take_newest(name, text := newest)
            else:
                self.unknown.append(f"{name}, edited after it was imported (reload it)")
        self._texts.append(text)
        for here, home, used, now in taken(module, text):
            if used is now or is_outside(home) or distribution(home):
                continue
            self.fixed = False
            if not isinstance(used, type | FunctionType):
                self._value(used, f"{name}.{here}")
            elif is_superseded(used):
                self.unknown.append(
                    f"{name}.{here}, of an earlier load of {home} (reload {name} too)"
                )
        return text

    # -- classes and functions: what has no file, and what those made in a function hold on to

    def define(self, thing: Any) -> None:
        """A class or a function, and all that it uses."""
        home = known_as(thing.__module__ or "")
        self.add(home)
        if is_outside(home) or distribution(home) or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        if home not in self.modules or (home.partition(".")[0] != PACKAGE and _is_typed(thing)):
            self._cell(thing)
        elif "<locals>" in thing.__qualname__:
            self._held(thing)
        elif home.partition(".")[0] != PACKAGE and is_superseded(thing):
            self.unknown.append(
                f"{thing.__qualname__}, of an earlier load of {home} (import it again)"
            )

    def _cell(self, thing: Any) -> None:
        """Something typed: the text of its definition, and every name that it uses."""
        self.fixed = False
        functions = []
        for function in _functions(thing):
            if function.__module__ == thing.__module__:
                functions.append(function)
            else:  # a class may hold on to functions from elsewhere
                self.define(function)
        texts = {name: _lines(name) for name in (f.__code__.co_filename for f in functions)}
        told = all(is_text_of("".join(texts[f.__code__.co_filename]), f) for f in functions)
        if not told or not (texts or _is_plain(thing)):
            self.unknown.append(f"{thing.__qualname__}, typed where no text of it is kept")
            return
        names: set[str] = set()
        outlines = []
        self.cells |= texts.keys()
        for lines in texts.values():
            node = _definition(ast.parse("".join(lines)), thing.__name__)
            named = naming(node)
            outlines.append(outline(node))
            self._named(f"{thing.__qualname__}: cell", named, asks_names(node))
            names |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            for name in imported(node, ""):
                self.add(name)
        if outlines:
            self.modules[f"{thing.__qualname__}: cell"] = short_hash("\n".join(sorted(outlines)))
        for function in functions:
            used = _sent.used.get(function.__module__, {}) if _sent else {}
            space = function.__globals__ | used
            for name in sorted(names & space.keys()):
                self.used.setdefault(function.__module__, {})[name] = space[name]
                self._value(space[name], name)
        self._held(thing)

    def _held(self, thing: Any) -> None:
        """What functions that were made in another function hold on to."""
        for function in _functions(thing):
            held = inspect.getclosurevars(function).nonlocals if function.__closure__ else {}
            for name, value in sorted(held.items()):
                if value is not thing and name != "__class__":
                    self._value(value, f"{function.__qualname__}: {name}")

    def _value(self, value: Any, path: str) -> None:
        """A value that code uses by name."""
        value = inspect.unwrap(value) if callable(value) else value
        match value:
            case ModuleType():
                self.add(value.__name__)
            case type() | FunctionType():
                self.define(value)
            case partial():
                self._value((value.func, value.args, value.keywords), path)
            case tuple() | list():
                for place, each in enumerate(value):
                    self._value(each, f"{path}[{place}]")
            case dict():
                for key, each in value.items():
                    self._value(each, f"{path}[{key!r}]")
            case _ if dataclasses.is_dataclass(value):
                self.define(type(value))
                for field in dataclasses.fields(value):
                    self._value(getattr(value, field.name), f"{path}.{field.name}")
            case _:
                self._datum(value, path)

    def _datum(self, value: Any, path: str) -> None:
        self.fixed = False
        known = _told(value)
        if known is None:
            self.unknown.append(f"{path}, a {type(value).__name__}")
        else:
            self.modules[f"{path}: value"] = short_hash(known)


@dataclasses.dataclass
class Sent:
    """What a worker is told of the driver's `__main__`, which is not the worker's own: its code
    comes as it was there, with the names that functions need when they run, and no others."""

    main: dict[str, str]  # hashes of what is in it
    imports: list[str]  # what it imports
    used: dict[str, dict[str, Any]]  # by module, what cells use by name
    texts: dict[str, list[str]]  # of cells, by Python's name for each

    @classmethod
    def of(cls, code: Code) -> "Sent":
        """What a worker needs to name some code as it is named here."""
        home = "__main__"
        main = {
            name: text
            for name, text in code.modules.items()
            if name == home or name.startswith(f"{home}.")
        }
        text = text_of(home) if home in main else None
        texts = {name: linecache.getlines(name) for name in code.cells}
        return cls(main, text.imports if text else [], code.used, texts)

    def receive(self) -> None:
        """Has code named as it is there, from now on."""
        global _sent  # noqa: PLW0603 a process has one driver
        _sent = self
        for name, lines in self.texts.items():
            linecache.cache[name] = sum(map(len, lines)), None, lines, name


_sent: Sent | None = None


def code_of(kinds: Iterable[type], modules: Iterable[str] = ()) -> Code:
    """The code behind some classes of components, and some modules besides."""
    found = Code()
    for name in (f"{PACKAGE}.engine.program", *modules):
        found.add(name)
    for kind in dict.fromkeys(kinds):
        for base in kind.__mro__:
            found.define(base)
    return found


def _is_folder(spec: ModuleSpec | None) -> bool:
    """Whether a module is a package without a text of its own."""
    return bool(spec and spec.submodule_search_locations)


def _is_typed(thing: Any) -> bool:
    """Whether a class or function comes from a cell, whatever file its module has."""
    files = [each.__code__.co_filename for each in _functions(thing)]
    return any(file in _sent.texts if _sent else not Path(file).is_file() for file in files)


def _lines(file: str) -> list[str]:
    """The text of a cell. Whatever `exec` or `python -c` runs is called `<string>`: since Python
    3.13 there may be a text of that name, which may be that of something else."""
    return [] if file == "<string>" else linecache.getlines(file)


def _is_plain(thing: Any) -> bool:
    """Whether a class has nothing but fields, whose values are spelled out."""
    return isinstance(thing, type) and not list(_functions(thing))


def _functions(thing: Any) -> Iterator[FunctionType]:
    """A function, or those that somebody wrote for a class."""
    return (each for each in functions_of(thing) if not is_generated(each))


def is_generated(function: FunctionType) -> bool:
    """Whether a dataclass wrote it: it has no text, and says no more than the fields; or it is
    Python's own, like the `__replace__` that 3.13 gives to every dataclass."""
    written = ("__init__", "__repr__", "__eq__", "__hash__")
    unwritten = function.__code__.co_filename == "<string>" and function.__name__ in written
    return unwritten or is_outside(known_as(function.__module__ or ""))


def _definition(tree: ast.Module, name: str) -> ast.AST:
    """The last definition of a name in a cell; the whole cell if there is none."""
    found: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found = node if node.name == name else found
    return found


def _told(value: Any) -> str | None:
    """A value as text, if it is data."""
    if isinstance(value, _CONSTANT):
        return repr(value)
    if isinstance(value, set | frozenset):
        parts = [_told(each) for each in value]
        return None if None in parts else str(sorted(map(str, parts)))
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    if array.dtype == object:
        return None
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"
