"""Work in processes of its own; what dies goes on from its checkpoint; two may share a store."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import tiny

from ontogeny import Invalid, execute
from ontogeny.perform import Lane
from ontogeny.workers import Here, Progress

CLAIM = "the_ratio_sets_the_resemblance"


class Watch(Progress):
    def __init__(self):
        self.looks, self.done, self.workers = 0, 0, 0

    def planned(self, units, workers):
        self.workers = workers

    def looked(self, unit, look):
        self.looks += 1
        assert 0 <= look.step <= look.steps

    def finished(self, unit):
        self.done += 1


def judged(store, file, **environment):
    """`ontogeny judge` in a process group of its own, checkpointing at every look."""
    words = ("judge", CLAIM, "--seeds", "3", "--store", store, "--json", file)
    return subprocess.Popen(
        [sys.executable, "-m", "ontogeny.cli", *words],
        env=os.environ | {"ONTOGENY_CHECKPOINT_SECONDS": "0"} | environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def numbers(file):
    (verdict,) = json.loads(file.read_text())
    return [(e["text"], e["ours"], e["low"], e["high"]) for e in verdict["evidence"]]


def same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one[0] == other[0] and one[1:] == pytest.approx(other[1:], rel=1e-5)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    process = judged(str(folder / "store"), str(folder / "v.json"))
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "undecided" in out  # as three seeds leave it
    return numbers(folder / "v.json")


def test_processes_give_what_this_process_gives():
    experiments = {"a": tiny(), "b": tiny(width=20)}
    watch = Watch()
    there = execute(experiments, seeds=2, workers=2, progress=watch)
    assert watch.workers == 2 and watch.done == 2 and watch.looks == 2 * 11
    here = execute(experiments, seeds=2)
    for name, run in here.items():
        for probe, values in run.answers.items():
            np.testing.assert_allclose(values, there[name].answers[probe], rtol=1e-5, atol=1e-5)


def test_what_a_worker_refuses_is_refused_here():
    with pytest.raises(Invalid, match="too small for 14 orthonormal tokens"):
        execute({"narrow": tiny(width=8)}, seeds=1, workers=1)


def test_a_script_that_workers_cannot_import_is_told_what_to_do():
    code = (
        "from ontogeny import *\n"
        "task, model = Analogy(tuples=3), OneLayer(width=16)\n"
        "taught = (Descent(steps=1, rate=1.0),)\n"
        "execute({'a': Experiment(task, model, taught, {'l': Loss('train')})}, 1, workers=1)\n"
    )
    piped = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, text=True, check=False, timeout=120
    )
    assert piped.returncode == 1 and "must be a file" in piped.stderr.splitlines()[-1]


def test_a_worker_that_dies_is_replaced_and_goes_on_from_its_checkpoint(store, monkeypatch):
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    killed, after = [], []

    class Murder(Progress):
        def looked(self, unit, look):
            import multiprocessing

            if killed:
                after.append(look.step)
            elif look.step == 16:
                victim = multiprocessing.active_children()[0]
                os.kill(victim.pid, signal.SIGKILL)
                killed.append(victim.pid)

    run = execute({"x": tiny()}, seeds=2, workers=1, store=store, progress=Murder())["x"]
    whole = execute({"x": tiny()}, seeds=2)["x"]
    assert killed and min(after) > 4 and after[-1] == 40
    np.testing.assert_allclose(run.curve("train loss"), whole.curve("train loss"), rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_a_random_moment_it_resumes_to_the_same_numbers(tmp_path, undisturbed, seed):
    store, file = tmp_path / "store", tmp_path / "v.json"
    wait = random.Random(seed).uniform(4, 9)
    process = judged(str(store), str(file))
    try:
        process.wait(timeout=wait)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # no chance to tidy up, workers included
    process.communicate()
    again = judged(str(store), str(file))
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    same(numbers(file), undisturbed)


def test_an_interrupt_keeps_what_was_done(tmp_path, undisturbed):
    store, file = tmp_path / "store", tmp_path / "v.json"
    process = judged(str(store), str(file), ONTOGENY_CHECKPOINT_SECONDS="1000")
    deadline = time.monotonic() + 120
    for line in process.stderr:  # wait until it is at work
        if "step" in line or time.monotonic() > deadline:
            break
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    if process.returncode != 0:  # it may have been quicker
        assert process.returncode == 130 and "what was done is kept" in err
    again = judged(str(store), str(file))
    again.communicate(timeout=300)
    same(numbers(file), undisturbed)


def test_two_judgements_on_one_store_do_not_harm_each_other(tmp_path, undisturbed):
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    both = [judged(str(tmp_path / "store"), str(file)) for file in files]
    for process in both:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    for file in files:
        same(numbers(file), undisturbed)
    assert not (tmp_path / "store" / "damaged").exists()


def test_the_expected_time_is_said_before_work_begins_and_grows_with_it():
    from dataclasses import replace

    from ontogeny.engine import plan
    from ontogeny.progress import Counted, expected

    (unit,) = plan([Lane("x", tiny(), 0)], Here())
    large = replace(unit, cost=1e15)
    assert 0 < expected([unit], 1) < expected([large], 1)
    counted = Counted()
    counted.planned([large], 1)
    assert counted.left.startswith("about ") and counted.left.endswith(("min", " h"))
