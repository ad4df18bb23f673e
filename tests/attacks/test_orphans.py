"""Nothing outlives its owner: a killed driver takes its workers along, whatever they are at."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

DRIVER = """
import os, signal, sys, time
sys.path[:0] = sys.argv[2:]
from dataclasses import replace
from small import tiny
from ontogeny import Solver, Store, execute

class Endless(Solver):
    def solve(self, now):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("inside", os.getpid(), flush=True)
        while True:
            {busy}

asked = replace(tiny(), training=(Endless(),))
if __name__ == "__main__":
    execute({{"x": asked}}, seeds=2, workers=2, store=Store(sys.argv[1]))
"""
BUSY = ["pass", "time.sleep(1000)", "sum(range(10**9))"]


def family(pid):
    """A process and all that descend from it, living or not."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("busy", BUSY)
def test_a_killed_driver_leaves_nobody_behind(tmp_path, busy, record_property):
    record_property("kills", 1)
    script, tests = tmp_path / "drive.py", Path(__file__).parent.parent
    script.write_text(DRIVER.format(busy=busy))
    words = [sys.executable, script, tmp_path / "store", tests.parent, tests]
    told = tmp_path / "told"
    with told.open("w") as out:
        driver = subprocess.Popen(words, stdout=out, start_new_session=True)
    everyone = [driver.pid]
    try:
        until(60, lambda: "inside" in told.read_text())  # a worker is inside somebody's code
        everyone = family(driver.pid)
        assert len(everyone) >= 3  # the driver, what forks its workers, and one of them
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
        until(10, lambda: not any(map(alive, everyone)))
    finally:
        for pid in filter(alive, everyone):
            os.kill(pid, signal.SIGKILL)


def until(seconds, condition):
    """Waits for something to be so."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        time.sleep(0.1)
