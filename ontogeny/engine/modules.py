"""Python modules as text: what they say, which others they import, and whose they are."""

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]

# The parts of this package that decide what an experiment answers. The others run experiments,
# keep them and show them: a change there makes no answer stale.
_DECIDES = (
    *("core", "theory", "tasks", "models", "training", "probes", "llm", "scorecard"),
    "engine.program",
)


def known_as(name: str) -> str:
    """Worker processes know the script that was started by another name."""
    return "__main__" if name == "__mp_main__" else name


def is_outside(name: str) -> bool:
    """Whether it is no concern: the standard library, or what only runs and shows experiments."""
    top, _, rest = name.partition(".")
    if top == PACKAGE:
        return not f"{rest}.".startswith(tuple(f"{part}." for part in _DECIDES))
    return top in sys.stdlib_module_names or top in sys.builtin_module_names


def loaded(name: str) -> ModuleType | None:
    """A module, if it is imported."""
    main = "__mp_main__" if "__mp_main__" in sys.modules else name
    return sys.modules.get(main if name == "__main__" else name)


def spec_of(name: str) -> ModuleSpec | None:
    """Where a module comes from; reloading it makes a new one."""
    if module := loaded(name):
        return getattr(module, "__spec__", None)
    return _found_once(name) if name.partition(".")[0] == PACKAGE else _found(name)


def _found(name: str) -> ModuleSpec | None:
    """The same of a module that is not imported yet."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None


_found_once = cache(_found)  # nobody edits this package under a process that uses it


@cache
def distribution(name: str) -> tuple[str, str] | None:
    """The installed distribution that a module is of, and its version."""
    top = name.partition(".")[0]
    if top in (PACKAGE, "__main__"):
        return None
    spec = spec_of(top)
    folders = (spec and spec.submodule_search_locations) or ()
    file = Path((spec and spec.origin) or next(iter(folders), ""))
    paths = sysconfig.get_paths()
    if not any(Path(paths[kind]) in file.parents for kind in ("purelib", "platlib")):
        return None
    try:
        return top, version(top)
    except PackageNotFoundError:
        names = packages_distributions().get(top)  # which reads all that is installed
        return (names[0], version(names[0])) if names else None  # none: put there by hand


class Text:
    """What a file says: its hash, the modules that it imports, the constants that it sets."""

    def __init__(self, text: str, name: str, file: Path, package: bool) -> None:
        self.file, self.stamp = file, _stamp(file)
        tree = ast.parse(text)
        self.naming = naming(tree)
        parts = [outline(tree)]
        self.asks_names = asks_names(tree)
        for beside in sorted(_files_named(tree, file.parent)):  # data that it reads by name
            parts.append(hashlib.sha256(beside.read_bytes()).hexdigest())
        self.hash, self.source = short_hash("\n".join(parts)), text
        self.imports = list(imported(tree, name if package else name.rpartition(".")[0]))
        self.constants: dict[str, Any] = {}
        self.taken: list[tuple[str, str, str]] = []  # by `from … import`: here, the module, there
        if name.partition(".")[0] != PACKAGE:
            self.constants = _constants(tree)
            self.taken = list(_taken(tree, name if package else name.rpartition(".")[0]))
            # importing a module runs the packages around it
            self.imports += [name[:n] for n, letter in enumerate(name) if letter == "."]

    @property
    def is_newest(self) -> bool:
        """Whether the file has not been written since it was read."""
        return self.stamp == _stamp(self.file)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def is_settled(name: str) -> bool:
    """Whether a module's text can only change when it is loaded again."""
    return loaded(name) is not None or name.partition(".")[0] == PACKAGE


_TEXTS: dict[int, tuple[Any, Text | None]] = {}  # by the spec, which is kept so that it stays


def text_of(name: str) -> Text | None:
    """The text that a module was loaded from; nothing if it has none.

    It is read once for each time a module is loaded: who edits a file and does not reload it goes
    on with the code as it was.
    """
    key = spec_of(name) or loaded(name)
    if not is_settled(name):
        return _read(name)
    if id(key) not in _TEXTS:
        _TEXTS[id(key)] = key, _read(name)
    return _TEXTS[id(key)][1]


def take_newest(name: str, text: Text) -> None:
    """From now on a module has this text: it was changed in place, as autoreload does."""
    _TEXTS[id(spec_of(name))] = spec_of(name), text


def newest_text(name: str) -> Text | None:
    """What the file of a module says now."""
    return _read(name)


