"""What is done is shown, whatever happens afterwards; whatever is wrong is said in one line."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import typed

from ontogeny.engine.environment import missing

CHEAP = "gradients_have_the_stated_form"


def ontogeny(*words, cwd, code=0, out=subprocess.PIPE):
    done = subprocess.run(
        [sys.executable, "-m", "ontogeny", *map(str, words)],
        cwd=cwd,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, (done.stdout or "") + done.stderr
    assert "Traceback" not in (done.stdout or "") + done.stderr
    return done


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A folder in which a claim has been judged: what follows is answered from its store."""
    folder = tmp_path_factory.mktemp("exits")
    ontogeny("judge", CHEAP, "--seeds", "5", cwd=folder)
    return folder


def spoiled(judged, tmp_path, *parts):
    """A copy of its store in which some folders cannot be written: files stand in their place."""
    subprocess.run(["cp", "-r", judged / ".ontogeny", tmp_path / "store"], check=True)
    for part in parts:
        subprocess.run(["rm", "-rf", tmp_path / "store" / part], check=True)
        (tmp_path / "store" / part).write_text("in the way")
    return tmp_path / "store"


def test_a_verdict_is_shown_though_it_cannot_be_kept(judged, tmp_path):
    store = spoiled(judged, tmp_path, "verdicts", "tmp")
    done = ontogeny("judge", CHEAP, "--seeds", "5", "--store", store, cwd=tmp_path, code=1)
    assert "✓ supported" in done.stdout and "final gradient error" in done.stdout
    assert f"the verdict on {CHEAP} not saved" in done.stderr.splitlines()[-1]


def test_a_verdict_is_shown_though_its_runs_cannot_be_kept(tmp_path):
    (tmp_path / "store").mkdir()
    for part in ("runs", "tmp", "verdicts"):
        (tmp_path / "store" / part).write_text("in the way")
    done = ontogeny("judge", CHEAP, "--seeds", "5", "--store", "store", cwd=tmp_path, code=1)
    assert "✓ supported" in done.stdout and "not saved" in done.stderr.splitlines()[-1]


def test_a_file_that_becomes_unwritable_costs_the_file_alone(judged, tmp_path):
    target = Path("/dev/full")  # it can be opened, and takes nothing
    if not target.exists():
        pytest.skip("there is no such device here")
    store = spoiled(judged, tmp_path)
    with target.open("w") as full:
        done = ontogeny(
            "judge", CHEAP, "--seeds", "5", "--store", store, cwd=tmp_path, code=1, out=full
        )
    assert "the output could not be written: No space left" in done.stderr
    verdict = json.loads((store / "verdicts" / f"{CHEAP}.laptop.json").read_text())
    assert verdict["content"]["outcome"] == "supported"


