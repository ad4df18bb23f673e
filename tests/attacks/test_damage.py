"""Full disks, changed bytes, hostile files: found, said, and run again."""

import hashlib
import json
import os
import random
import subprocess

import numpy as np
import pytest
from disturbed import EXPERIMENTS, same
from small import tiny

from ontogeny import Store, execute
from ontogeny.engine.store import Record

TIMES = int(os.environ.get("ONTOGENY_DAMAGE", "1"))
FLIPS, FORGERIES = 300 * TIMES, 220 * TIMES


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB, where one may mount it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("one may not mount a disk here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_costs_what_is_kept_and_nothing_else(
    small_disk, undisturbed, monkeypatch, caplog
):
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"0" * 40_000)
    store = Store(small_disk / "store")
    same(execute(EXPERIMENTS, seeds=2, workers=1, store=store), undisturbed)
    kept = len(store.names())
    assert kept < 4
    for name in store.names():
        assert store.load(name) is not None
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    same(execute(EXPERIMENTS, seeds=2, workers=1, store=store), undisturbed)
    assert len(store.names()) == 4 and not (store.root / "damaged").exists()


def harmed(content, chance):
    match chance.randrange(4):
        case 0:
            return content[: chance.randrange(len(content))]
        case 1:
            flipped, place = bytearray(content), chance.randrange(len(content))
            flipped[place] ^= 1 << chance.randrange(8)
            return bytes(flipped)
        case 2:
            return bytes(chance.randrange(256) for _ in range(50))
    return content + b"\0"


def test_bytes_that_change_are_found_and_what_they_held_is_run_again(
    store, caplog, record_property
):
    record_property("damaged files", FLIPS)
    first = execute({"x": tiny()}, seeds=2, store=store)["x"].answers
    chance = random.Random(3)
    for turn in range(FLIPS):
        path = chance.choice(sorted(store.root.glob("runs/*/*")))
        path.write_bytes(harmed(path.read_bytes(), chance))
        damaged = store.load(path.parent.name) is None
        assert damaged, (turn, path)
        if turn % 60 == 0:  # running again is the same each time
            again = execute({"x": tiny()}, seeds=2, store=store)["x"].answers
            for probe, values in first.items():
                np.testing.assert_allclose(again[probe], values, rtol=1e-5, atol=1e-6)
        else:
            whole = next(store.root.glob(f"damaged/{path.parent.name}-*"), None)
            assert whole is not None
            reseal(store, path.parent.name, first)


def reseal(store, name, answers):
    seed = int(name.rpartition("-")[2])
    own = {probe: values[seed] for probe, values in answers.items()}
    store.seal(name, {}, Record(own, "", {"failure": "", "seconds": 1.0}))


def test_a_hostile_file_under_a_right_seal_is_data_or_nothing(store, caplog, record_property):
    """Whoever can write a seal can write any bytes: they are read as numbers or set aside."""
    record_property("damaged files", FORGERIES)
    chance = random.Random(4)
    for _ in range(FORGERIES):
        environment = {"failure": "", "seconds": 1.0}
        store.seal("a-0", {}, Record({"x": np.arange(50.0)}, "", environment))
        folder = store.root / "runs" / "a-0"
        path = folder / chance.choice(["answers.npz", "environment.json"])
        path.write_bytes(harmed(path.read_bytes(), chance))
        seal = json.loads((folder / "seal.json").read_text())
        seal[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        (folder / "seal.json").write_text(json.dumps(seal))
        record = store.load("a-0")
        if record is not None:
            assert all(values.dtype != object for values in record.answers.values())


def test_a_seal_may_not_point_outside_its_folder(store):
    store.seal("a-0", {}, Record({"x": np.ones(3)}, "", {"failure": "", "seconds": 1.0}))
    folder = store.root / "runs" / "a-0"
    (folder / "seal.json").write_text(json.dumps({"../../../../../dev/zero": "0"}))
    assert store.load("a-0") is None  # and at once
