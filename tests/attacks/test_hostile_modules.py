"""Modules that fail while they are imported, made or checked: each is told in one line that says
what was being done, in time, and nothing of it is left behind."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from ontogeny import ConfigError
from ontogeny.engine.pools import children
from ontogeny.scorecard.examine import Isolation, examine
from ontogeny.scorecard.isolation.process import Process

IMPORTED = r" while the module was being imported$"
NO_MODEL = r"3 is neither a class nor a function$"  # it was imported, and nothing was left of it

# What the module says, what is said of it
IMPORTING = {
    "exit": ("exit(3)", r"it raised SystemExit: 3 \(.*line 1: exit\(3\)\)" + IMPORTED),
    "os._exit": ("import os; os._exit(3)", r"it ended the process \(exit code 3\)" + IMPORTED),
    "segfault": ("import ctypes; ctypes.string_at(0)", r"it crashed \(SIGSEGV\)" + IMPORTED),
    "abort": ("import os; os.abort()", r"it crashed \(SIGABRT\)" + IMPORTED),
    "kills itself": (
        "import os; os.kill(os.getpid(), 9)",
        r"it was killed \(SIGKILL; out of memory\?\)" + IMPORTED,
    ),
    "recursion": ("def f(): f()\nf()", r"cannot be imported: RecursionError: .*line 1: def f"),
    "deep recursion": (
        "import sys\nsys.setrecursionlimit(10**8)\nx = []\nfor _ in range(10**6): x = [x]\nrepr(x)",
        r"(it crashed \(SIG(SEGV|ABRT)\)" + IMPORTED + "|RecursionError)",
    ),
    "memory": (
        "kept = []\nwhile True: kept.append(bytearray(b'x' * 10**7))",
        r"it took more than 1 GB" + IMPORTED,
    ),
    "memory of others": (
        "import subprocess, sys\n"
        "code = 'x = bytearray(b\"x\" * 10**9); import time; time.sleep(600)'\n"
        "subprocess.run([sys.executable, '-c', code])",
        r"it took more than 1 GB" + IMPORTED,
    ),
    "syntax": ("class Model(:", r"cannot be imported: SyntaxError: invalid syntax"),
    "not UTF-8": (b"x = '\xff'", r"cannot be imported: SyntaxError: .*utf-8"),
    "null bytes": (b"x = 1\0", r"cannot be imported: (SyntaxError|ValueError): .*null bytes"),
    "empty": ("", r"has no 'Model'"),
    "unprintable error": (
        """
class Odd(Exception):
    def __str__(self): raise ValueError
    __repr__ = __str__
raise Odd
""",
        r"cannot be imported: an exception of type Odd that cannot be printed \(.*: raise Odd\)$",
    ),
    "unprintable exit": (
        """
class Leave(SystemExit):
    def __str__(self): raise KeyboardInterrupt
raise Leave
""",
        r"it raised an exception of type Leave that cannot be printed .*" + IMPORTED,
    ),
    "interrupt": ("raise KeyboardInterrupt", r"it raised KeyboardInterrupt \(.*\)" + IMPORTED),
    "endless words": (
        "raise ValueError('no\\n' * 10**6)",
        r"cannot be imported: ValueError: no no .* …",
    ),
    "reads": ("input()", r"cannot be imported: EOFError: "),
    "prints": (
        "import os\nfor _ in range(500): os.write(1, b'x' * 10**5); os.write(2, b'x' * 10**5)\n"
        "Model = 3",
        NO_MODEL,
    ),
    "closes 0 to 2": ("import os; os.closerange(0, 3); Model = 3", NO_MODEL),
    "closes everything": (
        "import os; os.closerange(0, 1024)",
        r"(it closed the files by which it reports|it crashed \(SIG\w+\))" + IMPORTED,
    ),
    "closes and goes on": (
        "import os; os.closerange(0, 1024)\nwhile True: pass",
        r"it closed the files by which it reports" + IMPORTED,
    ),
    "forks": ("import os; os.fork(); Model = 3", NO_MODEL),
    "forks and forks": (
        "import os, time\nfirst = os.getpid()\nfor _ in range(5): os.fork()\n"
        "if os.getpid() != first: time.sleep(600)\nModel = 3",
        NO_MODEL,
    ),
    "forks without end": (
        "import os, time\nwhile True:\n    if not os.fork(): time.sleep(600)\n",
        r"it started more than \d+ processes" + IMPORTED,
    ),
    "leaves somebody behind": (
        "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n"
        "        time.sleep(600)\n    os._exit(0)\nos.wait()\nModel = 3",
        NO_MODEL,
    ),
    "takes modules away": (
        "import sys\nfor name in list(sys.modules): sys.modules[name] = None\nModel = 3",
        r"(Error|neither a class)",
    ),
    "goes elsewhere": ("import os; os.chdir('/'); Model = 3", NO_MODEL),
    "hangs at exit": (
        "import atexit, time; atexit.register(time.sleep, 600); Model = 3",
        NO_MODEL,
    ),
    "a thread that never ends": (
        "import threading, time\nthreading.Timer(1, time.sleep, (600,)).start()\nModel = 3",
        NO_MODEL,
    ),
}

ENDLESS = {
    "endless loop": ("while True: pass", r"it did not come to an end within 6 s" + IMPORTED),
    "deaf endless loop": (
        """
