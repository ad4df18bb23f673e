"""Writers, workers and drivers killed at any moment; drivers side by side; a long soak."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
from disturbed import EXPERIMENTS, same

from ontogeny import Store, execute
from ontogeny.engine.schedule import Progress

# More of them, for an evening: ONTOGENY_KILLS=10 pytest tests/attacks/test_kills.py
TIMES = int(os.environ.get("ONTOGENY_KILLS", "1"))
WRITERS, WORKERS, DRIVERS = 288 * TIMES, 12 * TIMES, 4 * TIMES


NAMES = [f"{letter}-{seed}" for letter in "abc" for seed in range(3)]


def written(name, look):
    """What a writer writes of a run by a look: told by its name."""
    start = 100 * NAMES.index(name)
    return {"x": np.arange(start, start + 1000.0 * look)}


# Writers are forked from one that has imported what they need: it is told how many, says who they
# are, and waits for all of them once it is told so.
WRITERS_PARENT = """
import os, sys
sys.path.insert(0, sys.argv[2])
from ontogeny.engine.store import Checkpoint, Record, Store
import numpy as np

def written(start, look):
    return {"x": np.arange(start, start + 1000.0 * look)}

def write(number):
    store = Store(sys.argv[1])
    environment = {"failure": "", "seconds": 1.0}
    for turn in range(10**6):
        names = [f"{letter}-{seed}" for letter in "abc" for seed in range(3)]
        name = names[(turn * (number + 1)) % len(names)]
        start = 100.0 * names.index(name)
        for look in (1, 2, 3):
            answers = written(start, look)
            store.save(name, Checkpoint(look, {"00000": answers["x"]}, answers, {}))
        done = Record(written(start, 4), "", environment)
        store.seal(name, {"experiment": {}, "sources": {}}, done)

while sys.stdin.readline():
    children = []
    for number in range(3):
        children.append(os.fork())
        if not children[-1]:
            write(number)
    print(*children, flush=True)
    sys.stdin.readline()
    print(*[os.waitpid(child, 0)[1] for child in children], flush=True)
"""


def test_writers_killed_at_any_moment_leave_each_run_whole_or_absent(tmp_path, record_property):
    store, chance = Store(tmp_path / "store"), random.Random(0)
    root = os.path.dirname(os.path.dirname(sys.modules["ontogeny"].__file__))
    found = {"whole": 0, "under way": 0, "absent": 0}
    words = [sys.executable, "-c", WRITERS_PARENT, str(store.root), root]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes) as parent:
        for _ in range(WRITERS // 3):
            writers = map(int, asked(parent).split())
            for each in writers:
                time.sleep(chance.uniform(0, 0.03))
                os.kill(each, signal.SIGKILL)
            assert asked(parent).split() == [str(int(signal.SIGKILL))] * 3
            check_each_run(store, found)
            for name in chance.sample(NAMES, 6):  # so that there is always something to write
                store.prune(keep={letter for letter in "abc" if not name.startswith(letter)})
        parent.stdin.close()
    assert found["whole"] and found["absent"]
    record_property("kills", WRITERS)
    assert not (store.root / "damaged").exists()  # a kill damages nothing


def asked(parent):
    """What a process says to a line."""
    parent.stdin.write("\n")
    parent.stdin.flush()
    return parent.stdout.readline()


def check_each_run(store, found):
    """Sees to it that each run is what it should be, and counts how far it is."""
    for name in NAMES:
        record, checkpoint = store.load(name), store.checkpoint(name)
        if record:
            np.testing.assert_array_equal(record.answers["x"], written(name, 4)["x"])
        if checkpoint:
            expected = written(name, checkpoint.evaluations)["x"]
            np.testing.assert_array_equal(checkpoint.answers["x"], expected)
            np.testing.assert_array_equal(checkpoint.state["00000"], expected)
        kind = "whole" if record else "under way" if checkpoint else "absent"
        found[kind] += 1


class Murderer(Progress):
    """Kills a worker now and then, once all have got farther than when it last did."""

    def __init__(self, times):
        self.chance, self.left = random.Random(1), times
        self.steps, self.last, self.wait, self.quiet = {}, {}, 0, 0.0

    def planned(self, units, workers):
        self.last = {id(unit): 0 for unit in units}

    def finished(self, unit):
        self.last.pop(id(unit))
        self.steps.pop(id(unit), None)

    def evaluated(self, unit, news):
        if time.monotonic() < self.quiet:  # perhaps the last words of one who is dead
            self.last[id(unit)] = max(self.last[id(unit)], news.step)
            return
        self.steps[id(unit)] = news.step
        self.wait -= 1
        farther = all(self.steps.get(unit, 0) > step for unit, step in self.last.items())
        if self.left and self.wait < 0 and farther:
            time.sleep(self.chance.uniform(0, 0.005))
            oldest = min(child.pid for child in multiprocessing.active_children())
            os.kill(oldest, signal.SIGKILL)  # one that has begun
            self.left, self.wait = self.left - 1, self.chance.randint(0, 20)
            self.last |= {unit: max(step, self.last[unit]) for unit, step in self.steps.items()}
            self.quiet = time.monotonic() + 0.3


def test_workers_killed_again_and_again_change_nothing(
    store, undisturbed, monkeypatch, record_property
):
    record_property("kills", WORKERS)
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    left = WORKERS
    while left:
        murderer = Murderer(left)
        runs = execute(EXPERIMENTS, seeds=2, workers=2, store=store, progress=murderer)
        same(runs, undisturbed)
        left = murderer.left
        if left:  # it ended before all were killed: once more, from nothing
            store.prune(keep=set())
    assert not (store.root / "damaged").exists()


DRIVER = """
import sys
sys.path[:0] = sys.argv[2:]
from disturbed import EXPERIMENTS, SLOW, same
from small import tiny
from ontogeny import Store, execute
slow = {"learning_rate": 0.05, "steps": 100, "evaluations": 100}
experiments = {"a": tiny(**slow), "b": tiny(width=20, **slow)}
if __name__ == "__main__":
    execute(experiments, seeds=2, workers=1, store=Store(sys.argv[1]))
