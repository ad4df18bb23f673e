"""Modules that fail while they train: their benchmark says so, the others go on; and
whatever ends the command ends them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid

import pytest

from ontogeny import ConfigError
from ontogeny.cli import scorecard
from ontogeny.engine.pools import children
from ontogeny.scorecard.battery import battery
from ontogeny.scorecard.examine import Isolation, examine

pytest.importorskip("torch")

# After so many training steps it does what its benchmark's name says (told by the batch size)
MODULE = """
import ctypes, os, sys, time, torch
from torch import nn

class Model(nn.Module):
    def __init__(self, vocab, length):
        super().__init__()
        self.embed, self.read = nn.Embedding(vocab, 4), nn.Linear(4, vocab)
        self.steps = 0

    def forward(self, tokens):
        self.steps += self.training and len(tokens) > 3
        if self.steps > 25:
            match tuple(tokens.shape):
                {cases}
        return self.read(self.embed(tokens))
"""
EXCEPTION = 'case (96, 9): raise KeyError("why")'  # match to sample
EXIT = "case (96, 1): os._exit(7)"  # copying
LOOP = "case (96, 3):\n                    while True: pass"  # majority
MEMORY = "case (150, 2): kept = torch.ones(10**9)"  # analogy
NAN = "case (96, 2): tokens = tokens * 0; self.read.weight.data.fill_(float('nan'))"  # same, …


@pytest.fixture
def sat(tmp_path, monkeypatch):
    """The scorecard of a module that misbehaves in some benchmarks."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads that wait for each other take long

    def write(case, folder=tmp_path):
        file = folder / "mine.py"
        file.write_text(MODULE.format(cases=case))
        return f"{file}:Model"

    def choose(*names):
        chosen = tuple(benchmark for benchmark in battery("quick") if benchmark.name in names)
        monkeypatch.setattr("ontogeny.scorecard.examine.benchmarks_of", lambda name: chosen)

    def sit(names, *cases, **how):
        choose(*names)
        isolation = Isolation(None, tmp_path / "store", **how)
        file = write("\n                ".join((*cases, "case _: pass")))
        return examine(file, references="none", seeds=1, isolation=isolation)

    sit.write, sit.choose = write, choose
    return sit


def test_benchmarks_in_which_a_module_fails_say_so_and_the_others_go_on(sat, monkeypatch):
    monkeypatch.setenv("ONTOGENY_EVALUATION_SECONDS", "10")
    names = ("match to sample", "copying", "majority", "analogy", "same or different", "two hops")
    card = sat(names, EXCEPTION, EXIT, LOOP, MEMORY, NAN, workers=2, memory=2.0)
    marks = card["examined"]["skills"]
    failed = {
        "match to sample": r"^seed 0: KeyError: 'why' \(mine.py, line \d+: .*\), on tokens .*"
        r" \(after step 20\)$",
        "copying": r"^seed 0: it ended the process \(exit code 7\) \(after step 20\)$",
        "majority": r"^seed 0: it did not come to an end within 10 s \(after step 20\)$",
        "analogy": r"^seed 0: it took more than 2 GB \(after step 15\)$",
    }
    for name, words in failed.items():
        assert re.search(words, marks[name]["failed"]), (name, marks[name])
        assert marks[name]["accuracy"] is None and name not in card["ranks"]
    assert len(marks["two hops"]["accuracy"]["each"]) == 1 and "failed" not in marks["two hops"]
    assert "not a finite number" in marks["same or different"]["failures"][0]
    assert "failed" not in marks["same or different"]


def test_without_workers_a_crash_leaves_what_was_done_before(sat, tmp_path, capsys):
    from ontogeny.scorecard.scorecard import figure, table

    sat.choose("copying", "match to sample")  # the costlier comes first
    folder, file = tmp_path / "card", sat.write("case (96, 1): ctypes.string_at(0)")
    with pytest.raises(SystemExit) as left:
        scorecard.examine(file, seeds=1, references="none", out=folder, workers=0, store=tmp_path)
    assert left.value.code == 1
    why = "seed 0: it crashed (SIGSEGV) (after step 20)"
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == f"ontogeny: {file} failed in 1 of 2 skills; copying, {why}"
    card = json.loads((folder / "scorecard.json").read_text())
    marks = card["examined"]["skills"]
    assert marks["copying"]["failed"] == why
    assert len(marks["match to sample"]["accuracy"]["each"]) == 1
    assert f"failed: {why}" in [text.get_text() for text in figure(card).axes[0].texts]
    caption = str(table(card).caption)
    assert "1 failed" in caption and f"✗ copying: {why}" in caption
    assert "Segmentation fault" in (folder / "output.txt").read_text()  # Python's own info


