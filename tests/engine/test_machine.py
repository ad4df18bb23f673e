"""What is compiled is compiled once, on all cores, and steps are taken on one."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial

import jax
import pytest

from ontogeny.engine import machine
from ontogeny.engine.program import Program

HOLD = """
import sys, time
from ontogeny.engine.machine import compile_once
class Slow:
    def compile(self):
        print("held", flush=True)
        time.sleep(float(sys.argv[1]))
compile_once({"x": Slow})
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


def compiled(*names):
    """The order in which programs are compiled here, and when each was."""
    order = {}

    class Noted:
        def __init__(self, name):
            self.name = name

        def compile(self):
            order[self.name] = time.monotonic()

    machine.compile_once({name: partial(Noted, name) for name in names})
    return order


def test_what_another_process_compiles_comes_last():
    with held(1.5) as (_, began):
        order = compiled("x", "y", "z")
        assert list(order) == ["y", "z", "x"]
        assert order["z"] - began < 1 < order["x"] - began


def test_who_dies_holds_nobody_up():
    with held(60) as (other, began):
        other.kill()
        assert compiled("x")["x"] - began < 20


def test_a_folder_that_cannot_be_written_is_done_without(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert list(compiled("x", "y")) == ["x", "y"]


WORKER = """
import os, threading
from ontogeny.engine import machine
everywhere = os.sched_getaffinity(0)
machine.settle(1)
mine = os.sched_getaffinity(0)
assert len(mine) == 1, mine
class Everywhere:
    def compile(self):
        assert os.sched_getaffinity(0) == everywhere
machine.compile_once({"x": Everywhere})
threads = [os.sched_getaffinity(int(name)) for name in os.listdir("/proc/self/task")]
assert all(cores == mine for cores in threads), threads
assert machine.cores() == len(everywhere)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be named here")
def test_a_worker_computes_on_one_core_and_compiles_on_all():
    subprocess.run([sys.executable, "-c", WORKER], check=True)


def test_options_that_the_compiler_does_not_know_are_left_out_and_asked_for_once(monkeypatch):
    machine._knows.cache_clear()
    asked, jit = [], jax.jit
    monkeypatch.setattr(jax, "jit", lambda *a, **how: (asked.append(how), jit(*a, **how))[1])
    options = {"xla_backend_optimization_level": 1, "xla_no_such_option": 1}
    for _ in range(2):
        assert machine.known(options) == {"xla_backend_optimization_level": 1}
    assert len(asked) == 2


def test_a_program_runs_without_options_that_are_not_known_and_is_traced_once():
    traces = []

    def doubled(number, times):
        traces.append(1)
        return number * 2**times

    options = {"xla_backend_optimization_level": 1, "xla_no_such_option": 1}
    program = Program(doubled, options, static_argnames="times")
    assert program.eval_shape(1.0, times=1).shape == ()
    assert program.lower(1.0, times=1).compile()(1.0) == 2
    assert [float(program(number, times=1)) for number in (1.0, 3.0)] == [2, 6]
    assert len(traces) == 1


IMPORT = """
import jax, ontogeny.cli.main, ontogeny.engine.program, ontogeny.scorecard.check
try:
    jax.devices()
except RuntimeError:  # there is no such platform: whoever had asked for one would have failed
    print("asked last")
"""


def test_to_import_what_is_compiled_starts_nothing():
    words = {"env": os.environ | {"JAX_PLATFORMS": "none"}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", IMPORT], check=False, **words)
    assert done.stdout == "asked last\n", done.stderr


PARENT = r"""
import subprocess, sys, time
code = "import os, sys; from ontogeny.core.process import die_with_parent; "
code += "die_with_parent({}); print(os.getpid(), flush=True)\nwhile True: pass"
known = sys.argv[1] if len(sys.argv) > 1 else __import__("os").getpid()
child = subprocess.Popen([sys.executable, "-c", code.format(known)])
print(child.wait(), flush=True)
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="it is Linux's")
def test_a_process_dies_with_its_parent_whatever_it_is_at():
    words = [sys.executable, "-c", PARENT]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
        until = time.monotonic() + 10
        while os.path.exists(f"/proc/{child}") and time.monotonic() < until:
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{child}")
    late = subprocess.run([*words, "1"], capture_output=True, text=True, check=True, timeout=60)
    assert late.stdout == "1\n"  # whose parent is another by now does not begin
