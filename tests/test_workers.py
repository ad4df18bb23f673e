"""Work in processes of its own; what dies goes on from its checkpoint."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from conftest import tiny

from ontogeny import ConfigError, execute
from ontogeny.core.errors import ended
from ontogeny.engine.execute import plan
from ontogeny.engine.pools.here import Here
from ontogeny.engine.pools.limits import Pace
from ontogeny.engine.progress import Counted
from ontogeny.engine.runs import specs
from ontogeny.engine.schedule import Progress, Scheduler, WorkerError
from ontogeny.engine.units import News, Unit

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


def test_the_expected_time_is_said_before_work_begins_and_grows_with_it():
    (unit,) = plan(specs("x", tiny(), [0]), Here())
    large = replace(unit, cost=1e5)
    small, counted = Counted(), Counted()
    small.planned([unit], 1)
    counted.planned([large], 1)
    assert 0 < small.seconds_left < counted.seconds_left
    assert counted.left.startswith("about ") and counted.left.endswith(("min", " h"))


def estimates(monkeypatch, thought, taken):
    """Units one after the other, of which each takes something else than was thought: by what
    factor the time left is wrong, second by second from the first minute on."""
    now, found = [0.0], []
    monkeypatch.setattr("ontogeny.engine.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr("ontogeny.engine.progress.slowness", lambda: 1.0)
    (unit,) = plan(specs("x", tiny(), [0]), Here())
    units = [replace(unit, cost=cost, first=False) for cost in thought]
    counted, end = Counted(), sum(taken)
    counted.planned(units, 1)
    for each, seconds in zip(units, taken, strict=True):
        counted.began(each)
        for step in range(1, 11):
            now[0] += seconds / 10
            counted.evaluated(each, News(step, 10, 0.0, step / 10))
            if 60 <= now[0] < 0.98 * end:
                found.append(counted.seconds_left / (end - now[0]))
        counted.finished(each)
    assert counted.seconds_left < 1 and counted.fraction == pytest.approx(1.0)
    return np.array(found)


@pytest.mark.parametrize("wrong", [0.2, 0.5, 1.0, 2.0, 5.0])
def test_the_time_left_follows_what_is_seen(monkeypatch, wrong):
    """A machine that is slower or faster than was thought: right within a factor of two."""
    wrongs = estimates(monkeypatch, [18 / wrong] * 20, [18] * 20)
    assert wrongs.min() > 0.5 and wrongs.max() < 2


def test_the_time_left_is_right_though_each_unit_is_thought_wrongly(monkeypatch):
    """Costs are right on the whole, and nine in ten within a factor of 2.6: the first unit says
    little about the others."""
    chance = np.random.default_rng(0)
    for _ in range(20):
        thought = np.sort(chance.lognormal(3, 1, 100))[::-1]  # the costliest first
        taken = thought * chance.lognormal(0, 0.58, 100)
        wrongs = estimates(monkeypatch, list(thought), list(taken))
        assert np.mean((wrongs > 0.5) & (wrongs < 2)) > 0.95


def test_stages_count_by_what_they_take():
    """Ten cheap steps and ten that take a hundred times as long: by half of the steps next to
    nothing is done."""
    (unit,) = plan(specs("x", tiny(steps=10, evaluations=10), [0]), Here())
    assert unit.done(0) == 0 and unit.done(len(unit.specs[0].experiment.evaluated_at)) == 1
    uneven = replace(unit, ahead=((1, 0.0), (10, 1.0), (10, 100.0)))
    assert uneven.done(11) == pytest.approx(10 / 1010)
    assert uneven.done(16) == pytest.approx(510 / 1010)
    later = replace(unit, ahead=((5, 100.0),))  # planned from a checkpoint on
    assert later.done(16) == 0 and later.done(17) == pytest.approx(1 / 5)


def news(step):
    return "news", News(step, 9, 0.0, step / 9)


class Scripted(Scheduler):
    """Workers that say what they are told to."""

    def __init__(self, units, script, store=None, failures=None):
        super().__init__(units, store, failures)
        self.script, self.deeds = iter(script), []

    def spawn(self, worker):
        self.deeds.append(("spawn", worker))

    def send(self, worker, unit):
        self.deeds.append(("send", worker, unit.specs[0].label))

    def pause(self, worker):
        self.deeds.append(("pause", worker))

    def retire(self, worker):
        self.deeds.append(("retire", worker))

    def messages(self):
        yield next(self.script)

    def shutdown(self):
        self.deeds.append(("shutdown",))


def units_of(*labels, cost=1.0):
    return [Unit(tuple(specs(label, tiny(), [0])), cost) for label in labels]


def test_a_worker_that_has_grown_makes_way_for_a_new_one():
    done = ("done", [], True)
    script = [(0, ("ready",)), (0, done), (0, ("ready",)), (0, done)]
    scheduler = Scripted(units_of("a", "b"), script)
    assert len(list(scheduler.run(1, Progress()))) == 2
    assert scheduler.deeds == [
        ("spawn", 0), ("send", 0, "a"), ("retire", 0), ("spawn", 0), ("send", 0, "b"),
        ("retire", 0), ("shutdown",),
    ]  # fmt: skip


def test_one_who_has_nothing_to_do_takes_over_from_one_who_died():
    ready, done = ("ready",), ("done", [], False)
    script = [(0, ready), (1, ready), (1, done), (0, ("died", "")), (1, done)]
    scheduler = Scripted(units_of("a", "b"), script)
    assert len(list(scheduler.run(2, Progress()))) == 2
    assert scheduler.deeds[2:] == [
        ("send", 0, "a"), ("send", 1, "b"), ("spawn", 0), ("send", 1, "a"), ("shutdown",),
    ]  # fmt: skip


def test_three_runs_on_two_workers_take_turns_so_that_all_end_together(store):
    """One of the first two makes way when it has half left: all three end after 1.5 runs."""
    ready, done, paused = ("ready",), ("done", [], False), ("paused",)
    script = [
        (0, ready), (1, ready), (0, news(4)), (1, news(4)),
        (0, news(5)), (1, news(5)),  # less than half is left: one of them is asked
        (0, paused), (1, news(6)), (0, news(1)),
        (1, done), (0, news(5)), (1, done), (0, done),
    ]  # fmt: skip
    scheduler = Scripted(units_of("a", "b", "c", cost=90.0), script, store)
    finished = [unit.specs[0].label for unit, _ in scheduler.run(2, Progress())]
    assert finished == ["b", "a", "c"]
    assert scheduler.deeds[2:] == [
        ("send", 0, "a"), ("send", 1, "b"), ("pause", 0), ("send", 0, "c"), ("send", 1, "a"),
        ("shutdown",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "cost", "kept"),
    [("abc", 0.5, True), ("abcd", 90.0, True), ("abc", 90.0, False)],
    ids=["little work", "as many as workers wait", "no store for checkpoints"],
)
def test_a_unit_is_not_paused_where_that_gains_nothing(store, labels, cost, kept):
    ready, done = ("ready",), ("done", [], False)
    ends = [(0, done), (1, done), (0, done), (1, done)][: len(labels)]
    script = [(0, ready), (1, ready), (0, news(5)), (1, news(5)), *ends]
    units = units_of(*labels, cost=cost)
    scheduler = Scripted(units, script, store if kept else None)
    assert len(list(scheduler.run(2, Progress()))) == len(labels)
    assert not [deed for deed in scheduler.deeds if deed[0] == "pause"]


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


def test_a_unit_is_given_up_when_workers_die_on_it_and_get_no_farther():
    def life(step):
        return [(0, ("ready",)), (0, news(step)), (0, ("died", ""))]

    farther = Scripted(units_of("a"), [*life(1), *life(2), *life(3), (0, ("ready",))])
    with pytest.raises(RuntimeError, match="StopIteration"):  # the script is over, it is not
        for _ in farther.run(1, Progress()):
            pass
    stuck = Scripted(units_of("a"), life(3) + life(2) + life(3))
    with pytest.raises(WorkerError, match=r"died three times on a .* no farther than step 3"):
        list(stuck.run(1, Progress()))
    assert stuck.deeds[-1] == ("shutdown",)


def test_where_failures_are_noted_others_go_on_and_the_same_is_not_tried_with_other_seeds():
    ready, done, failures = ("ready",), ("done", [], False), {}
    a, b = ([Unit(tuple(specs(label, tiny(), [seed])), 1.0) for seed in (0, 1)] for label in "ab")
    script = [
        (0, ready), (0, news(3)), (0, ("failed", ConfigError("no"))),  # a, seed 0
        (0, ready), (0, done),  # b, seed 0
        (0, news(2)), (0, ("died", "it ended")),  # b, seed 1
        (0, ready), (0, news(2)), (0, ("died", "it ended")),  # and once more
    ]  # fmt: skip
    scheduler = Scripted([*a, *b], script, failures=failures)
    assert [unit for unit, _ in scheduler.run(1, Progress())] == [b[0]]
    assert failures == {
        "a": "seed 0: no (after step 3)",
        "b": "seed 1: it ended (after step 2)",
    }
    assert [deed for deed in scheduler.deeds if deed[0] == "send"] == [
        ("send", 0, label) for label in "abbb"
    ]


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
