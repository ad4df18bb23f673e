"""A trained model that was saved is the same when it is loaded, or it is said why not."""

import json
import sys

import numpy as np
import pytest
from components import on_examples
from small import tiny

from ontogeny import Accuracy, ConfigError, Loss, Trained, load, train
from ontogeny.core.fields import Component
from ontogeny.engine.serialize import deserialize, serialize


@pytest.fixture(scope="module")
def trained():
    return train(tiny(), seed=1, keep=[8, 20, 40])


@pytest.fixture
def saved(trained, tmp_path):
    """A folder with a trained model."""
    trained.save(tmp_path / "it")
    return tmp_path / "it"


def test_it_comes_back_as_it_was(trained, saved):
    again = load(saved)
    assert isinstance(again, Trained) and again.source.changed == ()
    assert (again.seed, again.step, again.steps) == (1, 40, (8, 20, 40))
    assert again.experiment == trained.experiment and repr(again) == repr(trained)
    for step in again.steps:
        assert np.array_equal(again.at(step).params.value, trained.at(step).params.value)
    assert again.predict("t1 r2") == trained.predict("t1 r2")
    assert again.probe(Accuracy("train")) == trained.probe(Accuracy("train"))
    assert np.array_equal(again.run.curve("train loss"), trained.run.curve("train loss"))


def test_it_is_safetensors_and_json(trained, saved):
    from safetensors.numpy import load_file

    assert {path.suffix for path in saved.iterdir()} == {".safetensors", ".json"}
    assert np.array_equal(load_file(saved / "model.safetensors")["value"], trained.params.value)
    about = json.loads((saved / "config.json").read_text())
    assert about["experiment"]["model"]["width"] == 16 and about["seed"] == 1


def test_it_is_saved_at_the_step_that_it_is_at(trained, tmp_path):
    written = trained.at(8).save(tmp_path)
    assert [path.name for path in written] == [
        "model.safetensors", "step-20.safetensors", "step-40.safetensors", "answers.safetensors",
        "config.json",
    ]  # fmt: skip
    again = load(tmp_path)
    assert again.step == 8 and np.array_equal(again.params.value, trained.at(8).params.value)
    train(tiny()).save(tmp_path)  # another, in its place
    assert load(tmp_path).steps == (40,) and load(tmp_path).seed == 0


@pytest.mark.parametrize("name", ["model.safetensors", "step-20.safetensors"])
@pytest.mark.parametrize("harm", ["flip", "empty", "remove"])
def test_a_damaged_file_is_said_to_be_damaged(saved, name, harm):
    file = saved / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(b"" if harm == "empty" else data)
    if harm == "remove":
        file.unlink()
    said = "No such file" if harm == "remove" else "it has changed since it was written"
    with pytest.raises(ConfigError, match=f"{name} cannot be read: .*{said}"):
        _ = load(saved).at(20).params


def edited(folder, change):
    """Its config, changed."""
    about = json.loads((folder / "config.json").read_text())
    change(about)
    (folder / "config.json").write_text(json.dumps(about))


def test_code_that_has_changed_is_named(saved, caplog):
    def other(about):
        about["sources"]["ontogeny.models.one_layer"] = "0" * 20
        about["versions"]["jax"] = "0.1"

    assert load(saved).source.changed == () and not caplog.text
    edited(saved, other)
    again = load(saved)
    assert again.source.changed == ("jax", "ontogeny.models.one_layer")
    assert "trained: jax, ontogeny.models.one_layer; what is asked" in caplog.text
    assert "changed since it was trained jax, ontogeny.models.one_layer" in repr(again)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda it: it.pop("seed"), "not that of a saved model: it has no 'seed'"),
        (lambda it: it.update(step=4), "no file has the parameters of its step"),
        (lambda it: it["experiment"].update(tsk=1), "Experiment has no field 'tsk'"),
        (lambda it: it["experiment"]["model"].update(width=20), "value should be of shape"),
        (lambda it: it["experiment"]["model"].update(width=0), "OneLayer.width must be at least 1"),
        (lambda it: it["experiment"]["model"].update({"is": "os.system"}), "os.system is no comp"),
        (lambda it: it["experiment"]["model"].update({"is": "nowhere.Model"}), "import the module"),
        (lambda it: it["experiment"]["model"].update({"is": "this.Model"}), "import the module"),
        (lambda it: it.update(experiment=it["experiment"]["model"]), "that is no Experiment"),
        (lambda it: it["steps"].update({"40": "../it/model.safetensors"}), "cannot be read"),
    ],
)
def test_a_config_that_cannot_be_is_refused_and_imports_nothing(saved, change, problem):
    edited(saved, change)
    with pytest.raises(ConfigError, match=problem):
        load(saved)
    assert "this" not in sys.modules


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_what_is_no_config_is_refused(saved, text):
    (saved / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=r"config.json (cannot be read|is not that of)"):
        load(saved)


def test_where_nothing_is_or_can_be_written_is_said(trained, tmp_path):
    with pytest.raises(ConfigError, match=r"holds no trained model: it has no config\.json"):
        load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="nothing can be written there"):
        trained.save(tmp_path / "file")


@on_examples(Component)
def test_every_component_is_made_again_from_its_text(example):
    text = json.loads(json.dumps(serialize(example.component)))
    assert deserialize(text) == example.component


def test_a_users_component_is_made_again_if_its_module_is_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_probes.py").write_text(
        "from ontogeny import Loss\nclass Theirs(Loss):\n    class Inner(Loss):\n        pass\n"
    )
    told = {"is": "their_probes.Theirs.Inner", "split": "train"}
    with pytest.raises(ConfigError, match=r"their_probes\.Theirs\.Inner is not known here: import"):
        deserialize(told)
    import their_probes

    assert deserialize(told) == their_probes.Theirs.Inner("train") != Loss("train")
    del sys.modules["their_probes"]
