"""A run as a frame and in a notebook."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ontogeny import AdamW, Claim, ConfigError, Paper, Run, Scale, Verdict


def a_run(**changes):
    answers = {"loss": np.array([[1.0, 0.5], [1.2, 0.7]]), "<b>": np.ones((2, 2, 3))}
    given = {"name": "<joint>", "steps": np.array([0, 10]), "seeds": (4, 5)} | changes
    return Run(answers=answers, **given)


def test_a_run_needs_pandas_to_be_a_frame(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="pip install pandas"):
        a_run().to_frame()


def test_a_run_as_a_frame_has_a_row_per_number(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda rows: rows))
    frame = a_run().to_frame()
    assert list(frame) == ["seed", "step", "probe", "index", "value"]
    rows = list(zip(*frame.values(), strict=True))
    assert len(rows) == 4 + 12
    assert rows[3] == (5, 10, "loss", "", 0.7) and rows[-1] == (5, 10, "<b>", "2", 1.0)


def test_a_run_is_a_real_frame_where_pandas_is_installed():
    pandas = pytest.importorskip("pandas")
    frame = a_run().to_frame()
    assert isinstance(frame, pandas.DataFrame)
    losses = frame[frame.probe == "loss"].pivot(index="step", columns="seed", values="value")
    np.testing.assert_allclose(losses.to_numpy(), [[1.0, 1.2], [0.5, 0.7]])


def test_what_a_notebook_shows_is_escaped():
    shown = a_run(failures=("<i>bad</i>",))._repr_html_()
    assert "&lt;joint&gt;: 2 seeds, 10 steps" in shown and "0.6 [" in shown
    assert "array of shape (3,)" in shown
    assert "&lt;b&gt;" in shown and "<i>" not in shown
    final = a_run().final("loss")
    evidence = final.above(0.1, paper=0.3)
    paper = Paper("k", "title", "url")
    claim = Claim("<it>", "a < b", paper, "p. 1", {}, None)
    verdict = Verdict(claim, Scale.LAPTOP, [evidence], 2, 1.0)
    for text in (final._repr_html_(), evidence._repr_html_(), verdict._repr_html_()):
        assert text.startswith("<table>") and not re.search("<(joint|it)>", text)
    assert str(final).startswith("<joint>: final loss: 0.6 [")
    assert str(evidence).startswith("undecided: ") and "paper 0.3" in str(evidence)
    assert "learning_rate" in AdamW(steps=1, learning_rate=0.1)._repr_html_()
