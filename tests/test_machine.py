"""What is compiled is compiled once, on all cores, and steps are taken on one."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from ontogeny import machine

HOLD = """
import sys, time
from ontogeny.machine import compiling
with compiling("x"):
    print("held", flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@contextmanager
def held(seconds):
    words = [sys.executable, "-c", HOLD, str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        yield other, time.monotonic()


def test_who_comes_second_waits():
    with held(1.5) as (_, began):
        with machine.compiling("y"):  # another program
            assert time.monotonic() - began < 1
        with machine.compiling("x"):
            assert time.monotonic() - began > 1


def test_who_dies_holds_nobody_up():
    with held(60) as (other, began):
        other.kill()
        with machine.compiling("x"):
            assert time.monotonic() - began < 20


def test_a_folder_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with machine.compiling("x"):
        pass


WORKER = """
import os, threading
from ontogeny import machine
everywhere = os.sched_getaffinity(0)
machine.settle(1)
mine = os.sched_getaffinity(0)
assert len(mine) == 1, mine
with machine.compiling("x"):
    assert os.sched_getaffinity(0) == everywhere
threads = [os.sched_getaffinity(int(name)) for name in os.listdir("/proc/self/task")]
assert all(cores == mine for cores in threads), threads
assert machine.cores() == len(everywhere)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be named here")
def test_a_worker_computes_on_one_core_and_compiles_on_all():
    subprocess.run([sys.executable, "-c", WORKER], check=True)
