"""No stale answer: whatever an experiment's code depends on is in its name."""

import importlib
import linecache
import os
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest
from small import TESTS, tiny

from ontogeny.claims.claim import all_claims
from ontogeny.claims.scale import Scale
from ontogeny.engine.serialize import code_behind, digest, record

PROBE = """
from ontogeny import Loss
{imports}

class Mine(Loss):
    def __call__(self, now):
        {inside}
        return super().__call__(now) * {value}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Writes files of a user's and names an experiment made of them, as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)

    def forget():
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "") or "").startswith(str(tmp_path)):
                del sys.modules[name]

    def named(**files):
        forget()
        for name, text in files.items():
            path = tmp_path / FOLDERS.get(name, f"{name}.py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        importlib.invalidate_caches()
        importlib.import_module("probe")
        return digest(record(asked()))

    yield named
    forget()


FOLDERS = {"package": "shapes/__init__.py", "deep": "shapes/deep.py"}


def asked(kind=None):
    """An experiment with a user's probe."""
    kind = kind or sys.modules["probe"].Mine
    return replace(tiny(), probes=tiny().probes | {"mine": kind("train")})


def probe(imports="", inside="pass", value="1.0"):
    return PROBE.format(imports=imports, inside=inside, value=value)


@pytest.mark.parametrize(
    ("imports", "inside", "value"),
    [
        ("from constants import FACTOR", "pass", "FACTOR"),
        ("import constants", "pass", "constants.FACTOR"),
        ("from constants import *", "pass", "FACTOR"),
        ("", "from constants import FACTOR", "FACTOR"),
        ("", "import constants", "constants.FACTOR"),
        ("import importlib", "c = importlib.import_module('constants')", "c.FACTOR"),
        ("from reexport import FACTOR", "pass", "FACTOR"),
        ("from shapes import deep", "pass", "deep.FACTOR"),
        ("from shapes.deep import FACTOR", "pass", "FACTOR"),
    ],
)
def test_a_constant_from_elsewhere_is_in_the_name(project, imports, inside, value):
    files = {"probe": probe(imports, inside, value), "reexport": "from constants import FACTOR"}
    files |= {"package": "", "deep": "from constants import FACTOR"}
    first = project(constants="FACTOR = 1.0", **files)
    again = project(constants="FACTOR = 1.0  # the same\n", **files)
    other = project(constants="FACTOR = 2.0", **files)
    assert first == again != other


DESCRIBED = """
from ontogeny import Loss
from ontogeny.core.fields import Example, number

class Mine(Loss):
    \"\"\"{meaning}\"\"\"
    factor: float = number({default}, doc="{meaning}")

    def __call__(self, now):
        return super().__call__(now) * {inside}

    @classmethod
    def examples(cls):
        from {elsewhere} import FACTOR
        return [Example(cls("train", FACTOR))]
"""


def test_what_fields_mean_and_how_components_are_tried_is_not_in_the_name(project):
    def named(meaning="how much", default=1.0, inside="self.factor", elsewhere="constants"):
        text = DESCRIBED.format(
            meaning=meaning, default=default, inside=inside, elsewhere=elsewhere
        )
        return project(probe=text, constants="FACTOR = 1.0", others="FACTOR = 2.0")

    assert named() == named(meaning="by how much") == named(elsewhere="others")
    assert named() != named(default=2.0)
    # of other calls all is in the name
    assert named(inside="call(doc='1')") != named(inside="call(doc='2')")


MEASURED = """
from typing import ClassVar
from ontogeny import Loss

class Mine(Loss):
    {unit}

    def __call__(self, now):
        return super().__call__(now) * {inside}
"""


def test_what_an_answer_is_measured_in_is_not_in_the_name_unless_code_looks_at_it(project):
    def named(unit, inside="2.0"):
        return project(probe=MEASURED.format(unit=unit, inside=inside))

    bits, nats = named('unit = "bits"'), named('unit = "nats"')
    assert bits == nats == named('unit: ClassVar[str] = "nats"') == named("")
    looking = "len(self.unit)"
    assert named('unit = "bits"', looking) != named('unit = "decibels"', looking)


def test_a_helper_of_another_module_and_what_it_calls_are_in_the_name(project):
    files = {"probe": probe("from helper import scale", value="scale(1.0)")}
    helper = "from deeper import twice\ndef scale(x):\n    return twice(x)"
    first = project(helper=helper, deeper="def twice(x):\n    return 2 * x", **files)
    other = project(helper=helper, deeper="def twice(x):\n    return x + x", **files)
    assert first != other


def test_data_beside_a_module_that_it_names_is_in_the_name(project, tmp_path):
    text = probe("import json, pathlib", value="json.loads(open('table.json').read())")
    (tmp_path / "table.json").write_text("1.0")
    first = project(probe=text)
    (tmp_path / "table.json").write_text("2.0")
    assert first != project(probe=text)


def test_a_constant_that_is_set_from_elsewhere_is_in_the_name(project):
    first = project(probe=probe("import constants", value="constants.FACTOR"), constants="FACTOR=1")
    sys.modules["constants"].FACTOR = 2
    changed = digest(record(asked()))
    sys.modules["constants"].FACTOR = 1
    assert changed != first == digest(record(asked()))


def test_a_module_that_is_reloaded_is_read_again_and_one_that_is_not_stays_as_it_was(
    project, tmp_path
):
    first = project(
        probe=probe("import helper", value="helper.scale()"), helper="def scale(): return 1"
    )
    (tmp_path / "helper.py").write_text("def scale(): return 22")
    assert digest(record(asked())) == first  # the code that runs is still the old one
    importlib.reload(sys.modules["helper"])
    assert digest(record(asked())) != first


