"""Progress is shown to who watches, on one line, and to nobody else."""

import sys

import pytest
from small import tiny

from ontogeny import ConfigError, execute
from ontogeny.engine import display
from ontogeny.engine.progress import Live
from ontogeny.engine.schedule import Progress


class Handle:
    """What IPython gives to change a display."""

    def __init__(self):
        self.lines = []

    def update(self, data, raw):
        self.lines.append(data["text/plain"])


@pytest.fixture
def notebook(monkeypatch):
    """The lines that a notebook's cell shows, the latest last."""
    shows = pytest.importorskip("IPython.display")
    handle = Handle()

    def show(data, raw, display_id):
        handle.update(data, raw)
        return handle

    monkeypatch.setattr(shows, "display", show)
    monkeypatch.setattr(display, "in_notebook", lambda: True)
    monkeypatch.setattr(display, "NOTE_SECONDS", 0.0)
    return handle.lines


def test_a_notebook_shows_one_line_that_changes(notebook, store):
    execute({"x": tiny()}, seeds=1, store=store)
    assert any("x (1 run)" in line and "step 20/40" in line for line in notebook)
    assert notebook[-1].startswith("100% done in")
    shown = len(notebook)
    execute({"x": tiny()}, seeds=1, store=store)  # there is nothing to do
    assert len(notebook) == shown


def test_nothing_is_shown_where_nobody_watches_or_wants_it(notebook, monkeypatch, capfd):
    execute({"x": tiny()}, seeds=1, progress=False)
    monkeypatch.setattr(display, "in_notebook", lambda: False)
    execute({"x": tiny()}, seeds=1)
    assert not notebook and capfd.readouterr() == ("", "")
    execute({"x": tiny()}, seeds=1, progress=True)
    assert "running 1 run in" in capfd.readouterr().err


def test_a_terminal_shows_bars_and_leaves_nothing(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with display.shown(None, None) as watch:
        assert isinstance(watch, Live) and watch.bars.live.transient
    assert not watch.bars.live.is_started


def test_a_number_of_workers_that_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="workers must be at least 0, not -1"):
        execute({"x": tiny()}, seeds=1, workers=-1)


def test_somebodys_own_display_is_used_and_not_closed():
    class Own(Progress):
        done = 0

        def finished(self, unit):
            self.done += 1

        def close(self):
            raise AssertionError

    own = Own()
    execute({"x": tiny()}, seeds=1, progress=own)
    assert own.done == 1
