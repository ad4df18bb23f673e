"""Components typed in a real IPython session: never stale, with workers as without."""

import json

import pytest
from cells import TYPED, TYPED_HERE, said, session

SETTING = """
import importlib, logging, pathlib, threading
from dataclasses import replace
import helper, taken, whole
from small import tiny
from ontogeny import Loss, Store, execute
from ontogeny.core.fields import number
logging.basicConfig(level=logging.WARNING)
FACTOR = 1.0
"""
ASK = """
def ask(probe, workers=0, **changes):
    store = Store("store")
    before = len(store.names())
    asked = replace(tiny(**changes), probes=tiny().probes | {"mine": probe("train")})
    run = execute({"x": asked}, seeds=1, store=store, workers=workers)["x"]
    ratio = run.final("mine").values / run.final("train loss").values
    print("ASKED", round(float(ratio[0]), 3), len(store.names()) - before)
"""
PROBE = """
class Mine(Loss):
    def __call__(self, now):
        return twice(super().__call__(now)) * {value}
"""
HELPER = "def scale(x):\n    return {value} * x\n"
WHOLE = """
import helper
from ontogeny import Loss

class Whole(Loss):
    def __call__(self, now):
        return helper.scale(super().__call__(now))
"""
TAKEN = """
from helper import scale
from ontogeny import Loss

class Taken(Loss):
    def __call__(self, now):
        return scale(super().__call__(now))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "helper.py").write_text(HELPER.format(value=1.0))
    (tmp_path / "whole.py").write_text(WHOLE)
    (tmp_path / "taken.py").write_text(TAKEN)
    return tmp_path


def edited(value):
    return f"_ = pathlib.Path('helper.py').write_text({HELPER.format(value=value)!r})"


def asked(lines):
    """By what factor the probe's answer was larger, and how many runs were made for it."""
    return [(float(each.split()[0]), int(each.split()[1])) for each in said(lines, "ASKED")]


def test_what_is_typed_again_runs_again_and_what_is_not_does_not(folder):
    ask = "ask(Mine)"
    lines, _ = session(
        folder, SETTING, ASK, TYPED, PROBE.format(value=1.0), ask, ask,
        PROBE.format(value=10.0), ask, "FACTOR = 3.0", ask,
        TYPED.replace("return", "return 2 *"), ask,
        PROBE.format(value=10.0), ask, "FACTOR = 1.0", ask,
    )  # fmt: skip
    assert asked(lines) == [(1, 1), (1, 0), (10, 1), (30, 1), (60, 1), (60, 0), (20, 1)]


def test_a_helper_that_is_edited_and_reloaded_runs_again(folder):
    ask = "ask(whole.Whole)"
    lines, err = session(
        folder, SETTING, ASK, ask, "ask(taken.Taken)", "%load_ext autoreload", "%autoreload 2",
        edited(2.0), ask, "ask(taken.Taken)", ask,
        "%autoreload 0", edited(5.0), ask,  # the code that runs is the old one
        "_ = importlib.reload(helper)", ask, ask,
    )  # fmt: skip
    both = [(1, 1), (1, 1), (2, 1), (2, 1), (2, 0)]
    assert asked(lines) == [*both, (2, 0), (5, 1), (5, 0)]
    assert "not kept" not in err


def test_code_of_which_the_text_is_gone_is_run_each_time_and_said(folder):
    lines, err = session(
        folder, SETTING, ASK,
        edited(2.0), "ask(taken.Taken)",  # before it was ever read
        "_ = importlib.reload(helper)", "ask(taken.Taken)",
        "_ = importlib.reload(taken)", "ask(taken.Taken)", "ask(taken.Taken)",
        "old = taken.Taken",
        f"_ = pathlib.Path('taken.py').write_text({TAKEN.replace('scale(', '3 * scale(')!r})",
        "_ = importlib.reload(taken)", "ask(old)",
    )  # fmt: skip
    assert asked(lines) == [(1, 0), (1, 0), (2, 1), (2, 0), (2, 0)]
    assert "helper, edited after it was imported (reload it)" in err
    assert "taken.scale, of an earlier load of helper (reload taken too)" in err
    assert "Taken, of an earlier load of taken (import it again)" in err


LOCKED = """
class Locked(Loss):
    def __call__(self, now):
        with LOCK:
            return super().__call__(now)
"""
REFUSED = """
try:
    execute({"locked": made(0.1, locked=Locked("train"))}, 1, workers=1)
except Exception as error:
    print("REFUSED", type(error).__name__, error)
"""


def test_workers_run_what_was_typed_by_the_same_names(folder):
    lines, err = session(
        folder, *TYPED_HERE, "answers(2)", "answers(0)", "FACTOR = 3.0", "answers(2)",
        "LOCK = threading.Lock()", LOCKED, REFUSED,
    )  # fmt: skip
    there, here, changed = map(json.loads, said(lines, "WORKERS"))
    assert there[0] == 4 and here == [0, there[1]]  # named alike: what workers made is found here
    assert changed[0] == 4
    ratio = changed[1]["0.1"][0][0] / there[1]["0.1"][0][0]
    assert ratio == pytest.approx(3.0)
    (refused,) = said(lines, "REFUSED")
    assert refused.startswith("ConfigError locked: LOCK (used by Locked.__call__), a lock, cannot")
    assert "Traceback" not in err


INTERRUPTED = """
import os, signal
from ontogeny.engine.schedule import Progress
class Kill(Progress):
    killed, steps = False, []
    def evaluated(self, unit, news):
        self.steps.append(news.step)
        if news.step == 6 and not self.killed:
            Kill.killed = True
            os.kill(__import__("multiprocessing").active_children()[0].pid, signal.SIGKILL)
"""
RESUMED = """
run = execute({"x": made(0.1)}, 1, workers=1, store=Store("resumed"), progress=Kill())["x"]
print("RESUMED", Kill.steps, run.steps[-1])
"""


def test_what_was_typed_is_resumed_by_another_worker(folder):
    lines, _ = session(folder, *TYPED_HERE, INTERRUPTED, RESUMED, ONTOGENY_CHECKPOINT_SECONDS="0")
    (told,) = said(lines, "RESUMED")
    steps = json.loads(told.rpartition(" ")[0])
    assert 6 in steps and steps[-1] == 8 and 0 not in steps[steps.index(6) + 1 :]
