"""Claims that live outside the package are claims like ours."""

import importlib
import json
import shlex
import subprocess
import sys
import textwrap
from functools import partial

import pytest
from commands import typed
from own_claims import put
from small import ROOT

from ontogeny import ConfigError, Scale, Verdict, execute
from ontogeny.claims import outside
from ontogeny.claims.claim import CLAIMS, all_claims
from ontogeny.claims.find import find
from ontogeny.claims.status import remember, wanted
from ontogeny.claims.verdict import judge
from ontogeny.report.explorer import Explorer


def test_a_file_is_a_pattern_like_a_name_or_a_paper(folder):
    put(folder)
    assert [c.name for c in find(["mine.py"])] == ["doubled_is_more"]
    assert [c.name for c in find(["mine.py:doubled_is_more"])] == ["doubled_is_more"]
    assert find(["own"]) == find(["doubled_is_more"]) == find(["mine.py"])
    assert "doubled_is_more" in {c.name for c in find([])}  # a headline among ours


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("there_is_none.py", "no file there_is_none.py"),
        ("mine.py:doubled_is_mor", "did you mean 'doubled_is_more'"),
        ("empty.py", "registers no claim"),
        ("broken.py", "broken.py cannot be imported: .*division by zero"),
        ("json.py", "a module called json is imported from .* rename one"),
        ("my-claims.py", "no name that Python imports"),
    ],
)
def test_a_file_without_claims_is_said_in_a_line(folder, words, said):
    put(folder)
    for name, text in (("empty", ""), ("broken", "1 / 0"), ("json", ""), ("my-claims", "")):
        (folder / f"{name}.py").write_text(text)
    with pytest.raises(ConfigError, match=said) as error:
        find([words])
    assert "\n" not in str(error.value)


def test_two_claims_of_one_name_are_an_error_that_names_both_places(folder):
    put(folder)
    put(folder, "other.py")
    find(["mine.py"])
    with pytest.raises(ConfigError) as error:
        find(["other.py"])
    assert "two claims are called doubled_is_more" in str(error.value)
    assert str(folder / "mine.py") in str(error.value) and "other.py, line 14" in str(error.value)


def test_a_claim_or_a_paper_of_ours_cannot_be_taken_over(folder):
    put(folder, "taken.py", name="attention_stays_balanced")
    with pytest.raises(ConfigError, match=r"attention_stays_balanced: .*theorems.py, line \d+"):
        find(["taken.py"])
    put(folder, "key.py", key="mechanisms")
    with pytest.raises(ConfigError, match=r"two papers have the key mechanisms: .*key\.py"):
        find(["key.py"])


def test_a_module_that_is_loaded_again_replaces_its_claims(folder):
    path = put(folder)
    (old,) = find(["mine.py"])
    path.write_text(path.read_text().replace("above the loss", "never below the loss"))
    importlib.reload(sys.modules["mine"])
    (new,) = find(["mine.py"])
    assert "never below" in new.says and "never below" not in old.says


def test_a_project_lists_its_claims_in_pyproject(folder, monkeypatch):
    (folder / "pyproject.toml").write_text(
        '[tool.ontogeny]\nclaims = ["study.claims", "more.py"]\n'
    )
    put(folder, "study/claims.py", probes="study.own_probes")
    (folder / "study" / "__init__.py").write_text("")
    put(folder, "more.py", name="doubled_again", probes="more_probes")
    inside = folder / "deep" / "below"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert {"doubled_is_more", "doubled_again"} <= set(all_claims())
    assert {module.__name__ for module in outside.modules()} >= {"study", "more", "more_probes"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("claims = 'study'", "must be a list of files or modules"),
        ("claim = ['study']", "no 'claim': only claims"),
        ("claims = [", "pyproject.toml cannot be read"),
        ("claims = ['nowhere']", "pyproject.toml, .* claims: nowhere cannot be imported"),
    ],
)
def test_a_wrong_table_is_said_in_a_line(folder, table, said):
    (folder / "pyproject.toml").write_text(f"[tool.ontogeny]\n{table}\n")
    with pytest.raises(ConfigError, match=said):
        all_claims()


def test_an_installed_package_brings_claims_by_an_entry_point(folder, monkeypatch):
    put(folder, "site/plugin.py")
    info = folder / "site" / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ontogeny.claims]\nmine = plugin\n")
    monkeypatch.syspath_prepend(folder / "site")
    outside.installed.cache_clear()
    assert "doubled_is_more" in all_claims()
    assert "plugin" in {module.__name__ for module in outside.modules()}  # it goes to Ray


