"""What `import ontogeny` gives: real types, loaded when first used."""

import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ontogeny
from ontogeny.core import renamed

ROOT = Path(__file__).parent.parent


def test_the_stub_is_what_the_package_has():
    made = runpy.run_path(str(ROOT / "tools" / "exports.py"))
    assert made["STUB"].read_text() == made["stub"](), "run `make exports`"
    for name in ("claim", "execute", "judge", "sweep", "examine", "AdamW", "Store", "Run"):
        assert name in dir(ontogeny)


def test_every_export_is_there_under_its_name():
    for name in ontogeny.__all__:
        assert getattr(ontogeny, name).__name__ == name
    with pytest.raises(AttributeError, match="attribute Adam"):
        _ = ontogeny.Adam


@pytest.mark.parametrize(("old", "new"), renamed.CLASSES.items())
def test_a_class_under_its_old_name_is_refused_with_the_new_one(old, new):
    assert new in ontogeny.__all__
    with pytest.raises(ImportError, match=f"^{old} is now called {new}$"):
        exec(f"from ontogeny import {old}")


def test_pythons_own_list_is_not_hidden_by_a_star():
    names = {}
    exec("from ontogeny import *", names)
    assert "judge" in names and "list" not in names
    assert ontogeny.list.__module__ == "ontogeny.claims.asking" and "list" in dir(ontogeny)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, ontogeny; print([m for m in ('jax', 'numpy', 'rich') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_help_answers_at_once():
    def seconds():
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "ontogeny", "--help"], cwd=ROOT, capture_output=True, check=True
        )
        return time.perf_counter() - began

    assert min(seconds() for _ in range(3)) < 0.5


SCRIPT = """
import matplotlib.pyplot as plt

import ontogeny as lab
from ontogeny import Accuracy, AdamW, Analogy, Experiment, Loss, OneLayer, execute

stage = AdamW(steps=20, learning_rate=1e-3, weight_decay=0.1)
experiment = Experiment(
    task=Analogy(tuples=4),
    model=OneLayer(width=20),
    training=(stage,),
    probes={"accuracy": Accuracy("conclusion"), "loss": Loss("train")},
)
runs = execute({"joint": experiment}, seeds=2, progress=False)
run = runs["joint"]
runs.plot("accuracy").savefig("accuracy.png")
verdicts = lab.judge("attention_stays_balanced", seeds=2, workers=2, store="runs")
swept = lab.sweep("attention_stays_balanced", {"task.ratio": [1, 2]}, store=lab.Store("runs"))
listed = lab.list("abstract-symbols")
evidence = run.final("accuracy").above(0.9)
figure, axis = plt.subplots()
axis.plot(run.steps, run.curve("loss").mean(axis=0))
figure.savefig("loss.png")
"""
ASKED = """
reveal_type(stage)
reveal_type(stage.learning_rate)
reveal_type(run)
reveal_type(run.final("accuracy"))
reveal_type(evidence)
reveal_type(runs)
reveal_type(run.plot())
reveal_type(verdicts[0])
reveal_type(verdicts["balanced"].outcome)
reveal_type(swept)
reveal_type(listed[0].claim)
lab.Adam
stage.rate
AdamW(steps=1, rate=1.0)
AdamW(steps="many", learning_rate=0.1)
"""
SEEN = [
    '"ontogeny.training.descent.AdamW"',
    '"float"',
    '"ontogeny.core.run.Run"',
    '"ontogeny.core.measurement.Measurement"',
    '"ontogeny.core.evidence.Evidence"',
    '"ontogeny.core.run.Runs"',
    '"matplotlib.figure.Figure"',
    '"ontogeny.claims.verdict.Verdict"',
    '"ontogeny.core.evidence.Outcome"',
    '"ontogeny.claims.sweep.Sweep"',
    '"ontogeny.claims.claim.Claim"',
    'Module has no attribute "Adam"',
    '"AdamW" has no attribute "rate"',
    'Unexpected keyword argument "rate" for "AdamW"',
    'Argument "steps" to "AdamW" has incompatible type "str"; expected "int"',
]


def test_a_users_script_is_strictly_typed(tmp_path):
    pytest.importorskip("mypy")

    def checked(name, text):
        (tmp_path / name).write_text(text)
        words = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *words, name],
            cwd=tmp_path,
            env=os.environ | {"MYPYPATH": str(ROOT)},
            capture_output=True,
            check=False,
            text=True,
        )
        return done.stdout.splitlines()

    assert checked("mine.py", SCRIPT)[-1].startswith("Success")
    told = [line for line in checked("asked.py", SCRIPT + ASKED) if " defined in " not in line]
    assert len(told) > len(SEEN)  # the last line counts the errors
    for line, seen in zip(told, SEEN, strict=False):
        assert seen in line
