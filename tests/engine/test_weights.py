"""Trained models open elsewhere and say the same there."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small import tiny

from ontogeny import GPT2, AdamW, Analogy, ConfigError, Experiment, IdentityGPT2, Loss, execute
from ontogeny.engine.weights import named, read, trained, write


def small(model=None):
    model = model or GPT2(width=16, depth=2, heads=2)
    taught = (AdamW(steps=6, learning_rate=1e-2),)
    return Experiment(
        Analogy(tuples=3), model, taught, {"train loss": Loss("train")}, evaluations=2
    )


def test_training_again_gives_the_parameters_of_the_run():
    experiment = tiny()
    params = trained(experiment, seed=1)
    run = execute({"x": experiment}, seeds=2)["x"]
    task, model = experiment.task, experiment.model
    batch = task.sample(task.world(jax.random.key(0)), "train", jax.random.key(0))
    outputs = jax.vmap(model, (None, 0, 0))(params, batch.inputs, batch.at).outputs
    assert float(task.loss(outputs, batch)) == pytest.approx(run.curve("train loss")[1, -1], 1e-4)


def test_safetensors_come_back_as_they_were(tmp_path):
    experiment = small()
    params = trained(experiment)
    write(experiment, params, 0, tmp_path)
    again = read(tmp_path, params)
    for name, array in named(params).items():
        np.testing.assert_array_equal(named(again)[name], array)
    about = json.loads((tmp_path / "config.json").read_text())
    assert about["experiment"]["model"]["width"] == 16 and about["seed"] == 0
    with pytest.raises(ConfigError, match="should be of shape"):
        read(tmp_path, trained(small(GPT2(width=8, depth=2, heads=2))))
    (tmp_path / "model.safetensors").write_bytes(b"\x05")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path, params)


def test_transformers_opens_it_and_it_says_the_same(tmp_path):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    experiment = small()
    params = trained(experiment)
    write(experiment, params, 0, tmp_path, "gpt2")
    theirs, about = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not about["missing_keys"] and not about["unexpected_keys"]
    tokens = np.array([[0, 12], [5, 13], [9, 2]])
    at = jnp.arange(2)
    ours = jax.vmap(lambda row: experiment.model(params, row, at).outputs)(jnp.asarray(tokens))
    with torch.no_grad():
        said = theirs.eval()(torch.tensor(tokens)).logits.numpy()
    np.testing.assert_allclose(said, ours, atol=1e-4)
    assert np.ptp(said) > 1  # it was trained, and says something


def test_what_is_no_gpt2_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="a OneLayer is no GPT-2"):
        write(tiny(), trained(tiny()), 0, tmp_path, "gpt2")
    other = small(IdentityGPT2(width=16, depth=2, heads=2))
    with pytest.raises(ConfigError, match="identities that a GPT-2 has no place for"):
        write(other, trained(other), 0, tmp_path, "gpt2")
    with pytest.raises(ConfigError, match="no format 'onnx'"):
        write(small(), trained(small()), 0, tmp_path, "onnx")
