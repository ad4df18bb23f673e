"""Parameters as arrays with names: for files, and for other people's tools."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..core.fields import ConfigError
from ..core.types import Experiment, Params
from ..models.gpt2 import GPT2, IdentityGPT2, ScaledGPT2
from ..models.gpt2 import Params as GPT2Params
from .files import Arrays

FORMATS = ("safetensors", "gpt2")


def named(params: Params) -> Arrays:
    """Parameters by their path in the tree: `blocks.query.weight`."""
    leaves = jax.tree.leaves_with_path(params)
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): np.array(leaf)
        for path, leaf in leaves
    }


def shapes(experiment: Experiment) -> Params:
    """Parameters of an experiment, as shapes."""
    shapes: Params = jax.eval_shape(experiment.model.init, experiment.task, jax.random.key(0))
    return shapes


def size(experiment: Experiment) -> int:
    """Bytes of its parameters."""
    leaves = jax.tree.leaves(shapes(experiment))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)


def fitted(arrays: Arrays, experiment: Experiment, home: str) -> Params:
    """Arrays as the parameters of an experiment; says which does not fit. `home` is their file."""
    leaves, structure = jax.tree.flatten_with_path(shapes(experiment))
    found = []
    for path, leaf in leaves:
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        if name not in arrays or arrays[name].shape != leaf.shape:
            there = arrays[name].shape if name in arrays else "not there"
            raise ConfigError(f"{home}: {name} should be of shape {leaf.shape}, and is {there}")
        found.append(jnp.asarray(arrays[name], leaf.dtype))
    return jax.tree.unflatten(structure, found)


def check(experiment: Experiment, form: str) -> None:
    """Refuses what cannot be written in a format, before anything is trained for it."""
    model = experiment.model
    if form not in FORMATS:
        raise ConfigError(f"no format {form!r}: {' or '.join(FORMATS)}")
    if form == "gpt2" and isinstance(model, IdentityGPT2):
        raise ConfigError(f"a {type(model).__name__} has identities that a GPT-2 has no place for")
    if form == "gpt2" and not isinstance(model, GPT2 | ScaledGPT2):
        raise ConfigError(f"a {type(model).__name__} is no GPT-2: write it as safetensors")
    if isinstance(model, GPT2 | ScaledGPT2) and form == "gpt2" and model.positions != "learned":
        raise ConfigError(
            f"{type(model).__name__}.positions={model.positions!r}: a GPT-2 learns its positions"
        )


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
