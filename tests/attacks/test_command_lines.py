"""Whatever is typed is answered: no traceback, no hang, an exit code that says what it was."""

import os
import random
import time
from collections import Counter

import pytest

from ontogeny import ConfigError, Store, execute
from ontogeny.cli.main import run

SEED = int(os.environ.get("ONTOGENY_SEED", "21"))
LINES = int(os.environ.get("ONTOGENY_LINES", "2000"))
SLOWEST = 20.0  # seconds, beside other tests
CHEAP = "gradients_have_the_stated_form"

NUMBERS = ["0", "1", "2", "3", "-1", "1e400", "nan", "inf", "9" * 30, "0x10", "1.5", "", "two"]
PATHS = ["file", "folder", "loop", "loop/x", "dangling", "dangling/x", "file/x", "x" * 300]
PATHS += ["new/deep/er", "a\0b", "", ".", "/dev/null", "/dev/full", "/dev/null/x", "~", "x" * 5000]
PATHS += ["new.png", "new.pdf", "x.json", "folder/", "ä ö.png", "-", "--", "\udcff"]
WORDS = ["*", "******!", "*" * 150, "x" * 201, "", " ", "all!", "[", "(", "\\", "^a+$", "\n", "é"]
PATTERNS = [CHEAP, "gradients", "gradient*form", "feature-resemblance", "nothing_like_it", *WORDS]
CHANGES = ["task.ratio=2", "task.ratio=", "=", "task.ration=3", "task.tuples=-1", "task=3", "."]
CHANGES += [
    "model.width=99999999999999999999",
    "training.0.learning_rate=nan",
    "trained.task.ratio=1",
]
CHANGES += [
    "training=7",
    "training.0=x",
    "training.-1.learning_rate=1",
    "training.9.learning_rate=1",
    "probes.x.split=y",
]
CHANGES += [
    "evaluations=7",
    "evaluations=0",
    "task.tuples=" + "9" * 400,
    "\0=\0",
    "model.residual=maybe",
]
SWEEPS = ["task.ratio=1,2", "task.ratio=1,1", "task.ratio=", "task.ratio=1,,2", "x=1"]
SWEEPS += ["task.ratio=" + ",".join(map(str, range(1, 20000))), "training.0.learning_rate=0.1,x"]

# a choice between two values is two cells, whatever their number is to be
OVERS = ["task.ratio=1,2", "task.ratio=2..1", "task.ratio=0..1:log", "task.ratio=x1..2", "x=1,2"]
OVERS += ["*=1,2", "*.*=nan,inf", "task.*=1,2", "task.ratio=..", "task.ratio=1..1e400:log", "=1..2"]
OVERS += ["task.tuples=-1,-2", "task.ratio=" + ",".join(map(str, range(1, 2000)))]

CLAIM, SOME = ("word", PATTERNS), ("words", PATTERNS)
OPTIONS = {
    "--store": PATHS,
    "--json": PATHS,
    "--out": PATHS,
    "--seeds": NUMBERS,
    "--hours": NUMBERS,
    "--seed": NUMBERS,
    "--workers": NUMBERS,
    "--scale": ["laptop", "paper", "smoke", "laptp", "", "LAPTOP"],
    "--on": ["ray:/", "here", "", "ray://"],
    "--set": CHANGES,
    "--sweep": SWEEPS,
    "--over": OVERS,
    "--cells": NUMBERS,
    "--csv": PATHS,
    "--format": ["csv", "parquet", "gpt2", "safetensors", "cvs", ""],
    "--width": NUMBERS,
    "--port": ["99999", "-1", "x", "", "1e9"],
    "--experiment": ["trained", "trainde", "", "\0"],
    "--model": PATHS,
    "--battery": ["quick", "full", "qick", ""],
    "--rate": NUMBERS,
    "--references": ["none", "auto", "trian", ""],
    "--name": WORDS,
    "--parameters": NUMBERS,
    "--minutes": NUMBERS,
    "--memory": NUMBERS,
}
COMMANDS = {
    "list": (SOME, ["--store"]),
    "judge": (SOME, ["--scale", "--seeds", "--workers", "--on", "--hours", "--json", "--store"]),
    "show": (CLAIM, ["--scale", "--store"]),
    "sweep": (CLAIM, ["--set", "--sweep", "--scale", "--seeds", "--workers", "--out", "--json"]),
    "map": (CLAIM, ["--over", "--cells", "--seeds", "--scale", "--hours", "--workers", "--csv"]),
    "runs": (None, ["--store"]),
    "bench": (None, ["--json"]),
    "report": (CLAIM, ["--scale", "--out", "--store"]),
    "figures": (CLAIM, ["--out", "--width", "--scale", "--store"]),
    "export": (CLAIM, ["--out", "--format", "--scale", "--store"]),
    "explore": (None, ["--port", "--store"]),
    "examine": (("word", PATHS), ["--battery", "--seeds", "--rate", "--references", "--out"]),
    "references": (("word", NUMBERS), ["--battery", "--seeds", "--rate", "--out", "--store"]),
    "weights": (CLAIM, ["--experiment", "--seed", "--format", "--out", "--scale"]),
    "llm": (CLAIM, ["--model", "--set", "--seeds", "--json", "--store"]),
    "models get": (("word", WORDS), []),
    "models list": (None, []),
    "write-verdicts": (("word", PATHS), []),
    "jugde": (SOME, []),
    "": (SOME, []),
}


