"""The versions that pyproject.toml allows are those that were tested."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ALL = [Requirement(text) for text in sum(EXTRAS.values(), PROJECT["dependencies"])]
OUTSIDE = [needed for needed in ALL if needed.name != PROJECT["name"]]


def bound(needed, *operators):
    """The version that a requirement has with an operator, of which there must be one."""
    (found,) = [each.version for each in needed.specifier if each.operator in operators]
    return Version(found)


def pinned(file):
    lines = (ROOT / file).read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


@pytest.mark.parametrize("needed", OUTSIDE, ids=str)
def test_every_dependency_has_a_lower_and_an_upper_bound(needed):
    assert bound(needed, ">=") < bound(needed, "<")
    assert len(needed.specifier) == 2


def test_the_oldest_versions_are_the_lower_bounds():
    core = PROJECT["dependencies"] + EXTRAS["theory"] + EXTRAS["core-test"]
    lower = {canonicalize_name(n.name): bound(n, ">=") for n in map(Requirement, core)}
    assert pinned("constraints-oldest.txt") == lower


@pytest.mark.parametrize("needed", OUTSIDE, ids=str)
def test_versions_known_to_work_together_lie_within_the_ranges(needed):
    assert needed.specifier.contains(pinned("constraints.txt")[canonicalize_name(needed.name)])


def test_the_table_of_versions_is_that_of_the_files():
    text = (ROOT / "docs" / "design.md").read_text().split("## Versions\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([\w-]+) \| (\S+) \| (\S+) \| (\S+) \|$", text, re.MULTILINE)
    table = {canonicalize_name(name): tuple(map(Version, found)) for name, *found in rows}
    core = [Requirement(text) for text in PROJECT["dependencies"] + EXTRAS["theory"]]
    oldest, usual = pinned("constraints-oldest.txt"), pinned("constraints.txt")
    assert set(table) - {"python"} == {canonicalize_name(needed.name) for needed in core}
    for needed in core:
        name = canonicalize_name(needed.name)
        assert table[name][:2] == (oldest[name], usual[name]), name
        assert needed.specifier.contains(table[name][2]), name


def test_every_python_that_was_tested_is_named():
    named = [c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert named[0] == PROJECT["requires-python"].removeprefix(">=")
    assert (
        f"Python {', '.join(named[:-1])} and {named[-1]}"
        in (ROOT / "docs" / "design.md").read_text()
    )
