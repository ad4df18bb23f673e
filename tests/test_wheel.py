"""What is released: complete, and at work where there is nothing but the wheel."""

import json
import re
import shutil
import sys
import tarfile
import zipfile
from email import message_from_bytes

import pytest
from small import ROOT
from wheel import AS_COMMITTED, built, run

import ontogeny
from ontogeny.claims.claim import CLAIMS

SMOKE = ("--scale", "smoke", "--seeds", "2")


def source(folder):
    """The files of a folder that belong to it."""
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not re.search(r"/(\.|__pycache__)", str(path.relative_to(ROOT)))
    }


def test_the_wheel_has_all_of_the_package_and_nothing_besides(user):
    wheel, _ = user.files
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == source("ontogeny")


def test_the_source_distribution_has_what_tests_and_documents_need(user):
    _, archive = user.files
    with tarfile.open(archive) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    for folder in ("ontogeny", "tests", "docs", "examples", "tools"):
        assert source(folder) <= inside
    assert {"LICENSE", "CITATION.cff", "constraints.txt", "Makefile"} <= inside
    assert not [name for name in inside if "__pycache__" in name or name.startswith(".")]


def test_both_pass_the_check_of_the_index(user):
    done = run(sys.executable, "-m", "twine", "check", "--strict", *user.files, cwd=ROOT)
    assert done.stdout.count("PASSED") == 2


def test_the_version_is_the_same_wherever_it_is_asked(user, tmp_path):
    wheel, _ = user.files
    (name,) = [n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("dist-info/METADATA")]
    metadata = message_from_bytes(zipfile.ZipFile(wheel).read(name))
    assert metadata["Version"] == ontogeny.__version__
    assert f"\nversion: {ontogeny.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    for words in ((user.ontogeny,), (user.python, "-m", "ontogeny")):
        assert run(*words, "--version", cwd=tmp_path).stdout == f"{ontogeny.__version__}\n"
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert metadata["Author"] and metadata["Keywords"] and metadata.get_all("Project-URL")


@pytest.fixture
def beside(tmp_path):
    """A folder in which there is a clone called ontogeny."""
    shutil.copytree(ROOT / "ontogeny", tmp_path / "ontogeny" / "ontogeny", ignore=AS_COMMITTED)
    shutil.copytree(ROOT / "tools", tmp_path / "ontogeny" / "tools")
    return tmp_path


MINE = """
import ontogeny
from ontogeny import Accuracy, Analogy, Experiment, GradientDescent, OneLayer, Paper, claim

print(ontogeny.__file__)

@claim(
    Paper("mine", "Mine", "https://example.org"), "p. 1", seeds=5,
    trained=Experiment(
        Analogy(tuples=3), OneLayer(width=16), (GradientDescent(3, 0.1),), {"a": Accuracy("train")}
    ),
)
def nothing_is_known_at_first(trained):
    '''Nothing is known at first.'''
    yield trained.initial("a").below(0.9)
"""


def test_a_clone_that_one_works_beside_is_not_the_package(user, beside):
    """Nor is it in the processes of workers."""
    (beside / "mine.py").write_text(MINE)
    command = (user.python, "-m", "ontogeny")
    found = run(*command, "list", "--json", cwd=beside)
    assert {row["claim"] for row in json.loads(found.stdout)} >= set(CLAIMS)
    words = ("judge", "mine.py", *SMOKE, "--workers", "1")
    done = run(*command, *words, cwd=beside, JAX_DISABLE_MOST_OPTIMIZATIONS="1")
    assert done.stdout.startswith(f"{user.packages}/ontogeny/__init__.py\n")
    assert "nothing_is_known_at_first" in done.stdout
    run(user.ontogeny, "report", "mechanisms", cwd=beside)
    assert (beside / "report" / "index.html").exists()


def test_an_editable_install_is_not_hidden_by_a_clone_either(user, beside, tmp_path_factory):
    """What `make` installs is a path: an import hook of setuptools would come after the folder."""
    target = tmp_path_factory.mktemp("editable")
    shutil.copytree(ROOT / "ontogeny", target / "source" / "ontogeny", ignore=AS_COMMITTED)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, target / "source")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    run(*pip, "--target", target / "site", "-e", target / "source", cwd=target)
    (path,) = (target / "site").glob("*.pth")
    assert path.read_text().strip() == str(target / "source")


def test_a_new_project_is_typed_and_known_once_it_is_installed(user, tmp_path):
    run(user.ontogeny, "new", "claims", "study", cwd=tmp_path)
    home = tmp_path / "study"
    for words in (("check", "."), ("format", "--check", ".")):
        run(sys.executable, "-m", "ruff", *words, cwd=home)
    strict = ("--strict", "--python-executable", user.python, "--cache-dir", tmp_path / "cache")
    example = ROOT / "examples" / "grokking"
    done = run(
        *(sys.executable, "-m", "mypy", *strict, home / "study", example / "grokking"),
        cwd=tmp_path,
        check=False,
    )
    assert done.stdout.startswith("Success: no issues found in 9 source files"), done.stdout
    (made,) = built(home, tmp_path / "built", "--wheel")
    user.install(made, "--target", tmp_path / "site")
    site = {"PYTHONPATH": str(tmp_path / "site")}
    listed = json.loads(run(user.ontogeny, "list", "study", "--json", cwd="/", **site).stdout)
    assert len(listed) == 2
    done = run(user.ontogeny, "list", "study", cwd="/", check=False)
    assert done.returncode == 2  # that was the entry point


def test_the_example_is_a_users_project(user, tmp_path):
    home = tmp_path / "grokking"
    shutil.copytree(ROOT / "examples" / "grokking", home, ignore=AS_COMMITTED)
    environment = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    asked = "import ontogeny, grokking.claims; print(ontogeny.__file__)"
    found = run(user.python, "-c", asked, cwd=home).stdout
    assert found == f"{user.packages}/ontogeny/__init__.py\n"
    done = run(user.python, "-m", "pytest", "-q", cwd=home, **environment)
    assert "5 passed" in done.stdout
    words = ("judge", *SMOKE, "--workers", "1", "--json", "v.json")
    run(user.ontogeny, *words, cwd=home, **environment)
    verdicts = json.loads((home / "v.json").read_text())
    assert {verdict["paper"] for verdict in verdicts} == {"grokking", "progress-measures"}
    assert len(verdicts) == 5 and all(verdict["evidence"] for verdict in verdicts)
    readme = (home / "README.md").read_text()
    for verdict in verdicts:
        assert f"`{verdict['claim']}`" in readme
