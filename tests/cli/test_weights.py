"""`ontogeny weights` writes what `ontogeny.load` reads, from the store where that has it."""

import json

import numpy as np
import pytest
from commands import typed

from ontogeny import Scale, Store, load, train
from ontogeny.claims.claim import CLAIMS

CHEAP = "attention_stays_balanced"
WORDS = ("weights", CHEAP, "--scale", "smoke", "--seed", 1)


def test_parameters_are_trained_once_then_read_from_the_store_and_listed(tmp_path, monkeypatch):
    done = typed(*WORDS, cwd=tmp_path)
    names = ("model.safetensors", "answers.safetensors", "config.json")
    assert done.returncode == 0 and done.stdout.split() == [f"weights/{name}" for name in names]
    assert "keeping parameters: " in done.stderr and "\r" not in done.stderr
    experiment = next(iter(CLAIMS[CHEAP].named(Scale.SMOKE).values()))
    mine, theirs = train(experiment, seed=1), load(tmp_path / "weights")
    assert theirs.experiment == experiment and theirs.seed == 1
    assert all(map(np.array_equal, theirs.params, mine.params))

    monkeypatch.setattr("ontogeny.engine.units.train", None)
    again = typed(*WORDS, "--out", "again", cwd=tmp_path)
    assert again.returncode == 0 and again.stderr == ""
    assert load(tmp_path / "again").predict("t1 r2") == theirs.predict("t1 r2")
    assert train(experiment, seed=1, store=Store(tmp_path / ".ontogeny")).step == mine.step

    listed = typed("runs", cwd=tmp_path)
    assert "1 runs in .ontogeny" in listed.stdout and "parameters 2.3 MB" in listed.stdout
    assert len(json.loads(typed("runs", "--json", cwd=tmp_path).stdout)) == 1
    pruned = typed("runs", "--prune", cwd=tmp_path)  # no claim judges at this scale
    assert pruned.stdout.startswith("freed 2.3 MB; 0 B left")
    with pytest.raises(TypeError, match="NoneType"):
        train(experiment, seed=1, store=Store(tmp_path / ".ontogeny"))