def line(chance):
    """A command line of some kind."""
    command = chance.choice(list(COMMANDS))
    given, options = COMMANDS[command]
    words = command.split()
    if given and chance.random() < 0.9:
        words += [chance.choice(given[1]) for _ in range(chance.choice([1, 1, 2]))]
    for option in chance.sample(options, chance.randint(0, min(3, len(options)))):
        words += [option, chance.choice(OPTIONS[option])]
    if chance.random() < 0.05:
        words.insert(chance.randrange(len(words) + 1), chance.choice([*OPTIONS, "--nothing", "-h"]))
    if chance.random() < 0.03 and words:
        words.pop(chance.randrange(len(words)))
    return words


class Stubbed(ConfigError):  # noqa: N818
    """Here, training would begin."""


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    """A folder in which a claim is judged; nothing is trained from now on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["judge", CHEAP, "--seeds", "2", "--workers", "0"]) == 0
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("text")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")

    def planned(experiments, seeds=3, *, store=None, **where):
        number = {seeds} if isinstance(seeds, int) else set(seeds.values())
        if store and len(experiments) < 3 and number == {2}:
            return execute(experiments, seeds, store=store)
        raise Stubbed("nothing is trained here")

    def nothing(*_, **__):
        raise Stubbed("nothing is done here")

    monkeypatch.setattr("ontogeny.engine.execute.execute", planned)
    monkeypatch.setattr("ontogeny.engine.pools.forkserver.start", lambda: None)
    monkeypatch.setattr("ontogeny.engine.keeping.train", nothing)
    monkeypatch.setattr("ontogeny.bench.speed.measure", nothing)
    monkeypatch.setattr("ontogeny.llm.download.get", nothing)
    monkeypatch.setattr("ontogeny.scorecard.isolation.process.Process.__enter__", nothing)
    monkeypatch.setattr("ontogeny.scorecard.examine.train_references", nothing)
    monkeypatch.setattr(
        "ontogeny.report.explorer.Server.serve_forever", lambda self: None, raising=False
    )
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    return tmp_path


def ended(words, capsys):
    """The exit code of a command line, and what is wrong with how it ended, if anything is."""
    began = time.monotonic()
    try:
        code = run(words)
    except BaseException as error:
        return -1, repr(error)
    took, said = time.monotonic() - began, "".join(capsys.readouterr())
    wrong = "Traceback" in said or "internal error" in said or code not in (0, 1, 2)
    return code, said[-2000:] if wrong or took > SLOWEST else ""


def test_thousands_of_command_lines_end_well(laboratory, capsys, record_property):
    record_property("command lines", LINES)
    chance, codes, wrong = random.Random(SEED), Counter(), []
    store = Store(laboratory / ".ontogeny")
    kept = set(store.names())
    for number in range(LINES):
        words = line(chance)
        code, problem = ended(words, capsys)
        if problem:
            wrong.append(f"line {number} of seed {SEED}: run({words!r}): {code}\n{problem}")
        codes[code] += 1
    assert not wrong, "\n".join([f"{len(wrong)} of {LINES} went wrong:", *wrong[:10]])
    assert kept <= set(store.names())
    assert codes[0] > LINES / 20 and codes[2] > LINES / 4
