"""A result is there whole or not at all; what is damaged is set aside and run again."""

import json
import logging
import threading

import numpy as np
import pytest
from conftest import tiny

from ontogeny import Store, execute
from ontogeny.row import lanes
from ontogeny.store import Checkpoint, Record


def sealed(store, name="a-0"):
    environment = {"trouble": "", "seconds": 1.0, "written": "now"}
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
    name = lanes("x", tiny(), [1])[0].name
    (store.root / "runs" / name / "answers.npz").write_bytes(b"PK not really")
    again = execute({"x": tiny()}, seeds=2, store=store)["x"]
    assert "set aside" in caplog.text
    np.testing.assert_allclose(
        first.curve("train loss"), again.curve("train loss"), rtol=1e-6, atol=1e-6
    )


def test_a_damaged_checkpoint_falls_back_on_the_one_before(store, caplog):
    for look in (1, 2):
        store.save("a-0", Checkpoint((0, look), {"00000": np.ones(3)}, {"x": np.ones(look)}, {}))
    newest = store.checkpoint("a-0")
    assert newest is not None and newest.position == (0, 2)
    folders = sorted((store.root / "partial" / "a-0").iterdir())
    assert len(folders) == 1  # the older one is dropped
    (folders[0] / "state.npz").write_bytes(b"")
    assert store.checkpoint("a-0") is None and "set aside" in caplog.text


def test_nothing_is_unpickled(store):
    """A hostile array file is refused rather than loaded, even under a right seal."""
    folder = sealed(store)
    with (folder / "answers.npz").open("wb") as file:
        np.savez(file, x=np.array([{"a": "dict"}], dtype=object), allow_pickle=True)
    import hashlib

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
    store.save("c-0", Checkpoint((0, 1), {"00000": np.ones(3)}, {}, {}))
    assert store.prune(keep={"a"}) > 0
    assert store.names() == ["a-0"] and not (store.root / "partial").exists()


def test_verdicts_are_remembered(tmp_path):
    store = Store(tmp_path)
    assert store.verdict("x") is None
    store.save_verdict("x", {"outcome": "supported"})
    assert store.verdict("x") == {"outcome": "supported"}
    (tmp_path / "verdicts" / "x.json").write_text("{")
    assert store.verdict("x") is None