def _read(name: str) -> Text | None:
    spec, module = spec_of(name), loaded(name)
    file = getattr(module, "__file__", None) or (spec.origin if spec and spec.has_location else "")
    if not file or not Path(file).is_file():
        return None
    data, package = Path(file).read_bytes(), bool(spec and spec.submodule_search_locations)
    try:
        return Text(importlib.util.decode_source(data), name, Path(file), package)
    except (SyntaxError, ValueError):  # it is compiled: its bytes say it
        compiled = Text("", name, Path(file), package)
        compiled.hash = hashlib.sha256(data).hexdigest()[:20]
        return compiled


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """The modules that code of a package imports, wherever it does."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(names=names):
                home = _home(node, package)
                yield home
                yield from _behind(home, [alias.name for alias in names])
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(home)), *_],
            ) if not home.startswith("."):
                yield home


def _home(node: ast.ImportFrom, package: str) -> str:
    """The module that code of a package takes names from."""
    level = node.level
    around = package.split(".")[: package.count(".") + 2 - level] if level else []
    return ".".join([*around, *([node.module] if node.module else [])])


def _taken(tree: ast.Module, package: str) -> Iterator[tuple[str, str, str]]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name, _home(node, package), alias.name


def _behind(home: str, names: list[str]) -> Iterator[str]:
    """The modules behind `from home import names`: parts of a package, and where what it exports
    comes from (this package loads what it exports when it is asked for)."""
    if home.partition(".")[0] != PACKAGE and (is_outside(home) or distribution(home)):
        return
    spec = spec_of(home)
    for name in names:
        if spec and spec.submodule_search_locations and spec_of(f"{home}.{name}"):
            yield f"{home}.{name}"
        else:
            place = getattr(getattr(loaded(home), name, None), "__module__", None)
            yield place if isinstance(place, str) else home


def _constants(tree: ast.Module) -> dict[str, Any]:
    """The names that a module sets once, to a value that is written there."""
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    names = [
        target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)
    ]
    found = {}
    for node in assigned:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if names.count(name) == 1:
                with suppress(ValueError, TypeError, MemoryError, RecursionError):
                    found[name] = ast.literal_eval(node.value)
    return found


def _files_named(tree: ast.AST, folder: Path) -> set[Path]:
    """Files beside a module that it names."""
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {
        folder / text
        for text in texts
        if isinstance(text, str) and len(text) < 100 and "." in text[1:] and text.isprintable()
        if not text.endswith(".py") and (folder / text).is_file()
    }


def outline(node: ast.AST) -> str:
    """Code without comments, docstrings, meanings of fields, units and examples for tests (words
    may improve without a rerun), the same in every version of Python."""
    if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                node.body = rest
    if isinstance(node, ast.ClassDef):
        read = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        node.body = [
            inside
            for inside in node.body
            # a unit that no code of the class looks at
            if not _is_examples(inside)
            and not _is_naming(inside)
            and not (_is_unit(inside) and not read & UNITS)
        ]
        for inside in node.body:
            match inside:
                case ast.AnnAssign(value=ast.Call() as made):
                    made.keywords = [key for key in made.keywords if not _is_doc(key)]
    parts = [type(node).__name__]
    for field, value in ast.iter_fields(node):
        if value is None or value == [] or field in ("kind", "type_ignores", "type_comment"):
            continue
        each = value if isinstance(value, list) else [value]
        told = ",".join(outline(one) if isinstance(one, ast.AST) else repr(one) for one in each)
        parts.append(f"{field}=[{told}]")
    return f"({' '.join(parts)})"


def _is_examples(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="examples", decorator_list=[ast.Name(id="classmethod")]):
            return True
    return False


NAMING = {"token_names", "answer_names"}  # methods of tasks: what people call tokens and targets


def _is_naming(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name in NAMING and not node.decorator_list


def naming(tree: ast.AST) -> str:
    """A hash of the methods that name tokens. `outline` takes them out of the tree: people alone
    read names, unless code asks for them (`asks_names`)."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    methods = [each for node in classes for each in node.body if _is_naming(each)]
    return short_hash("\n".join(map(outline, methods))) if methods else ""


def asks_names(tree: ast.AST) -> bool:
    """Whether any code of an outlined tree asks a task for the names of its tokens."""
    found = (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return not NAMING.isdisjoint(found)


UNITS = {
    "unit",
    "measured_in",
}  # what a probe's answer is measured in, an external experiment's answers


def _is_unit(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in UNITS
        case ast.AnnAssign(
            target=ast.Name(id=name), annotation=ast.Subscript(value=ast.Name(id=kind))
        ):
            return name in UNITS and kind == "ClassVar"  # or it is a field
    return False


def _is_doc(keyword: ast.keyword) -> bool:
    return keyword.arg == "doc" and isinstance(keyword.value, ast.Constant)


def short_hash(text: str) -> str:
    """A hash of some text."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]
