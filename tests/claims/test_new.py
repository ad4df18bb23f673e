"""A new project works as it was written."""

import json
import os
import subprocess
import sys

import pytest
from commands import typed
from small import ROOT

from ontogeny.claims import outside
from ontogeny.claims.claim import all_claims

NAMES = {
    "a_majority_is_learnt_from_half_of_the_strings",
    "the_lead_grows_after_all_answers_are_right",
}


def test_a_new_project_is_judged_where_it_is_and_by_itself(folder):
    done = typed("new", "claims", "study", "--into", "papers", cwd=folder)
    assert done.returncode == 0 and "cd papers/study; ontogeny judge" in done.stdout
    home = folder / "papers" / "study"
    written = {str(path.relative_to(home)) for path in home.rglob("*.*")}
    assert written == {
        *("README.md", "pyproject.toml", "tests/test_study.py"),
        *(f"study/{name}.py" for name in ("__init__", "task", "probes", "claims")),
    }
    assert not [path for path in home.rglob("*.*") if "my_claims" in path.read_text()]
    words = ("--scale", "smoke", "--workers", "0", "--json", "v.json")
    assert typed("judge", *words, cwd=home).returncode == 0
    found = json.loads((home / "v.json").read_text())
    assert {verdict["claim"] for verdict in found} == NAMES  # and none of ours
    assert all(verdict["evidence"] and not verdict["failures"] for verdict in found)
    listed = typed("list", "study", cwd=home).stdout
    assert all(name in listed for name in NAMES)


def test_its_own_tests_pass(folder):
    assert typed("new", "claims", "study", cwd=folder).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=folder / "study",
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr


def test_nothing_is_overwritten(folder):
    assert typed("new", "claims", "study", cwd=folder).returncode == 0
    (folder / "study" / "README.md").write_text("mine")
    done = typed("new", "claims", "study", cwd=folder)
    assert done.returncode == 2 and "study is there already" in done.stderr
    assert (folder / "study" / "README.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my-study", "'my-study' cannot name a package: letters from a to z"),
        ("Study", "cannot name a package"),
        ("2nd", "cannot name a package"),
        ("../study", "cannot name a package"),
        ("", "cannot name a package"),
        ("class", "'class' is a word of Python"),
        ("json", "a package called 'json' is here already"),
        ("ontogeny", "a package called 'ontogeny' is here already"),
    ],
)
def test_a_name_that_cannot_be_imported_is_refused(folder, name, said):
    done = typed("new", "claims", name, cwd=folder)
    assert done.returncode == 2 and said in done.stderr
    assert not list(folder.iterdir())


def test_what_it_has_no_claims_of_is_judged_as_ever(folder):
    assert outside.project() == []
    assert NAMES.isdisjoint(all_claims())
