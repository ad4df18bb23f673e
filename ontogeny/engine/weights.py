"""Trained models for other people's tools: as safetensors, and as a GPT-2 that others open.

What a model is trained to be is found by training it again, from its experiment and seed: a store
keeps answers, not parameters.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.fields import ConfigError
from ..core.types import Experiment, Params
from ..models.gpt2 import GPT2, IdentityGPT2, ScaledGPT2
from ..models.gpt2 import Params as GPT2Params
from .environment import environment
from .runs import CompiledBatch, specs
from .serialize import serialize
from .units import News

Arrays = dict[str, np.ndarray]
FORMATS = ("safetensors", "gpt2")


def trained(
    experiment: Experiment, seed: int = 0, tell: Callable[[News], None] = lambda _: None
) -> Params:
    """The parameters with which a run ends."""
    batch = CompiledBatch(specs("", experiment, [seed]), experiment, width=1)
    batch.begin()
    while not batch.done:
        batch.advance()
        steps = batch.evaluated_at[-1]
        tell(News(batch.step, steps, math.nan, batch.step / steps))
    if batch.failures[0]:
        raise ConfigError(f"this run has no parameters to keep: {batch.failures[0]}")
    return jax.tree.map(lambda leaf: leaf[0], batch.state.params)


def named(params: Params) -> Arrays:
    """Parameters by their path in the tree: `blocks.query.weight`."""
    leaves = jax.tree.leaves_with_path(params)
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): np.array(leaf)
        for path, leaf in leaves
    }


def check(experiment: Experiment, form: str) -> None:
    """Refuses what cannot be written in a format, before anything is trained for it."""
    model = experiment.model
    if form not in FORMATS:
        raise ConfigError(f"no format {form!r}: {' or '.join(FORMATS)}")
    if form == "gpt2" and isinstance(model, IdentityGPT2):
        raise ConfigError(f"a {type(model).__name__} has identities that a GPT-2 has no place for")
    if form == "gpt2" and not isinstance(model, GPT2 | ScaledGPT2):
        raise ConfigError(f"a {type(model).__name__} is no GPT-2: write it as safetensors")


def write(
    experiment: Experiment, params: Params, seed: int, folder: Path, form: str = "safetensors"
) -> list[Path]:
    """Writes `model.safetensors` and `config.json`: as the laboratory names things, or as a GPT-2
    of the transformers library."""
    check(experiment, form)
    if form == "gpt2":
        arrays, config = gpt2(experiment, params)
    else:
        arrays = named(params)
        config = {"experiment": serialize(experiment), "seed": seed, "environment": environment()}
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights, about = folder / "model.safetensors", folder / "config.json"
    save_file(arrays, weights, metadata={"format": "pt"})
    about.write_text(json.dumps(config, indent=1) + "\n")
    return [weights, about]


def read(folder: Path, like: Params) -> Params:
    """The parameters of a folder, put in the shape of others."""
    from safetensors.numpy import load_file

    try:
        found = load_file(folder / "model.safetensors")
    except Exception as error:
        raise ConfigError(f"{folder}/model.safetensors cannot be read: {error}") from error
    wanted = named(jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), like))
    for name, array in wanted.items():
        if name not in found or found[name].shape != array.shape:
            there = found[name].shape if name in found else "not there"
            raise ConfigError(f"{folder}: {name} should be of shape {array.shape}, and is {there}")
    leaves = [jnp.asarray(found[name]) for name in wanted]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def gpt2(experiment: Experiment, params: GPT2Params) -> tuple[Arrays, dict[str, Any]]:
    """The same function as transformers' `GPT2LMHeadModel` has it."""
    model, task = experiment.model, experiment.task
    assert isinstance(model, GPT2 | ScaledGPT2)
    arrays: dict[str, Any] = {
        "transformer.wte.weight": params.tokens,
        "transformer.wpe.weight": params.positions,
        "transformer.ln_f.weight": params.norm.scale,
        "transformer.ln_f.bias": params.norm.shift,
    }
    blocks = params.blocks
    for layer in range(model.depth):
        home = f"transformer.h.{layer}."
        for ours, theirs in (("attention_norm", "ln_1"), ("mlp_norm", "ln_2")):
            norm = getattr(blocks, ours)
            arrays[f"{home}{theirs}.weight"] = norm.scale[layer]
            arrays[f"{home}{theirs}.bias"] = norm.shift[layer]
        for ours, theirs in (
            ("mix", "attn.c_proj"), ("mlp_in", "mlp.c_fc"), ("mlp_out", "mlp.c_proj")
        ):  # fmt: skip
            linear = getattr(blocks, ours)
            arrays[f"{home}{theirs}.weight"] = linear.weight[layer]
            arrays[f"{home}{theirs}.bias"] = linear.bias[layer]
        for part in ("weight", "bias"):  # theirs has query, key and value side by side
            both = [getattr(each, part)[layer] for each in (blocks.query, blocks.key_value)]
            arrays[f"{home}attn.c_attn.{part}"] = np.concatenate(both, axis=-1)
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": task.vocab,
        "n_positions": task.length,
        "n_embd": model.width,
        "n_layer": model.depth,
        "n_head": model.heads,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "attn_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "resid_pdrop": 0.0,
        "bos_token_id": None,
        "eos_token_id": None,
        "tie_word_embeddings": True,
    }
    return {name: np.array(array) for name, array in arrays.items()}, config
