"""Words that a shell proposes: by what is asked of us, and in a real bash."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import typed

from ontogeny.claims.claim import CLAIMS
from ontogeny.claims.status import WORDS
from ontogeny.cli import completion
from ontogeny.cli.app import app
from ontogeny.cli.completion import SCRIPTS, complete

CHEAP = "gradients_have_the_stated_form"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A folder of its own for the names that are remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ontogeny" / "names"


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (["ju"], ["judge"]),
        (["--v"], ["--version"]),
        (["models", ""], ["--help", "get", "list"]),
        (["judge", CHEAP[:12]], [CHEAP]),
        (["judge", "--scale", "laptop", CHEAP[:12]], [CHEAP]),
        (["judge", "all"], ["all"]),
        (["list", "feature-re"], ["feature-resemblance"]),
        (["list", "contr"], ["contradicted"]),
        (["show", "TwoH"], ["TwoHop"]),
        (["show", "--f"], ["--full"]),
        (["sweep", "--s"], ["--scale", "--seeds", "--set", "--store", "--sweep"]),
        (["judge", "--scale", ""], ["laptop", "paper", "smoke"]),
        (["weights", "--format", "g"], ["gpt2"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["judge", "--store", ""], []),  # a folder: the shell knows
        (["jugde", ""], []),
    ],
)
def test_what_fits_is_proposed(words, proposed):
    assert complete(words) == proposed


def test_every_command_is_proposed_with_its_options():
    for name in complete([""]):
        if not name.startswith("-"):
            assert app[name].show and "--help" in complete([name, "--"])
    assert "train-page" not in complete([""])  # it is not for users
    judged = {each.name for each in CLAIMS.values() if each.evidence}
    assert set(complete(["list", ""])) >= {*judged, *WORDS}
    assert set(complete(["show", ""])) >= {"Lego", "Transformer", "AdamW", "Accuracy"}


def test_words_of_a_list_are_those_that_choose():
    assert set(completion.STANDINGS) == set(WORDS)


def test_names_are_remembered_until_a_file_changes(cache, monkeypatch):
    assert CHEAP in completion.claims()
    (file,) = cache.iterdir()
    fingerprint, *_ = file.read_text().split("\n")
    file.write_text(f"{fingerprint}\nremembered\n$(evil)\n")
    assert completion.claims() == ["remembered"]  # a shell sees names alone
    monkeypatch.setattr(completion, "_fingerprint", lambda: "another")
    assert CHEAP in completion.claims()


def test_claims_of_a_project_are_proposed_once_a_command_has_run_there(tmp_path):
    """Only to complete a word, nothing of a folder is run."""
    (tmp_path / "pyproject.toml").write_text('[tool.ontogeny]\nclaims = ["own_claims_here.py"]\n')
    (tmp_path / "own_claims_here.py").write_text(
        "from pathlib import Path\n"
        "from ontogeny.claims.claim import Paper, untested\n"
        "Path('was_run').touch()\n"
        "untested(Paper('own', 'Own', 'u'), 'here', 'a_claim_of_ones_own', 'It is.', 'why')\n"
    )
    try:
        assert typed("--complete", "judge", "a_claim_of", cwd=tmp_path).stdout == ""
        assert not (tmp_path / "was_run").exists()
        typed("list", "own", cwd=tmp_path)
        proposed = typed("--complete", "judge", "a_claim_of", cwd=tmp_path)
        assert proposed.stdout == "a_claim_of_ones_own\n" and proposed.stderr == ""
    finally:
        CLAIMS.pop("a_claim_of_ones_own", None)


def shell(name, script, tmp_path):
    """What a shell says, in which `ontogeny` is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ontogeny").write_text(f'#!/bin/sh\nexec {sys.executable} -m ontogeny "$@"\n')
    (folder / "ontogeny").chmod(0o755)
    done = subprocess.run(
        [name, "-c", script],
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


def test_bash_completes(tmp_path):
    script = """
    eval "$(ontogeny completion bash)"
    complete -p ontogeny > /dev/null || exit 1
    COMP_WORDS=(ontogeny judge gradients_ha) COMP_CWORD=2
    _ontogeny
    echo "${COMPREPLY[@]}"
    COMP_WORDS=(ontogeny judge --scale '') COMP_CWORD=3
    _ontogeny
    echo "${#COMPREPLY[@]}"
    """
    assert shell("bash", script, tmp_path) == [CHEAP, "3"]


@pytest.mark.parametrize("name", ["zsh", "fish"])
def test_other_shells_read_their_script(tmp_path, name):
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    how = "| source" if name == "fish" else ""
    load = f"ontogeny completion {name} {how}" if how else 'eval "$(ontogeny completion zsh)"'
    asked = "; complete -C 'ontogeny judge gradients_ha'" if name == "fish" else ""
    said = shell(name, load + asked, tmp_path)
    assert said == ([CHEAP] if name == "fish" else [])


def test_names_complete_at_once(tmp_path):
    complete(["judge", ""])  # it remembers
    times = []
    for _ in range(5):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "ontogeny", "--complete", "judge", "grad"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        times.append(time.monotonic() - began)
        assert CHEAP in done.stdout and "jax" not in done.stderr and "numpy" not in done.stderr
    assert min(times) < 0.5


def test_scripts_are_printed_for_each_shell(tmp_path):
    for name, text in SCRIPTS.items():
        assert typed("completion", name, cwd=tmp_path).stdout == text
    assert Path(completion.PACKAGE / "__init__.pyi").is_file()