def test_of_an_installed_package_nothing_that_lies_beside_it_is_sent(folder, monkeypatch):
    put(folder, "site/study.py", probes="study_probes")
    monkeypatch.syspath_prepend(folder / "site")
    outside.load("study")
    assert {each.__name__ for each in outside.modules()} >= {"study", "study_probes"}
    monkeypatch.setattr(outside, "_installations", lambda: {folder / "site"})
    sent = {each.__name__ for each in outside.modules()}
    assert "study" in sent and "study_probes" not in sent


def test_one_that_cannot_be_loaded_is_named(folder, monkeypatch):
    info = folder / "site" / "plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ontogeny.claims]\nmine = gone_away\n")
    monkeypatch.syspath_prepend(folder / "site")
    outside.installed.cache_clear()
    with pytest.raises(ConfigError, match=r"package plugin \(gone_away\) cannot be loaded"):
        all_claims()


COMMANDS = (
    "list own",
    "show doubled_is_more",
    "judge doubled_is_more --workers 2 --json judged.json",
    "sweep doubled_is_more --sweep task.ratio=1,2 --workers 0 --seeds 2",
    "report own",
    "figures doubled_is_more",
    "export own",
    "runs --prune",
    "weights doubled_is_more",
)


def test_every_command_takes_claims_of_ones_own(folder):
    """In a process of its own, as a user types it: workers import the file too."""
    put(folder)
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from ontogeny.cli.main import run
        for words in {COMMANDS!r}:
            print(words, "->", run([*words.split(), "--claims", "mine.py"]))
    """)
    (folder / "drive.py").write_text(
        f"if __name__ == '__main__':\n{textwrap.indent(script, '    ')}"
    )
    done = subprocess.run(
        [sys.executable, "drive.py"], capture_output=True, text=True, timeout=300, check=True
    )
    for words in COMMANDS:
        assert f"{words} -> 0" in done.stdout, done.stderr + done.stdout
    (verdict,) = json.loads((folder / "judged.json").read_text())
    assert verdict["outcome"] == "supported" and verdict["paper"] == "own"
    assert "doubled_is_more" in (folder / "report" / "index.html").read_text()


def test_the_command_that_is_printed_finds_the_claim_again(folder, store):
    put(folder, "my claims/mine.py")
    place = "my claims/mine.py"
    words = ("--scale", "smoke", "--seeds", "2", "--workers", "0", "--json", "v.json")
    assert typed("judge", f"{place}:doubled_is_more", *words, cwd=folder).returncode == 0
    (verdict,) = json.loads((folder / "v.json").read_text())
    assert verdict["command"].endswith("--claims 'my claims/mine.py'")
    assert typed(*shlex.split(verdict["command"])[1:2], place, cwd=folder).returncode == 0
    (ours,) = find(["attention_stays_balanced"])
    assert "--claims" not in Verdict(ours, Scale.LAPTOP, [], 1, 0.0).command


def test_what_the_explorer_starts_has_the_claims_that_it_was_given(folder, store, monkeypatch):
    put(folder)
    outside.load("mine.py")
    explorer, started = Explorer(store), []
    monkeypatch.setattr("subprocess.Popen", lambda command, **_: started.append(command) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        explorer.start({"claim": "doubled_is_more", "scale": "smoke"})()
    at = started[0].index("--claims")
    assert started[0][at + 1] == str(folder / "mine.py")
    assert "A loss that is doubled" in explorer.get("/", {}).text


def test_pruning_keeps_the_runs_of_a_claim_that_is_not_loaded(folder, store):
    put(folder)
    (mine,) = find(["mine.py"])
    for verdict in judge([mine], partial(execute, store=store), seeds=2):
        remember(store, verdict)
    del CLAIMS["doubled_is_more"]
    store.prune(wanted(store))
    assert len(store.names()) == 2
    (store.root / "verdicts" / "doubled_is_more.laptop.json").unlink()
    store.prune(wanted(store))
    assert not store.names()


def test_a_command_takes_a_file_where_it_takes_a_name(folder):
    put(folder)
    done = typed("show", "mine.py:doubled_is_more", cwd=folder)
    assert done.returncode == 0 and "A loss that is doubled" in done.stdout
    assert typed("list", "mine.py", cwd=folder).returncode == 0
    done = typed("list", "--claims", "no_such_module", cwd=folder)
    assert done.returncode == 2 and "no such module" in done.stderr
