"""The order of the house: imports point one way, files stay small, nothing prints."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "ontogeny").rglob("*.py"))

# A package imports from itself and from the levels before it.
LEVELS = [
    {"__version__"},
    {"core", "theory"},
    {"tasks"},
    {"models"},
    {"training", "probes"},
    {"engine"},
    {"llm"},
    {"claims"},
    {"report", "scorecard", "bench"},
    {"cli"},
    {"__main__"},
]


def level(name):
    return next(place for place, names in enumerate(LEVELS) if name in names)


def imports(path):
    """The parts of the package that a file imports, and its own part."""
    inside = path.relative_to(ROOT / "ontogeny").with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            target = (*inside[: len(inside) - node.level], *(node.module or "").split("."))
            names = [target[0]] if target[0] else [alias.name for alias in node.names]
            yield from ((inside[0], name) for name in names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path):
    for own, other in imports(path):
        if own not in ("__init__", other):
            assert level(other) < level(own), f"{own} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_small_and_silent(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 350
    assert path.name not in ("utils.py", "common.py", "helpers.py")
    if path.parent.name != "cli":
        calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_tests_stay_small():
    for path in (ROOT / "tests").rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 350, path.name


def test_scripts_of_the_page_stay_small():
    web = ROOT / "ontogeny" / "report" / "web"
    for path in sorted({*web.glob("*.js"), *web.glob("*.css")} - {web / "vega.js"}):
        assert len(path.read_text().splitlines()) <= 350, path.name


def test_theory_stands_alone():
    for path in (ROOT / "ontogeny" / "theory").glob("*.py"):
        assert all(other == "theory" for _, other in imports(path))


def test_no_pickle_in_the_house():
    """But for what goes to worker processes, and never lies on a disk."""
    for path in FILES:
        assert "import pickle" not in path.read_text()
        if path.name != "parcel.py":
            assert not re.search(r"cloudpickle|ForkingPickler", path.read_text()), path
