"""Claims that live outside this package: in a file, a module, an installed package, a project.

A file is imported as Python would import it: by the name of its module, with the folder above its
packages on the path, so that worker processes find what it defines.
"""

import importlib
import importlib.util
import os
import shlex
import sys
import sysconfig
import tomllib
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from ..core.errors import one_line
from ..core.fields import ConfigError, did_you_mean
from .claim import CLAIMS, Claim

GROUP = "ontogeny.claims"  # of entry points


def is_place(words: str) -> bool:
    """Whether words name a file, or a claim in one: `FILE.py`, `FILE.py:claim`."""
    file, _, _ = words.partition(".py:")
    return words.endswith(".py") or file != words


def claims_at(words: str) -> list[Claim]:
    """The claims of `FILE.py`, `FILE.py:claim` or `package.module`."""
    location, colon, name = words.rpartition(":") if ".py:" in words else (words, "", "")
    found = _claims_in(load(location).__name__)
    if not found:
        raise ConfigError(f"{location} registers no claim: decorate a function with @claim")
    if not colon:
        return found
    named = [claim for claim in found if claim.name == name]
    if not named:
        raise ConfigError(
            f"{location} has no claim {name!r}: {did_you_mean(name, [c.name for c in found])}"
        )
    return named


def _claims_in(module: str) -> list[Claim]:
    return [c for c in CLAIMS.values() if f"{c.home.module}.".startswith(f"{module}.")]


_LOADED: dict[str, ModuleType] = {}
_GIVEN: dict[str, str] = {}  # the place that was typed for a claim, by its name


def modules() -> list[ModuleType]:
    """The modules, or packages, that hold what was loaded and what lies beside it: all that a
    worker far away needs of them. Of installed packages, which lie beside all others, they alone.
    """
    tops = {name.partition(".")[0] for name in _LOADED}
    homes = {_folder(sys.modules[top]) for top in tops} - _installations()
    return [
        module
        for name, module in list(sys.modules.items())
        if "." not in name and name != "__main__" and (name in tops or _folder(module) in homes)
    ]


def _installations() -> set[Path]:
    """The folders that packages are installed in."""
    return {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}


def place_of(name: str) -> str:
    """What was typed to load a claim, a file or a module; nothing if it is found without."""
    return _GIVEN.get(name, "")


def given() -> list[str]:
    """All that was typed to load claims, for another process: files by their whole paths."""
    places = dict.fromkeys(_GIVEN.values())
    return [str(Path(each).resolve()) if is_place(each) else each for each in places]


def option(name: str) -> str:
    """What a command needs besides the name of a claim."""
    place = place_of(name)
    return f" --claims {shlex.quote(place)}" if place else ""


def _folder(module: ModuleType) -> Path | None:
    """The folder that a module or package lies in."""
    file = Path(getattr(module, "__file__", None) or "")
    return (
        (file.parent.parent if file.name == "__init__.py" else file.parent) if file.name else None
    )


def load(location: str) -> ModuleType:
    """Imports a file or a module that was asked for, which registers its claims."""
    before = set(CLAIMS)
    module = _load(location)
    _GIVEN.update(dict.fromkeys(CLAIMS.keys() - before, location))
    return module


def _load(location: str) -> ModuleType:
    if location.endswith(".py"):
        return _imported(*_as_module(Path(location)), location)
    try:
        found = importlib.util.find_spec(location)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise ConfigError(f"{location} cannot be imported: there is no such module or file")
    return _imported(location, None, location)


def _as_module(file: Path) -> tuple[str, Path]:
    """The name of the module that a file is, and the file."""
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    file = file.resolve()
    parts, folder = [file.stem] if file.stem != "__init__" else [], file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    if not all(part.isidentifier() for part in parts):
        raise ConfigError(f"{file.name} is no name that Python imports: letters, digits and _ are")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
    return ".".join(parts), file


def _imported(name: str, file: Path | None, told: str) -> ModuleType:
    try:
        module = importlib.import_module(name)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(f"{told} cannot be imported: {one_line(error)}") from error
    _LOADED[name] = module
    there = Path(module.__file__ or "")
    if file and there.resolve() != file:
        raise ConfigError(f"{told}: a module called {name} is imported from {there}: rename one")
    return module


@cache
def installed() -> None:
    """Loads the claims of installed packages: what they name in the group `ontogeny.claims`."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
            _LOADED[point.module] = sys.modules[point.module]
        except Exception as error:
            package = point.dist.name if point.dist else point.value
            raise ConfigError(
                f"the claims of the installed package {package} ({point.value}) cannot be loaded: "
                f"{one_line(error)}"
            ) from error


def project() -> list[Claim]:
    """The claims of the project that one is in: those that the nearest pyproject.toml lists as
    `claims` under `[tool.ontogeny]`."""
    return [claim for module in _project(Path.cwd()) for claim in _claims_in(module)]


@cache
def _project(folder: Path) -> list[str]:
    for above in (folder, *folder.parents):
        if (above / "pyproject.toml").is_file():
            return _listed(above / "pyproject.toml")
    return []


def _listed(file: Path) -> list[str]:
    """Loads what a file lists; the names of the modules."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("ontogeny", {})
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {one_line(error)}") from error
    places = table.get("claims", [])
    if not isinstance(places, list) or not all(isinstance(each, str) for each in places):
        raise ConfigError(f"{file}: claims of [tool.ontogeny] must be a list of files or modules")
    if unknown := [key for key in table if key != "claims"]:
        raise ConfigError(f"{file}: [tool.ontogeny] has no {unknown[0]!r}: only claims")
    found = []
    for each in places:
        if not each.endswith(".py") and str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))
        try:
            module = _load(os.path.join(file.parent, each) if each.endswith(".py") else each)
        except ConfigError as error:
            raise ConfigError(f"{file}, [tool.ontogeny] claims: {error}") from error
        found.append(module.__name__)
    return found