def test_a_sweep_is_shown_though_its_figure_cannot_be_written(judged, tmp_path):
    store = spoiled(judged, tmp_path, "figures", "sweeps")
    words = ["sweep", CHEAP, "--sweep", "task.ratio=1,2", "--seeds", "5", "--store", store]
    done = ontogeny(*words, cwd=tmp_path, code=1)
    assert "✓  ✓\n" in done.stdout
    assert "the sweep" in done.stderr.splitlines()[-1] and "figure" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["judge", CHEAP, "--json", "folder"], "--json folder is a folder"),
        (["judge", CHEAP, "--json", "file/x.json"], "is a file, not a folder"),
        (["judge", CHEAP, "--json", "x" * 300], "File name too long"),
        (["judge", CHEAP, "--json", "loop/x"], "Too many levels of symbolic links"),
        (["judge", CHEAP, "--store", "file"], "--store file: "),
        (["list", "--store", "file/deep"], "is a file, not a folder"),
        (["list", "--store", "loop"], "Too many levels of symbolic links"),
        (["list", "--store", "x" * 5000], "File name too long"),
        (["runs", "--store", "dangling/x"], "No such file or directory"),
        (["report", "--out", "file"], "--out file"),
        (["export", "--out", "loop"], "Too many levels"),
        (["figures", CHEAP, "--out", "file/x"], "--out"),
        (["sweep", CHEAP, "--out", "picture.xyz"], "unknown format"),
        (["sweep", CHEAP, "--out", "folder.png"], "is a folder"),
        (["weights", CHEAP, "--out", "file"], "is a file, not a folder"),
        (["judge", CHEAP, "--seeds", "1000000000000"], "seeds"),
        (["judge", ""], "an empty pattern"),
        (["sweep", CHEAP, "--set", "probes.imbalance.layer=99"], "no field"),
        (
            ["sweep", "attention_stays_balanced", "--set", "joint.probes.imbalance.layer=99"],
            "layer=99",
        ),
        pytest.param(
            ["llm", "truncating_the_right_late_layer_favours_the_answer", "--model", "folder"],
            "folder",
            marks=pytest.mark.skipif(bool(missing("llm")), reason="it needs the extra [llm]"),
        ),
    ],
)
def test_what_cannot_be_written_or_read_is_said_before_the_work(tmp_path, words, message):
    for name in ("folder", "folder.png"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("text")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    done = typed(*words, cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stdout + done.stderr
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_a_reader_who_leaves_early_is_not_missed(judged):
    words = [sys.executable, "-m", "ontogeny", "list"]
    listing = subprocess.Popen(
        words, cwd=judged, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with listing:
        listing.stdout.close()
        assert listing.stderr.read() == "" and listing.wait(30) == 0


@pytest.mark.parametrize("words", [["runs"], ["show", "OneLayer"], ["list", "--json"], ["--help"]])
def test_pipes_end_quietly(judged, words):
    """The reader takes a line, as `head -1` does, and goes."""
    with subprocess.Popen(
        [sys.executable, "-m", "ontogeny", *words],
        cwd=judged,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait(60) == 0


def test_nobody_has_to_listen_to_progress(tmp_path):
    """The work is done and kept though standard error is closed at the other end."""
    with subprocess.Popen(
        [sys.executable, "-m", "ontogeny", "judge", CHEAP, "--seeds", "5"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stderr.close()
        assert "✓ supported" in process.stdout.read() and process.wait(200) == 0
    assert (tmp_path / ".ontogeny" / "verdicts" / f"{CHEAP}.laptop.json").exists()


def test_progress_does_not_smear_in_a_pipe(tmp_path):
    done = ontogeny("weights", CHEAP, "--scale", "smoke", cwd=tmp_path)
    keeping, running, *_ = done.stderr.splitlines()
    assert keeping.startswith("keeping parameters: ") and "1 run in 1 unit" in running
    assert "\r" not in done.stderr and "\x1b" not in done.stderr


def test_a_command_that_is_told_can_be_pasted():
    from ontogeny.claims.find import find_one
    from ontogeny.claims.scale import Scale
    from ontogeny.claims.verdict import Verdict

    change = "probes.train loss.split=it's here"
    told = Verdict(find_one(CHEAP), Scale.LAPTOP, [], 5, 0.0, changes=(change,)).command
    assert shlex.split(told)[:5] == ["ontogeny", "sweep", CHEAP, "--set", change]


# ------------------------------------------------------------------------------------- interrupts

SLOW = "joint_training_yields_analogy_in_gpt2"


def interrupted(words, after, folder):
    """What a command says that is interrupted, its exit code, and how long it then takes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ontogeny", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},  # nothing is compiled yet
    )
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    said, _ = process.communicate(timeout=30)
    return said, process.returncode, time.monotonic() - began


def test_an_interrupt_within_an_import_is_heard_when_it_is_over(tmp_path):
    """Else numpy is told to be broken, or Python crashes in what is half loaded."""
    ends = [interrupted(["list"], 0.06 + 0.02 * n, tmp_path) for n in range(16)]
    # before any of it runs Python ends by the signal itself, which a shell calls 130 as well
    assert {code for _, code, _ in ends} <= {0, 130, -signal.SIGINT}
    # with its capital: an `error` is in the names of claims, which may be listed by then
    assert not [said for said, *_ in ends if "Traceback" in said or "Error" in said]


@pytest.mark.parametrize(
    ("words", "after"),
    [
        (["judge", SLOW], 1.0),
        (["judge", SLOW], 6.0),
        (["judge", SLOW, "--workers", "0"], 6.0),
        (["judge", "all"], 4.0),
        (["weights", SLOW], 4.0),
        (["bench", "--quick"], 3.0),
        (["explore", "--no-open", "--port", "0"], 3.0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_an_interrupt_ends_any_command_within_five_seconds(tmp_path, words, after):
    said, code, took = interrupted(words, after, tmp_path)
    assert "Traceback" not in said and took < 5.5, (took, said)
    assert code in (0, 130), said
