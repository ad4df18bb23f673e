"""A new project with claims of one's own, to begin with: a template that works as it is."""

import importlib.util
import keyword
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..core.fields import ConfigError

TEMPLATE = files("ontogeny.claims") / "template"
OWN = "my_claims"  # the name that the template has, in its files and of them


def new_claims(name: str, into: Path) -> list[Path]:
    """Writes a project of this name into a folder; the files that it has."""
    _check(name)
    home = into / name
    if home.exists():
        raise ConfigError(f"{home} is there already: give another name, or --into another folder")
    written = [home / file.replace(OWN, name) for file, _ in _texts(TEMPLATE)]
    for path, (_, text) in zip(written, _texts(TEMPLATE), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(OWN, name), encoding="utf-8")
    return written


def _check(name: str) -> None:
    """Refuses a name that cannot be imported, or that would be another package's."""
    if not (name.isidentifier() and name.isascii() and name == name.lower()):
        raise ConfigError(
            f"{name!r} cannot name a package: letters from a to z, digits and _ can, a letter first"
        )
    if keyword.iskeyword(name):
        raise ConfigError(f"{name!r} is a word of Python: give another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name):
        raise ConfigError(f"a package called {name!r} is here already: give another name")


def _texts(folder: Traversable, above: str = "") -> list[tuple[str, str]]:
    """The files of the template, by their paths in it."""
    found: list[tuple[str, str]] = []
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.name.startswith((".", "__pycache__")):  # what programs left there
            continue
        path = f"{above}{each.name}"
        found += _texts(each, f"{path}/") if each.is_dir() else [(path, each.read_text("utf-8"))]
    return found
