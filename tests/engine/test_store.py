"""A result is there whole or not at all; what is damaged is set aside and run again."""

import hashlib
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy
from small import tiny

from ontogeny import Measurement, Store, execute
from ontogeny.engine.files import write_whole
from ontogeny.engine.runs import specs
from ontogeny.engine.store import Checkpoint, Record


def sealed(store, name="a-0"):
    environment = {"failure": "", "seconds": 1.0, "written": "now"}
    record = Record({"x": np.arange(5.0)}, "", environment)
    store.seal(name, {"experiment": {"is": "x"}, "sources": {}}, record)
    return store.root / "runs" / name


def test_what_is_sealed_is_read_back(store):
    sealed(store)
    record = store.load("a-0")
    assert record is not None and record.answers["x"].tolist() == [0, 1, 2, 3, 4]
    assert store.load("b-0") is None and store.names() == ["a-0"]


@pytest.mark.parametrize("name", ["answers.npz", "environment.json", "seal.json"])
@pytest.mark.parametrize("harm", ["truncate", "flip", "empty", "remove"])
def test_a_damaged_run_is_set_aside_with_a_message(store, caplog, name, harm):
    path = sealed(store) / name
    content = bytearray(path.read_bytes())
    if harm == "truncate":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "flip":
        content[len(content) // 2] ^= 0x01
        path.write_bytes(content)
    elif harm == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
    with caplog.at_level(logging.WARNING):
        assert store.load("a-0") is None
    assert "set aside" in caplog.text and len(list((store.root / "damaged").iterdir())) == 1
    sealed(store)
    assert store.load("a-0") is not None


def test_a_damaged_run_is_run_again(store, caplog):
    first = execute({"x": tiny()}, seeds=2, store=store)["x"]
    name = specs("x", tiny(), [1])[0].name
    (store.root / "runs" / name / "answers.npz").write_bytes(b"PK not really")
    again = execute({"x": tiny()}, seeds=2, store=store)["x"]
    assert "set aside" in caplog.text
    np.testing.assert_allclose(
        first.curve("train loss"), again.curve("train loss"), rtol=1e-6, atol=1e-6
    )


def test_a_damaged_checkpoint_falls_back_on_the_one_before(store, caplog):
    for look in (1, 2):
        store.save("a-0", Checkpoint(look, {"00000": np.ones(3)}, {"x": np.ones(look)}, {}))
    newest = store.checkpoint("a-0")
    assert newest is not None and newest.evaluations == 2
    folders = sorted((store.root / "partial" / "a-0").iterdir())
    assert len(folders) == 1  # the older one is dropped
    (folders[0] / "state.npz").write_bytes(b"")
    assert store.checkpoint("a-0") is None and "set aside" in caplog.text


def test_nothing_is_unpickled(store):
    """A hostile array file is refused rather than loaded, even under a right seal."""
    folder = sealed(store)
    with (folder / "answers.npz").open("wb") as file:
        np.savez(file, x=np.array([{"a": "dict"}], dtype=object), allow_pickle=True)
    seal = json.loads((folder / "seal.json").read_text())
    seal["answers.npz"] = hashlib.sha256((folder / "answers.npz").read_bytes()).hexdigest()
    (folder / "seal.json").write_text(json.dumps(seal))
    assert store.load("a-0") is None


def test_many_writers_of_one_run_do_no_harm(store):
    threads = [threading.Thread(target=sealed, args=(store,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.load("a-0") is not None
    assert not list((store.root / "tmp").iterdir())


def test_pruning_keeps_what_is_wanted(store):
    sealed(store, "a-0"), sealed(store, "b-0")
    store.save("c-0", Checkpoint(1, {"00000": np.ones(3)}, {}, {}))
    assert store.prune(keep={"a"}) > 0
    assert store.names() == ["a-0"] and not (store.root / "partial").exists()


def verdict(**changes):
    """A verdict as a store keeps it."""
    words = ("claim", "says", "paper", "where", "outcome", "scale", "untested", "command", "digest")
    evidence = Measurement.of("it", [1.0, 1.0, 1.0]).above(0.5, paper=1.0)
    item = json.loads(json.dumps(evidence.as_json()))
    numbers = {"seeds": 3, "seconds": 1.5, "departures": [], "failures": [], "evidence": [item]}
    numbers |= {"fixed": True, "would_decide": "", "exact": "", "numbers": {"agrees": 1}}
    return dict.fromkeys(words, "x") | numbers | changes


def test_verdicts_are_remembered(store):
    assert store.note("verdicts", "x") is None
    store.save_note("verdicts", "x", verdict())
    assert store.note("verdicts", "x") == verdict()


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "null",
        "1" * 5000,
        "[" * 100_000,
        '{"outcome": "supported"}',
        json.dumps(verdict()),  # unsealed: an older version's, or anybody's
        json.dumps({"seal": "0" * 64, "content": verdict()}),
    ],
    ids=lambda text: text[:20],
)
def test_a_verdict_that_is_not_as_it_was_written_is_set_aside(store, caplog, content):
    store.save_note("verdicts", "x", verdict())
    (store.root / "verdicts" / "x.json").write_text(content)
    assert store.note("verdicts", "x") is None and "set aside" in caplog.text
    assert len(list((store.root / "damaged").iterdir())) == 1
    store.save_note("verdicts", "x", verdict())
    assert store.note("verdicts", "x") == verdict()


@pytest.mark.parametrize(
    "changes",
    [
        {"seeds": 10**12},
        {"seeds": -1},
        {"seeds": True},
        {"seeds": 2.0},
        {"outcome": 3},
        {"evidence": {}},
        {"evidence": [{}]},
        {"departures": [1]},
        {"seconds": "long"},
    ],
    ids=str,
)
def test_a_sealed_verdict_of_another_shape_is_set_aside(store, caplog, changes):
    store.save_note("verdicts", "x", verdict(**changes))
    assert store.note("verdicts", "x") is None and "set aside" in caplog.text


def test_a_text_without_end_is_not_read(store, caplog, monkeypatch):
    monkeypatch.setattr("ontogeny.engine.files.LONGEST", 1000)
    store.save_note("verdicts", "x", verdict(says="so " * 1000))
    assert store.note("verdicts", "x") is None and "longer than 1,000 bytes" in caplog.text


def harmed(path, change):
    """The file of a sealed run, changed under a right seal."""
    change(path)
    seal = json.loads((path.parent / "seal.json").read_text())
    seal[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (path.parent / "seal.json").write_text(json.dumps(seal))


def test_arrays_are_measured_before_they_are_read(store, caplog):
    """Neither a packed file that would swell nor a header that promises a terabyte is believed."""

    def packed(path):
        np.savez_compressed(path, x=np.zeros(10**6))

    def promising(path):
        header = {"descr": "<f8", "fortran_order": False, "shape": (2**37,)}
        with zipfile.ZipFile(path, "w") as archive, archive.open("x.npy", "w") as file:
            npy.write_array_header_1_0(file, header)
            file.write(b"0" * 64)

    for change in (packed, promising):
        harmed(sealed(store) / "answers.npz", change)
        tracemalloc.start()
        assert store.load("a-0") is None and "set aside" in caplog.text
        assert tracemalloc.get_traced_memory()[1] < 2**20
        tracemalloc.stop()


def test_those_who_are_gone_are_forgotten(store):
    news = {"words": ["judge"], "fraction": 0.5, "left": "1 s", "units": []}
    here = socket.gethostname()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for pid, host in ((os.getpid(), here), (gone.pid, here), (1, "elsewhere"), (2, "elsewhere")):
        store.note_work(pid, news | {"pid": pid, "host": host})
    assert len(list((store.root / "working").iterdir())) == 4
    os.utime(store.root / "working" / f"{here}-2.json", (0, 0))  # it has been silent for long
    assert sorted(work["pid"] for work in store.works()) == sorted([1, os.getpid()])
    assert len(list((store.root / "working").iterdir())) == 2


def test_what_the_killed_left_aside_is_swept_when_it_is_stale(store):
    for name, age in (("old", 10_000), ("new", 0)):
        folder = store.root / "tmp" / name
        folder.mkdir(parents=True)
        when = time.time() - age
        os.utime(folder, (when, when))
    sealed(store)
    assert [path.name for path in (store.root / "tmp").iterdir()] == ["new"]


def test_a_folder_that_is_removed_is_never_found_in_part(store, monkeypatch):
    """Killed while it removes a checkpoint, a process leaves it whole, or out of the way."""
    store.save("a-0", Checkpoint(1, {"00000": np.ones(3)}, {"x": np.ones(1)}, {}))
    seen = []
    monkeypatch.setattr("shutil.rmtree", lambda path, **_: seen.append(path))
    sealed(store)
    assert not (store.root / "partial" / "a-0").exists() and seen
    assert all(path.parent.name == "tmp" for path in seen)


def test_a_store_that_cannot_be_written_is_read(store, caplog, monkeypatch):
    folder = sealed(store)
    store.save_note("verdicts", "x", verdict())
    (folder / "answers.npz").write_bytes(b"")
    (store.root / "verdicts" / "x.json").write_text("{")

    def refuse(*_, **__):
        raise PermissionError("read-only")

    monkeypatch.setattr("pathlib.Path.rename", refuse)
    assert store.load("a-0") is None and store.note("verdicts", "x") is None
    assert caplog.text.count("not used (read-only)") == 2


def test_a_pipe_or_a_device_is_written_to_and_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True)
    write_whole(tmp_path / "pipe", "words")
    assert reader.communicate(timeout=30)[0] == "words" and (tmp_path / "pipe").is_fifo()


def test_what_another_wrote_and_discarded_meanwhile_is_no_error(store, monkeypatch):
    """The other wins the race for the place, and has gone on when we look what is there."""
    place = sealed(store)
    there = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda self: self != place and there(self))
    sealed(store)
    assert not list((store.root / "tmp").iterdir())


def test_a_folder_that_is_discarded_while_a_run_is_put_there_is_made_again(store, monkeypatch):
    rename, times = Path.rename, []

    def late(self, target):
        times.append(target)
        if len(times) == 1:
            target.parent.rmdir()
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", late)
    sealed(store)
    assert times[:2] == [store.root / "runs" / "a-0"] * 2 and store.load("a-0") is not None


def test_runs_of_an_older_version_are_said_to_be_older_not_used_and_not_harmed(store, caplog):
    old = store.root / "runs" / "0123456789abcdef-0"
    old.mkdir(parents=True)
    (old / "seal.json").write_text("{}")
    run = execute({"x": tiny()}, seeds=1, store=store)["x"]
    assert run.curve("train loss").shape[0] == 1
    assert "1 runs were written by an older version" in caplog.text and old.is_dir()
    caplog.clear()
    execute({"y": tiny(width=18)}, seeds=1, store=Store(store.root))
    assert "older version" not in caplog.text and len(store.names()) == 3
