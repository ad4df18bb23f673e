"""Trained models open elsewhere and say the same there."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small import tiny

from ontogeny import GPT2, AdamW, Analogy, ConfigError, Experiment, IdentityGPT2, Loss, train


def small(model=None):
    model = model or GPT2(width=16, depth=2, heads=2)
    taught = (AdamW(steps=6, learning_rate=1e-2),)
    return Experiment(
        Analogy(tuples=3), model, taught, {"train loss": Loss("train")}, evaluations=2
    )


def test_transformers_opens_it_and_it_says_the_same(tmp_path):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    trained = train(small())
    weights, config = trained.save(tmp_path, "gpt2")
    assert (weights.name, config.name) == ("model.safetensors", "config.json")
    theirs, about = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not about["missing_keys"] and not about["unexpected_keys"]
    assert json.loads(config.read_text())["n_embd"] == 16
    tokens = np.array([[0, 12], [5, 13], [9, 2]])
    at = jnp.arange(2)
    model, params = trained.experiment.model, trained.params
    ours = jax.vmap(lambda row: model(params, row, at).outputs)(jnp.asarray(tokens))
    with torch.no_grad():
        said = theirs.eval()(torch.tensor(tokens)).logits.numpy()
    np.testing.assert_allclose(said, ours, atol=1e-4)
    assert np.ptp(said) > 1  # it was trained, and says something


def test_what_is_no_gpt2_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="a OneLayer is no GPT-2"):
        train(tiny()).save(tmp_path, "gpt2")
    other = train(small(IdentityGPT2(width=16, depth=2, heads=2)))
    with pytest.raises(ConfigError, match="identities that a GPT-2 has no place for"):
        other.save(tmp_path, "gpt2")
    with pytest.raises(ConfigError, match="no format 'onnx'"):
        other.save(tmp_path, "onnx")
    rotary = train(small(GPT2(width=16, depth=2, heads=2, positions="rotary")))
    with pytest.raises(ConfigError, match="positions='rotary': a GPT-2 learns its positions"):
        rotary.save(tmp_path, "gpt2")
    assert not list(tmp_path.iterdir())