import signal
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
while True:
    try:
        while True: pass
    except BaseException:
        pass
""",
        r"it did not come to an end within 6 s" + IMPORTED,
    ),
    "stops itself": (
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        r"it did not come to an end within 6 s" + IMPORTED,
    ),
}

# A module of flax, as far as anybody can tell, that needs nothing but jax
LINEAR = """
import ctypes, os, time
import jax.numpy as jnp
calls = 0

class Odd(BaseException):
    def __str__(self): return 1 / 0

class Model:
    def __init__(self, vocab, length):
        self.vocab = vocab
        {making}

    def init(self, key, tokens):
        return {{"params": {{"w": jnp.zeros((self.vocab, self.vocab))}}}}

    def apply(self, variables, tokens):
        global calls
        calls += 1
        says = variables["params"]["w"][tokens]
        {running}
        return says
"""
MADE = r" while it was made with vocab=512, length=80$"
RUN = r" while it was run on tokens of shape \(3, 12\)$"

# What it does when it is made, when it is run, and what is said of it
CHECKING = {
    "exit when made": ("os._exit(0)", "", r"it ended the process \(exit code 0\)" + MADE),
    "raise when made": ("raise Odd", "", r"an exception of type Odd that cannot .*" + MADE),
    "fail when made": ("1 / 0", "", r"failed: ZeroDivisionError: .*: 1 / 0\)$"),
    "exit when run": ("", "os._exit(5)", r"it ended the process \(exit code 5\)" + RUN),
    "crash when run": ("", "ctypes.string_at(0)", r"it crashed \(SIGSEGV\)" + RUN),
    "raise when run": ("", "raise Odd", r"an exception of type Odd that cannot .*" + RUN),
    "other shapes": ("", "says = says[:, :7]", r"made \(3, 12, 7\) of tokens \(3, 12\), not"),
    "not a number": ("", "says = says / 0 * 0", r"gives nan for token 0 at row 0, position 0"),
    "mixed places": (
        "",
        "says = says + tokens.sum()",
        r"is not causal: changing the token at position 11 changes its logits at position \d+",
    ),
    "crash when longer": (
        "",
        "len(tokens) > 12 and ctypes.string_at(0)",
        r"it crashed \(SIGSEGV\) while it was run on tokens of shape \(2, 80\)$",
    ),
}

ENDLESS_LATER = {
    "loop when made": ("while True: pass", "", r"not come to an end within 6 s" + MADE),
    "loop when run": ("", "time.sleep(600)", r"it did not come to an end within 6 s" + RUN),
}

# The same with gradients that torch takes, and a state, which jax would not see
TORCH = """
import os, torch
from torch import nn

class Back(torch.autograd.Function):
    @staticmethod
    def forward(context, x): return x.clone()
    @staticmethod
    def backward(context, slope): os._exit(4)

class Model(nn.Module):
    def __init__(self, vocab, length):
        super().__init__()
        self.w, self.calls = nn.Embedding(vocab, vocab), 0

    def forward(self, tokens):
        self.calls += 1
        {running}
"""
TRAINING = {
    "exit when trained": (
        "return Back.apply(self.w(tokens))",
        r"it ended the process \(exit code 4\) while its gradients were computed on tokens",
    ),
    "state": ("return self.w(tokens) + self.calls", r"gives other logits for the same tokens"),
}


def attack(folder, code):
    """What is said of a module, what is left of it, and where what it printed is."""
    folder.mkdir()
    file, printed = folder / "mine.py", folder / "output.txt"
    file.write_bytes(code if isinstance(code, bytes) else code.encode())
    process = Process(printed)
    try:
        examine(
            f"{file}:Model", seeds=1, references="none", isolation=Isolation(process, memory=1.0)
        )
        said = "nothing was wrong"
    except ConfigError as error:
        said = str(error)
    left = children.marked(process.tag) | children.family(process.process.pid)
    return said, left, printed


@pytest.fixture
def attacked(tmp_path, monkeypatch, record_property):
    """Attacks some at a time: each is told in a line, as it should be, and nothing is left."""

    def attack_all(cases, seconds, at_once=2):
        monkeypatch.setenv("ONTOGENY_LOADING_SECONDS", str(seconds))
        with ThreadPoolExecutor(at_once) as pool:
            folders = [tmp_path / name.replace(" ", "-") for name in cases]
            found = pool.map(attack, folders, [code for code, _ in cases.values()])
        wrong = {}
        for (name, (_, words)), (said, left, printed) in zip(cases.items(), found, strict=True):
            if not re.search(words, said) or "\n" in said or len(said) > 1500 or left:
                wrong[name] = said, left
            assert not printed.exists() or printed.stat().st_size <= 10**6
        record_property("hostile modules", len(cases))
        assert not wrong

    return attack_all


def linear(cases):
    return {
        name: (LINEAR.format(making=making, running=running), words)
        for name, (making, running, words) in cases.items()
    }


def test_what_fails_when_it_is_imported_is_named(attacked):
    attacked(IMPORTING, 60)


def test_what_never_ends_is_ended_and_named(attacked):
    attacked(ENDLESS | linear(ENDLESS_LATER), 6, at_once=5)  # they wait


def test_what_fails_when_it_is_made_or_run_is_named(attacked):
    trained = {name: (TORCH.format(running=run), words) for name, (run, words) in TRAINING.items()}
    attacked(linear(CHECKING) | trained, 60)
