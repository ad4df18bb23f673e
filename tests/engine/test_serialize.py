"""The same text, the same name; any other field or code, another."""

import ast
import dataclasses
import os
import subprocess
import sys

import jax
import pytest
from small import TESTS, tiny

from ontogeny import Analogy, ConfigError, Log
from ontogeny.engine.modules import outline
from ontogeny.engine.serialize import code_behind, digest, edit, paths, record, serialize


def test_an_experiment_is_spelled_out_in_full_with_its_defaults():
    serialized = serialize(tiny())
    fields = {"tuples": 3, "ratio": 2.0, "replay": 1.0}
    assert serialized["task"] == {"is": "ontogeny.tasks.analogy.Analogy", **fields}
    assert (
        serialized["training"][0]["split"] == "train"
        and serialized["training"][0]["weight_decay"] == 0.0
    )
    assert set(serialized["probes"]) == {"train loss", "success", "resemblance", "imbalance"}


def test_every_field_is_in_the_name():
    names = {digest(record(tiny()))}
    changes = [
        (path, {"float": "0.35", "int": "20", "str": "similarity"}[type(value).__name__])
        for path, value in paths(tiny()).items()
        if type(value).__name__ in ("float", "int")
        and "layer" not in path
        and path != "evaluations"
    ]
    for path, text in changes:
        names.add(digest(record(edit(tiny(), path, text))))
    same = [path for path, text in changes if str(paths(tiny())[path]) == text]
    assert len(names) == len(changes) - len(same) + 1
    assert digest(record(tiny())) == digest(record(tiny()))


def test_the_code_behind_an_experiment_is_in_its_name_and_other_code_is_not():
    modules = set(code_behind(tiny()).modules)
    assert {"ontogeny.tasks.analogy", "ontogeny.models.one_layer", "ontogeny.core.types"} <= modules
    assert {"ontogeny.engine.program", "ontogeny.models.initial"} <= modules
    assert not modules & {"ontogeny.models.gpt2", "ontogeny.cli.main", "ontogeny.engine.store"}
    assert not any(name.startswith(("jax", "equinox")) for name in modules)


def test_words_may_improve_without_a_rerun():
    before = 'def f(x):\n    """Old."""\n    return x\n'
    after = 'def f(x):\n    """New words."""\n    # why\n    return x\n'
    other = 'def f(x):\n    """Old."""\n    return x + 1\n'
    told = [outline(ast.parse(text)) for text in (before, after, other)]
    assert told[0] == told[1] != told[2]


def test_edits_are_checked_like_anything_written_by_hand():
    assert edit(tiny(), "task.ratio", "7").task.ratio == 7.0
    assert edit(tiny(), "training.1.learning_rate", "0.25").training[1].learning_rate == 0.25
    assert edit(tiny(), "training.0.trainable", "value").training[0].trainable == ("value",)
    assert edit(tiny(), "evaluations", "10").evaluations == 10
    assert edit(tiny(), "evaluations", "log 12").evaluations == Log(12)
    assert edit(tiny(), "evaluations", "1+10+40").evaluations == (1, 10, 40)
    assert edit(tiny(evaluations=Log(9)), "evaluations", str(Log(7))).evaluations == Log(7)
    for path, text, message in [
        ("task.ration", "7", "did you mean 'task.ratio'"),
        ("task.ratio", "seven", "expected a number"),
        ("task.tuples", "2.5", "expected a whole number"),
        ("task.tuples", "0", "Analogy.tuples must be at least 1"),
        ("task.ratio", "nan", "Analogy.ratio must be a finite number"),
        ("evaluations", "logs", "expected a number of them, like 20, log 30, or steps: 1+10+100"),
        ("evaluations", "1+99", "99 is no step of this training"),
        ("training.0.split", "trian", "did you mean 'train'"),
        ("training.5.learning_rate", "1", "did you mean 'training."),
    ]:
        with pytest.raises(ConfigError) as error:
            edit(tiny(), path, text)
        assert message in str(error.value)


def test_what_cannot_be_spelled_is_refused():
    with pytest.raises(ConfigError, match="cannot serialize a set"):
        serialize({1, 2})
    assert dataclasses.is_dataclass(Analogy)


def test_a_float_is_edited_as_if_all_were_made_anew():
    """What is copied and what is made from nothing cannot be told apart; what is wrong is said."""
    edited = edit(edit(tiny(), "task.ratio", "7"), "training.1.learning_rate", "0.25")
    task = dataclasses.replace(tiny().task, ratio=7.0)
    last = dataclasses.replace(tiny().training[1], learning_rate=0.25)
    made = dataclasses.replace(tiny(), task=task, training=(tiny().training[0], last))
    assert record(edited) == record(made)
    assert jax.tree.structure(edited) == jax.tree.structure(made)
    assert tiny().task.ratio == 2.0
    with pytest.raises(ConfigError, match="learning_rate"):
        edit(tiny(), "training.1.learning_rate", "-1")


PLANNED = """
import sys, time
sys.path[:0] = sys.argv[1:]
from small import tiny
from ontogeny.claims.sweep import sweep
from ontogeny.claims.claim import CLAIMS, Paper, claim
from ontogeny.claims.scale import Scale
from ontogeny.engine.execute import plan
from ontogeny.engine.runs import specs
from ontogeny.engine.pools.processes import Processes

@claim(Paper("p", "t", "u"), "here", one=tiny())
def it_learns(one):
    yield one.final("train loss").below(1.0)

class Planned(Exception):
    pass

def execute(needed, seeds):
    row = [spec for name, each in needed.items() for spec in specs(name, each, range(seeds))]
    print(len(row), len(plan(row, Processes(2))), time.process_time() - began)
    raise Planned

sweeps = {
    "task.ratio": [str(1 + n / 100) for n in range(100)],
    "training.0.learning_rate": [str(1 + n / 100) for n in range(100)],
}
for _ in range(2):
    began = time.process_time()
    try:
        sweep(CLAIMS["it_learns"], execute, [], sweeps, Scale.LAPTOP, 1)
    except Planned:
        pass
"""


def test_ten_thousand_cells_are_planned_in_five_seconds():
    tests = TESTS
    words = [sys.executable, "-c", PLANNED, os.path.dirname(tests), tests]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    for line in done.stdout.splitlines():
        cells, units, _ = line.split()
        assert int(cells) == 10_000 and int(units) == 40
    assert min(float(line.split()[2]) for line in done.stdout.splitlines()) < 5