"""


def test_drivers_killed_at_random_leave_a_store_that_the_next_goes_on_with(
    tmp_path, undisturbed, monkeypatch, record_property
):
    record_property("kills", DRIVERS)
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    store, chance = Store(tmp_path / "store"), random.Random(2)
    script, tests = tmp_path / "drive.py", os.path.dirname(os.path.dirname(__file__))
    script.write_text(DRIVER)
    kills = 0
    while kills < DRIVERS:
        driver = subprocess.Popen(
            [sys.executable, str(script), str(store.root), os.path.dirname(tests), tests],
            start_new_session=True,
        )
        before, deadline = fingerprint(store), time.monotonic() + 60
        while fingerprint(store) == before and driver.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.5))
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            kills += 1
        else:  # it was quicker: once more, from nothing
            store.prune(keep=set())
        driver.wait()
    same(execute(EXPERIMENTS, seeds=2, workers=1, store=store), undisturbed)
    assert not (store.root / "damaged").exists()


def fingerprint(store):
    return sorted(folder for folder, _, files in os.walk(store.root) if "seal.json" in files)


def test_three_at_once_do_not_harm_each_other(tmp_path, undisturbed):
    store, script = Store(tmp_path / "store"), tmp_path / "drive.py"
    script.write_text(DRIVER)
    tests = os.path.dirname(os.path.dirname(__file__))
    words = [sys.executable, str(script), str(store.root), os.path.dirname(tests), tests]
    trio = [
        subprocess.Popen(words, env=os.environ | {"ONTOGENY_CHECKPOINT_SECONDS": "0"})
        for _ in range(3)
    ]
    assert [each.wait(timeout=300) for each in trio] == [0, 0, 0]
    same(execute(EXPERIMENTS, seeds=2, store=store), undisturbed)
    assert len(store.names()) == 4 and not (store.root / "damaged").exists()


SOAK = """
import multiprocessing, os, sys, threading
sys.path[:0] = sys.argv[2:]
from disturbed import EXPERIMENTS, SLOW, same
from small import tiny
from ontogeny import Store, execute

def held():
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir("/proc/self/fd"))

def some(turn):
    return {str(place): tiny(ratio=1 + turn + place / 100) for place in range(10)}

if __name__ == "__main__":
    store = Store(sys.argv[1])
    for turn in range(100):
        runs = execute(some(turn), seeds=1, store=store, workers=int(turn in (10, 98)))
        assert all(run.failures == () for run in runs.values())
        if turn == 20:
            memory, files = held()
    after, left = held()
    assert len(store.names()) == 1000, len(store.names())
    assert not multiprocessing.active_children()
    assert left <= files, (files, left)
    assert after < memory + 25, (memory, after)
    assert not list((store.root / "tmp").iterdir()) and not (store.root / "working").exists()
"""


def test_a_thousand_experiments_leave_no_memory_file_or_process_behind(tmp_path):
    script, tests = tmp_path / "soak.py", os.path.dirname(os.path.dirname(__file__))
    script.write_text(SOAK)
    words = [sys.executable, str(script), str(tmp_path / "store"), os.path.dirname(tests), tests]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
