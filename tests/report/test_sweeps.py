"""What a sweep prints: the answer first, numbers that never break, at any width."""

import re

import numpy as np
import pytest
from rich.console import Console
from small import tiny

from ontogeny import Run, Scale, Seeds
from ontogeny.claims.changes import parse_change
from ontogeny.claims.claim import Claim, Paper
from ontogeny.claims.sweep import sweep
from ontogeny.report.sweeps import show_sweep

PAPER = Paper("test", "A test", "https://example.org")


def evidence(x):
    yield x.final("accuracy").above(0.5)
    yield x.final("loss of a quantity with a long name").below(10)
    yield x.final("the same").above(0)


CLAIM = Claim("made", "It is made.", PAPER, "here", {"x": tiny()}, evidence, Seeds(5, 5))


def execute(experiments, seeds):
    """Trains nothing: the accuracy falls as the ratio grows."""
    runs = {}
    for label, each in experiments.items():
        drawn = np.random.default_rng(0).uniform(0, 0.0123456, seeds)
        answers = {
            "accuracy": np.clip(1.0 / each.task.ratio + drawn, 0, 1),
            "loss of a quantity with a long name": each.model.scale + drawn,
            "the same": np.ones(seeds),
        }
        units = {"accuracy": "fraction"}
        answers = {name: values[:, None] for name, values in answers.items()}
        runs[label] = Run(label, np.array([0]), answers, tuple(range(seeds)), units=units)
    return runs


def printed(sweeps, width=80, seeds=5, changes=()):
    screen = Console(width=width, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115
    changes = [parse_change(text) for text in changes]
    show_sweep(screen, sweep(CLAIM, execute, changes, sweeps, Scale.LAPTOP, seeds))
    screen.file.close()
    return screen.export_text()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_answer_comes_first_then_a_strip_then_what_changes(width):
    text = printed({"task.ratio": ["1", "1.5", "4", "8"]}, width)
    first, blank, values, marks, *rest = text.splitlines()
    assert first == "supported up to task.ratio = 1.5, contradicted from 4 on" and not blank
    assert values.split() == ["task.ratio", "1", "1.5", "4", "8"]
    assert marks.split() == ["✓", "✓", "✗", "✗"]
    below = " ".join(" ".join(rest).split())
    assert "x: final accuracy is above 0.5" in below.replace("task.ratio", "").replace("  ", " ")
    assert "the same everywhere:" in below and "✓ 1 x: final the same is above 0" in below
    rows = [line.split() for line in rest if re.match(r"[1-8][.5]* ", line)]
    assert [row[:2] for row in rows] == [["1", "✓"], ["1.5", "✓"], ["4", "✗"], ["8", "✗"]]
    assert all(re.fullmatch(r"\d\.\d+|1", row[2]) for row in rows)  # whole numbers, not cut
    assert all(re.fullmatch(r"\[[\d.]+,", row[3]) for row in rows if len(row) > 3)
    assert "…" not in text and all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_two_sweeps_are_a_grid_with_a_line_for_each_kind_of_row(width):
    values = ["1", "1.5", "4"]
    text = printed({"task.ratio": values, "model.scale": ["0.1", "1", "20"]}, width)
    told = " ".join(text.split())
    assert "model.scale=0.1,1: supported up to task.ratio = 1.5, contradicted from 4 on" in told
    assert "model.scale=20: contradicted from task.ratio = 1 to 4: it does not flip" in told
    grid = re.findall(r"^(\S+) +([✓✗?]) +([✓✗?]) +([✓✗?]) *$", text, flags=re.M)
    assert grid == [("0.1", *"✓✓✗"), ("1", *"✓✓✗"), ("20", *"✗✗✗")]
    assert "…" not in text and all(len(line) <= width for line in text.splitlines())


def test_many_values_are_a_strip_in_several_lines():
    values = [str(value) for value in range(1, 60)]
    text = printed({"task.ratio": values})
    strips = re.findall(r"^task\.ratio +((?:\d+ +)+\d+ *)$", text, flags=re.M)
    assert " ".join(strips).split() == values and len(strips) > 1


def test_too_few_seeds_say_so_in_a_line():
    assert "2 seeds cannot decide: at least 5" in printed({"task.ratio": ["1", "4"]}, 120, 2)
    assert "intervals of fewer than 3 say little" in printed({"task.ratio": ["1", "4"]}, 120, 2)
    assert "say little" not in printed({"task.ratio": ["1", "4"]}, 120, 3)
    assert "cannot decide" not in printed({"task.ratio": ["1", "4"]}, 120, 5)


def test_a_change_without_a_sweep_is_answered_too():
    text = printed({}, 100, 5, ["task.ratio=4"])
    assert text.startswith("contradicted with task.ratio=4") and "is above 0.5" in text
