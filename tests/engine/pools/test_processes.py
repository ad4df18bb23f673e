"""Work in processes of its own; what dies goes on from its checkpoint."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from small import ROOT, TESTS, tiny

from ontogeny import ConfigError, execute
from ontogeny.core.errors import ended
from ontogeny.engine.pools.limits import Pace
from ontogeny.engine.schedule import Progress
from ontogeny.engine.units import News

CLAIM = "the_ratio_sets_the_resemblance"


class Watch(Progress):
    def __init__(self):
        self.evaluations, self.done, self.workers = 0, 0, 0

    def planned(self, units, workers):
        self.workers = workers

    def evaluated(self, unit, news):
        self.evaluations += 1
        assert 0 <= news.step <= news.steps

    def finished(self, unit):
        self.done += 1


def judged(store, file, **environment):
    """`ontogeny judge` in a process group of its own, checkpointing at every look."""
    words = ("judge", CLAIM, "--seeds", "3", "--store", store, "--json", file)
    return subprocess.Popen(
        [sys.executable, "-m", "ontogeny.cli.main", *words],
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
    assert watch.workers == 2 and watch.done == 2 and watch.evaluations == 2 * 11
    here = execute(experiments, seeds=2)
    alone = execute(experiments, seeds=2, workers=1)
    for name, run in here.items():
        for probe, values in run.answers.items():
            np.testing.assert_allclose(values, there[name].answers[probe], rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(alone[name].answers[probe], there[name].answers[probe])


def test_what_a_worker_refuses_is_refused_here():
    with pytest.raises(ConfigError, match="too small for 14 orthonormal tokens"):
        execute({"narrow": tiny(width=8)}, seeds=1, workers=1)


def test_a_script_that_workers_cannot_import_is_told_what_to_do():
    code = (
        "from ontogeny import *\n"
        "task, model = Analogy(tuples=3), OneLayer(width=16)\n"
        "taught = (GradientDescent(steps=1, learning_rate=1.0),)\n"
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
        def evaluated(self, unit, news):
            import multiprocessing

            if killed:
                after.append(news.step)
            elif news.step == 16:
                victim = multiprocessing.active_children()[0]
                os.kill(victim.pid, signal.SIGKILL)
                killed.append(victim.pid)

    run = execute({"x": tiny()}, seeds=2, workers=1, store=store, progress=Murder())["x"]
    whole = execute({"x": tiny()}, seeds=2)["x"]
    assert killed and min(after) > 4 and after[-1] == 40
    np.testing.assert_allclose(run.curve("train loss"), whole.curve("train loss"), rtol=1e-5)


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


def news(step):
    return "news", News(step, 9, 0.0, step / 9)


def test_a_unit_that_was_paused_goes_on_in_another_process_to_the_bit(store, monkeypatch):
    monkeypatch.setattr("ontogeny.engine.schedule.WORTH_SENDING", 0.0)
    monkeypatch.setattr("ontogeny.engine.program._FLOPS_SIDE_BY_SIDE", 0.0)  # a unit for each run

    class Watching(Watch):
        pauses = 0

        def paused(self, unit):
            self.pauses += 1

    watch = Watching()
    experiment = tiny(steps=4000)
    run = execute({"x": experiment}, seeds=3, workers=2, store=store, progress=watch)["x"]
    assert watch.pauses and watch.done == 3
    alone = execute({"x": experiment}, seeds=3, workers=1)["x"]
    for probe, values in run.answers.items():
        np.testing.assert_array_equal(values, alone.answers[probe])


def test_an_experiment_that_fails_is_noted_and_left_out():
    for workers in (0, 1):
        failures = {}
        experiments = {"narrow": tiny(width=8), "x": tiny()}
        runs = execute(experiments, seeds=1, workers=workers, failures=failures)
        assert list(runs) == ["x"] and runs["x"].curve("train loss").shape[0] == 1
        assert list(failures) == ["narrow"]
        assert failures["narrow"].startswith("OneLayer.width=8 is too small for 14")


def test_an_evaluation_may_take_longer_than_those_before_but_not_for_ever():
    now = [0.0]
    pace = Pace(None, work=1.0, clock=lambda: now[0])
    assert pace.allowed == 600  # modules are imported, programs compiled
    now[0] = 10.0
    pace.heard()
    assert pace.allowed == 200 and not pace.overdue  # twenty times what it took
    now[0] = 211.0
    assert pace.overdue
    assert Pace(None, work=50.0).allowed == 5000  # what is large may be slow
    fixed = Pace(3.0, work=50.0)
    fixed.heard()
    assert fixed.allowed == 3


def test_what_a_worker_dies_of_is_said():
    assert ended(3) == "it ended the process (exit code 3)"
    assert ended(-signal.SIGSEGV) == "it crashed (SIGSEGV)"
    assert ended(-signal.SIGKILL) == "it was killed (SIGKILL; out of memory?)"
    assert ended(-99) == "it crashed (signal 99)"


SCRIPT = """
from dataclasses import replace
from small import ROOT, TESTS, tiny
from ontogeny import Loss, Store, execute
FACTOR = 1.0

class Above(Loss):
    def __call__(self, now):
        return FACTOR * super().__call__(now)

if __name__ == "__main__":
    FACTOR = 3.0

    class Below(Above):
        def __call__(self, now):
            return 2 * super().__call__(now)

    probes = tiny().probes | {"above": Above("train"), "below": Below("train")}
    for workers in (2, 0):
        store = Store("store")
        before = len(store.names())
        asked = {"x": replace(tiny(), probes=probes)}
        final = execute(asked, seeds=2, workers=workers, store=store)["x"].final
        ratios = [final(name).values / final("train loss").values for name in ("above", "below")]
        print(*[round(float(each.mean()), 3) for each in ratios], len(store.names()) - before)
"""


def test_what_a_script_defines_and_sets_where_it_runs_is_sent_to_workers(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    paths = os.pathsep.join(map(str, (ROOT, TESTS)))
    done = subprocess.run(
        [sys.executable, "script.py"], env=os.environ | {"PYTHONPATH": paths}, cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["3.0 6.0 2", "3.0 6.0 0"], done.stderr
