"""The command line as a person meets it, with bad input too."""

import csv
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands import typed

from ontogeny import Store
from ontogeny.claims.claim import CLAIMS

CHEAP = "gradients_have_the_stated_form"


def ontogeny(*words, cwd, expect=0):
    """What a command says, in this process; one that may start workers has one of its own."""
    if words[0] in ("--help", "judge", "sweep") and expect == 0:
        done = subprocess.run(
            [sys.executable, "-m", "ontogeny.cli.main", *map(str, words)],
            cwd=cwd,
            env=os.environ | {"COLUMNS": "160"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "160")
            done = typed(*words, cwd=cwd)
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout if expect == 0 else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which one cheap claim has been judged."""
    folder = tmp_path_factory.mktemp("cli")
    out = ontogeny("judge", CHEAP, "--json", "v.json", cwd=folder)
    assert "✓ supported" in out and "final gradient error is below 0.0001" in out
    return folder


def test_help_answers_at_once(tmp_path):
    times = []
    for _ in range(3):
        began = time.monotonic()
        out = ontogeny("--help", cwd=tmp_path)
        times.append(time.monotonic() - began)
    assert all(
        word in out for word in ("judge", "list", "show", "sweep", "report", "runs", "bench")
    )
    assert min(times) < 0.5


def test_judge_writes_the_agreed_json(folder):
    (row,) = json.loads((folder / "v.json").read_text())
    assert row["claim"] == CHEAP and row["outcome"] == "supported" and row["seeds"] == 5
    assert row["command"] == f"ontogeny judge {CHEAP} --scale laptop"
    assert row["evidence"][0]["n"] == 5 and row["seconds"] > 0


def test_an_unchanged_claim_is_answered_from_the_store(folder):
    times = []
    for _ in range(3):  # the least of three: other tests run beside this one
        began = time.monotonic()
        ontogeny("judge", CHEAP, cwd=folder)
        times.append(time.monotonic() - began)
    assert min(times) < 5


def test_list_knows_what_was_judged(folder):
    rows = {row["claim"]: row for row in json.loads(ontogeny("list", "--json", cwd=folder))}
    assert rows[CHEAP]["outcome"] == "supported" and not rows[CHEAP]["stale"]
    assert rows["attention_stays_balanced"]["outcome"] == ""
    assert rows["small_pretrained_models_suffice"]["outcome"] == "untested"
    assert f"✓ supported    {CHEAP}" in ontogeny("list", cwd=folder)


def names(*words, cwd):
    return {row["claim"] for row in json.loads(ontogeny("list", *words, "--json", cwd=cwd))}


def test_lists_are_of_an_outcome_a_paper_or_the_headlines(folder):
    untested = {each.name for each in CLAIMS.values() if each.untested}
    headlines = {each.name for each in CLAIMS.values() if each.headline}
    paper = {each.name for each in CLAIMS.values() if each.paper.key == "feature-resemblance"}
    assert names("supported", cwd=folder) == {CHEAP}
    assert names("untested", cwd=folder) == untested
    assert names("untested", "supported", cwd=folder) == {CHEAP, *untested}
    assert names("headline", cwd=folder) == headlines
    assert names("feature-resemblance", "headline", cwd=folder) == paper & headlines
    assert names("feature-resemblance", "supported", cwd=folder) == {CHEAP}
    assert names("attention", "contradicted", cwd=folder) == set()
    assert "no claim is so" in ontogeny("list", "contradicted", cwd=folder)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_names_are_never_cut(folder, width):
    lines = printed("list", cwd=folder, width=width).splitlines()
    for name in CLAIMS:
        (line,) = (line for line in lines if name in line.split())
        assert len(line) <= width or line.split()[-1] == name  # it stands alone
    assert f"{len(CLAIMS)} claims: 1 supported" in "\n".join(lines)


def printed(*words, cwd, width):
    """What a command prints in a terminal so wide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        done = typed(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_sweep_shows_where_the_verdict_flips(folder):
    out = ontogeny(
        *(
            "sweep",
            CHEAP,
            "--sweep",
            "training.0.learning_rate=0.1,1e30",
            "--seeds",
            "5",
            "--out",
            "v.png",
        ),
        *("--json", "vary.json"),
        cwd=folder,
    )
    rate = "training.0.learning_rate"
    assert out.startswith(f"supported up to {rate} = 0.1, undecided from 1e30 on\n")
    assert "not a finite number" in out
    assert (folder / "v.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads((folder / "vary.json").read_text())
    assert [row["outcome"] for row in rows] == ["supported", "undecided"]
    assert f"  trained, {rate}=1e30  seeds 0–4, " in ontogeny("runs", cwd=folder)
    assert rows[0]["command"].startswith(
        f"ontogeny sweep {CHEAP} --set training.0.learning_rate=0.1"
    )


def test_two_sweeps_make_a_phase_diagram(folder):
    out = ontogeny(
        *("sweep", CHEAP, "--set", "trained.task.tuples=4", "--sweep", "task.ratio=1,2"),
        *("--sweep", "model.scale=0.1,0.5", "--seeds", "5", "--out", "phase.pdf"),
        cwd=folder,
    )
    first, *_ = out.splitlines()
    assert first.startswith("model.scale=0.1,0.5: supported from task.ratio = 1 to 2")
    grid = re.findall(r"^(\S+) +([✓✗?]) +([✓✗?])$", out, flags=re.M)
    assert grid == [("0.1", "✓", "✓"), ("0.5", "✓", "✓")]
    assert (folder / "phase.pdf").read_bytes().startswith(b"%PDF")


def test_the_report_is_one_page_that_needs_nothing_else(folder):
    out = ontogeny("report", "--out", "page", cwd=folder)
    untested = sum(bool(each.untested) for each in CLAIMS.values())
    assert f"{1 + untested} verdicts" in out  # the cheap one, and the untested ones
    page = (folder / "page" / "index.html").read_text()
    assert "gradients of all three matrices" in page and 'class="interval-plot"' in page
    assert f"ontogeny judge {CHEAP}" in page and "tuples: 10" in page
    loads = re.findall(r"(?:src|href)=\"(https?://[^\"]*)\"", page)
    assert all(link.startswith("https://arxiv.org/") for link in loads)  # links, nothing fetched
    assert "default-src 'none'" in page and "connect-src 'none'" in page and "@import" not in page


def test_figures_come_with_their_data_a_table_and_references(folder):
    out = ontogeny("figures", CHEAP, "--out", "figs", cwd=folder).split()
    kinds = {Path(name).suffix for name in out}
    assert kinds == {".pdf", ".svg", ".png", ".csv", ".tex", ".bib"}
    pdf = (folder / "figs" / "curves.pdf").read_bytes()
    assert pdf.startswith(b"%PDF") and b"/FontFile2" in pdf  # fonts are embedded
    assert "toprule" in (folder / "figs" / "table.tex").read_text()
    assert "eprint = {2603.05143}" in (folder / "figs" / "references.bib").read_text()
    with (folder / "figs" / "curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["seed"] for row in rows} == {"0", "1", "2", "3", "4"}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_exported_rows_are_those_of_the_store(folder, kind):
    parquet = pytest.importorskip("pyarrow.parquet") if kind == "parquet" else None
    ontogeny("export", CHEAP, "--out", "tidy", "--format", kind, cwd=folder)
    if kind == "csv":
        with (folder / "tidy" / "evidence.csv").open() as file:
            rows = list(csv.DictReader(file))
    else:
        rows = parquet.read_table(folder / "tidy" / "evidence.parquet").to_pylist()
    verdict = Store(folder / ".ontogeny").note("verdicts", f"{CHEAP}.laptop")
    assert [row["evidence"] for row in rows] == [item["text"] for item in verdict["evidence"]]
    ours = [float(row["ours"]) for row in rows]
    np.testing.assert_allclose(ours, [item["ours"] for item in verdict["evidence"]], rtol=1e-6)


def test_a_report_of_nothing_says_so(tmp_path):
    ontogeny("report", "gradients", "--out", "page", cwd=tmp_path)
    assert "Nothing has been judged yet" in (tmp_path / "page" / "index.html").read_text()


def test_runs_lists_and_prunes(folder):
    out = ontogeny("runs", cwd=folder)
    assert re.search(rf"^{CHEAP}\n(?:  .*\n)*?  trained  seeds 0–4, ", out, flags=re.M)
    assert "runs in .ontogeny" in out
    rows = json.loads(ontogeny("runs", "--json", cwd=folder))
    assert len(rows) >= 5 and all(row["bytes"] > 0 for row in rows)
    assert sum(row["claims"] == [f"{CHEAP}: trained"] for row in rows) == 5
    assert "freed" in ontogeny("runs", "--prune", cwd=folder)
    kept = json.loads(ontogeny("runs", "--json", cwd=folder))
    assert len(kept) == 5  # what vary made is gone, what the claim needs is there
    assert "0 runs" in ontogeny("runs", "--store", "nowhere", cwd=folder)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["judge", "gradient_have_the_stated_forms"], f"did you mean '{CHEAP}'"),
        (["judge", ""], "an empty pattern names no claim"),
        (["list", "******!"], "no claim '******!'"),
        (["list", "contradictd"], "did you mean 'contradicted'?"),
        (["show", "twohop"], "no claim 'twohop': did you mean 'TwoHop'?"),
        (["show", "Acuracy"], "did you mean 'Accuracy'?"),
        (["completion", "bsh"], "unknown shell 'bsh': did you mean 'bash'?"),
        (["judge", CHEAP, "--scale", "laptp"], "unknown scale 'laptp': did you mean 'laptop'"),
        (["figures", CHEAP, "--store", "nowhere"], f"{CHEAP} is not judged in this store"),
        (["figures", CHEAP, "--width", "0"], "--width must be from 1 to 30 inches, not 0"),
        (["export", "--format", "cvs"], "unknown format 'cvs': did you mean 'csv'"),
        (["explore", "--port", "99999", "--no-open"], "--port 99999"),
        (["judge", CHEAP, "--seeds", "0"], "seeds must be at least 1, not 0"),
        (["judge", CHEAP, "--workers", "-1"], "--workers must be at least 0"),
        (["judge", CHEAP, "--hours", "0"], "--hours must be more than 0"),
        (["show", "joint"], "could be any of"),
        (["sweep", CHEAP, "--set", "task.ration=3"], "did you mean 'task.ratio'"),
        (["sweep", CHEAP, "--set", "traned.task.ratio=3"], "did you mean 'trained.task.ratio'"),
        (["sweep", CHEAP, "--set", "task.ratio"], "is not PATH=VALUE"),
        (["sweep", CHEAP, "--set", "task.ratio=much"], "expected a number"),
        (["sweep", CHEAP, "--set", "task.tuples=0"], "Analogy.tuples must be at least 1"),
        (["sweep", CHEAP, "--set", "model.width=8"], "too small for 42 orthonormal tokens"),
        (
            ["sweep", CHEAP, "--set", "training.0.learning_rate=-1"],
            "GradientDescent.learning_rate must be at least 0",
        ),
        (["sweep", CHEAP, "--set", "training.0.learning_rate=nan"], "must be a finite number"),
        (["sweep", CHEAP, "--sweep", "task.ratio=1,1"], "must be there and differ"),
        (["sweep", "small_pretrained_models_suffice"], "cannot be run here"),
        (["examine", "nothing.py:Model"], "there is no file nothing.py"),
        (["weights", CHEAP, "--format", "gpt2"], "a OneLayer is no GPT-2"),
        (["weights", CHEAP, "--experiment", "trainde"], "did you mean 'trained'"),
        (["models", "get", "smolm"], "did you mean 'smollm2-135m'"),
        (["vary", CHEAP], "`vary` is now called `ontogeny sweep`"),
        (["llm", CHEAP], "no claim about pretrained models is called"),
    ],
)
def test_bad_input_is_named_with_exit_code_2(tmp_path, words, message):
    err = ontogeny(*words, cwd=tmp_path, expect=2)
    assert message in err and "Traceback" not in err


def test_a_store_that_is_a_file_is_refused(tmp_path):
    Path(tmp_path / "store").write_text("no folder")
    assert "is a file" in ontogeny("runs", "--store", "store", cwd=tmp_path, expect=2)


def test_unknown_words_exit_with_an_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "ontogeny.cli.main", "jugde"],
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2 and b"judge" in done.stdout + done.stderr