def test_what_a_class_made_in_a_function_holds_on_to_is_in_its_name(project):
    text = """
    from ontogeny import Loss
    def made(factor):
        class Scaled(Loss):
            def __call__(self, now):
                return super().__call__(now) * factor
        return Scaled
    Mine = made(1.0)
    """
    project(probe=text)
    made = sys.modules["probe"].made
    names = [digest(record(asked(made(factor)))) for factor in (1.0, 1.0, 2.0)]
    assert names[0] == names[1] != names[2]
    assert not code_behind(asked(made(1.0))).unknown
    assert code_behind(asked(made(object()))).unknown  # what is no data cannot be hashed


def test_the_standard_library_is_left_out_and_distributions_count_by_version(project, monkeypatch):
    project(probe=probe("import json, collections.abc, numpy, scipy.stats"))
    code = code_behind(asked())
    assert not {"json", "collections", "collections.abc", "numpy"} & set(code.modules)
    assert {"jax", "numpy", "scipy", "equinox"} <= set(code.versions)
    assert set(code.modules) >= {"probe", "ontogeny.probes.behaviour", "ontogeny.engine.program"}
    assert "ontogeny.engine.execute" not in code.modules


# ------------------------------------------------------------------------------ cells of a notebook


class Notebook:
    """Cells, as IPython runs them: each has a file name that only linecache knows."""

    def __init__(self):
        self.space, self.count = {"__name__": "__main__"}, 0

    def run(self, text):
        self.count += 1
        name, text = f"<cell {self.count}>", textwrap.dedent(text)
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        exec(compile(text, name, "exec"), self.space)

    def name(self):
        return digest(record(asked(self.space["Mine"])))


@pytest.fixture
def notebook():
    made = Notebook()
    made.run("from ontogeny import Loss\nFACTOR = 1.0\ndef helper(x):\n    return x * FACTOR")
    made.run(probe(value="helper(1.0)"))
    return made


def test_a_probe_that_is_typed_again_is_another(notebook):
    first = notebook.name()
    notebook.run(probe(value="helper(1.0)"))
    assert notebook.name() == first  # the same text
    notebook.run(probe(value="helper(2.0)"))
    assert notebook.name() != first


@pytest.mark.parametrize("cell", ["FACTOR = 2.0", "def helper(x):\n    return x", "helper = abs"])
def test_what_a_typed_probe_uses_is_in_its_name(notebook, cell):
    first = notebook.name()
    notebook.run("unused = 3")
    assert notebook.name() == first
    notebook.run(cell)
    assert notebook.name() != first


TYPED = """
import sys
sys.path[:0] = sys.argv[1:]
import logging
logging.basicConfig(level=logging.WARNING)
from small import tiny
from dataclasses import replace
from ontogeny import Loss, Store, execute
class Mine(Loss):
    def __call__(self, now):
        return super().__call__(now)
asked = replace(tiny(), probes=tiny().probes | {"mine": Mine("train")})
store = Store("store")
execute({"x": asked}, seeds=1, store=store)
print("kept", len(store.names()))
execute({"x": tiny()}, seeds=1, store=store)
print("kept", len(store.names()))
"""


def test_what_cannot_be_hashed_is_not_kept_and_said(tmp_path):
    tests = TESTS
    words = [sys.executable, "-c", TYPED, str(tests.parent), str(tests)]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["kept", "0", "kept", "1"]
    assert "not kept, and run each time: the code of Mine" in done.stderr


# ------------------------------------------------------------------------------ in other processes

EDITED = """
import sys, time
sys.path[:0] = sys.argv[1:]
from dataclasses import replace
from pathlib import Path
from small import tiny
from ontogeny import ConfigError, Store, execute
from ontogeny.engine.serialize import record
from probe import Mine
if __name__ == "__main__":
    asked = replace(tiny(), probes=tiny().probes | {"mine": Mine("train")})
    record(asked)
    Path("probe.py").write_text(Path("probe.py").read_text().replace("1.0", "2.0"))
    try:
        execute({"x": asked}, seeds=1, workers=1, store=Store("store"))
    except ConfigError as error:
        print(error, len(Store("store").names()))
"""


def test_a_worker_that_would_run_other_code_refuses(tmp_path):
    """The file is edited between planning and the start of a worker, which imports it anew."""
    (tmp_path / "probe.py").write_text(probe())
    (tmp_path / "drive.py").write_text(EDITED)
    tests = TESTS
    words = [sys.executable, "drive.py", str(tests.parent), str(tests)]
    env = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{tests.parent}"}
    done = subprocess.run(
        words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert "is not what it was when this was planned" in done.stdout, done.stderr
    assert done.stdout.strip().endswith(" 0")


@pytest.mark.parametrize("scale", list(Scale))
def test_every_component_of_every_claim_is_hashed(scale):
    for claim in all_claims().values():
        for experiment in {} if claim.untested else claim.named(scale).values():
            code = code_behind(experiment)
            assert code.fixed and not code.unknown
            parts = [experiment.task, experiment.model] if hasattr(experiment, "task") else []
            assert {type(part).__module__ for part in (experiment, *parts)} <= code.modules.keys()


def test_how_a_component_looks_in_a_notebook_is_in_no_name():
    assert "ontogeny.core.notebook" in sys.modules  # it is imported by what is
    assert "ontogeny.core.fields" in code_behind(tiny()).modules
    assert "ontogeny.core.notebook" not in code_behind(tiny()).modules