def test_one_that_never_ends_is_ended_without_workers_too(sat, monkeypatch):
    monkeypatch.setenv("ONTOGENY_EVALUATION_SECONDS", "4")
    words = (
        r"failed in every benchmark; .*majority, seed 0: it did not come to an end within 4 s \("
    )
    with pytest.raises(ConfigError, match=words):
        sat(("majority",), LOOP)


def test_time_for_all_of_it_may_be_limited(sat):
    with pytest.raises(ConfigError, match=r"within 3 s \(--minutes 0\.05\)"):
        sat(("majority",), LOOP, minutes=0.05)
    with pytest.raises(ConfigError, match="--minutes must be above 0, not -1"):
        sat(("majority",), minutes=-1)
    with pytest.raises(ConfigError, match=r"--memory must be at least 1 \(GB\), not 0.1"):
        sat(("majority",), memory=0.1)


# ---------------------------------------------------------------------------------- the command


def command(folder, module, workers="0"):
    """`ontogeny examine`, and a mark that all of its processes bear."""
    mark = f"ONTOGENY_ATTACK={uuid.uuid4().hex}"
    name, _, value = mark.partition("=")
    process = subprocess.Popen(
        [sys.executable, "-m", "ontogeny.cli.main", "examine", module, "--references", "none",
         "--workers", workers, "--store", str(folder / "store"), "--out", str(folder / "card")],
        env=os.environ | {name: value},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    return process, mark


def gone(mark, seconds):
    """Whether all who bear a mark have ended in so many seconds."""
    until = time.monotonic() + seconds
    while children.marked(mark) and time.monotonic() < until:
        time.sleep(0.1)
    return not children.marked(mark)


def test_the_command_names_what_ended_the_process(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import os\nprint('so far')\nos._exit(3)")
    process, mark = command(tmp_path, f"{file}:Model")
    out, err = process.communicate(timeout=120)
    line = f"{file}:Model: it ended the process (exit code 3) while the module was being imported"
    assert (process.returncode, out, err) == (2, "", f"ontogeny: {line}\n")
    assert (tmp_path / "card" / "output.txt").read_text() == "so far\n"
    assert gone(mark, 0)


def test_whatever_ends_the_command_ends_a_worker_that_would_never_end(sat, tmp_path):
    folders, started = [tmp_path / "stopped", tmp_path / "killed"], []
    for folder in folders:
        folder.mkdir()
        loop = f"case _:\n{' ' * 20}open({str(folder / 'reached')!r}, 'w')\n"
        file = sat.write(f"{loop}{' ' * 20}while True: pass", folder)
        started.append(command(folder, file, workers="1"))
    (stopped, mark), (killed, other) = started
    try:
        until = time.monotonic() + 120
        while not all((folder / "reached").exists() for folder in folders):
            assert stopped.poll() is None and killed.poll() is None and time.monotonic() < until
            time.sleep(0.1)
        for each in (mark, other):  # the command, its child, a worker and what that is forked from
            assert len(children.marked(each)) >= 4
        stopped.send_signal(signal.SIGINT)
        _, err = stopped.communicate(timeout=5)
        assert stopped.returncode == 130 and gone(mark, 0)
        assert "what was done is kept" in err.splitlines()[-1] and "Traceback" not in err
        killed.kill()
        assert gone(other, 10)
    finally:
        for process, _ in started:
            process.kill()
            process.communicate()


def test_a_module_that_kills_the_command_dies_with_it(tmp_path):
    file = tmp_path / "mine.py"
    code = "import os, time\nif os.fork():\n    os.kill(os.getppid(), 9)\ntime.sleep(600)"
    file.write_text(code)
    process, mark = command(tmp_path, f"{file}:Model")
    process.communicate(timeout=60)
    assert process.returncode == -9 and gone(mark, 10)
