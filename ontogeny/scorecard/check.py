"""Checks of a user's module before it is trained; an error shows the tokens that were fed in."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from ..core.errors import one_line
from ..core.fields import ConfigError
from ..engine.machine import known
from .battery import LENGTH, VOCAB
from .jax_modules import split_parameters
from .load import Source, build, count_parameters, factory_of, kind_of

Forward = Callable[[np.ndarray], np.ndarray]  # tokens (row, position) → logits (…, vocab)
Doing = Callable[[str], None]  # hears what is about to be done with a module

_TOLERANCE = 1e-3  # float32, in another order of sums


def check(source: Source, doing: Doing = lambda _: None) -> tuple[str, int]:
    """The kind of module and its number of parameters; or an error that says what is wrong."""
    name = source.name
    doing(f"it was made with vocab={VOCAB}, length={LENGTH}")
    module = build(factory_of(source), VOCAB, LENGTH, jr.key(0))
    kind = kind_of(module)
    if kind == "ontogeny":
        return kind, 0
    forward, size = _torch(module) if kind == "torch" else _jax(module)
    if size == 0:
        raise ConfigError(f"{name} has no parameters to train")

    def run(tokens: np.ndarray, why: str = "") -> np.ndarray:
        doing(f"it was run on tokens of shape {tokens.shape}{why}")
        return _run(forward, tokens, name)

    tokens = np.random.default_rng(0).integers(0, VOCAB, (3, 12))
    logits = run(tokens)
    _shape(logits, tokens, name)
    _finite(logits, tokens, name)
    _same(logits, run(tokens, " a second time"), tokens, name)
    others = np.concatenate([tokens[:1], (tokens[1:] + 1) % VOCAB])
    _rows(logits, run(others, " in another batch"), tokens, name)
    _causal(partial(run, why=" with another last token"), logits, tokens, name)
    for length in (1, LENGTH):
        other = np.random.default_rng(length).integers(0, VOCAB, (2, length))
        _shape(run(other), other, name)
    if kind == "torch":
        doing(f"its gradients were computed on tokens of shape {tokens.shape}")
        _trainable(module, tokens, name)
    return kind, size


def _torch(module: Any) -> tuple[Forward, int]:
    import torch

    def forward(tokens: np.ndarray) -> np.ndarray:
        module.eval()
        given = torch.tensor(tokens)
        with torch.no_grad():
            found = module(given)
        if not torch.equal(given, torch.tensor(tokens)):
            raise ConfigError(
                f"the module changed the tokens it was given, {_shown(tokens)}, into "
                f"{_shown(given.numpy())}: work on a copy"
            )
        if not isinstance(found, torch.Tensor):
            raise ConfigError(f"it returned a {type(found).__name__}, not a tensor of logits")
        array: np.ndarray = found.detach().float().numpy()
        return array

    return forward, sum(p.numel() for p in module.parameters() if p.requires_grad)


def _jax(module: Any) -> tuple[Forward, int]:
    params, one = split_parameters(module, LENGTH, jr.key(0))
    # run a few times only: compiled quickly rather than well
    options = known({"xla_backend_optimization_level": 0})
    together = jax.jit(jax.vmap(partial(one, params)), compiler_options=options)

    def forward(tokens: np.ndarray) -> np.ndarray:
        return np.asarray(together(jnp.asarray(tokens)))

    return forward, count_parameters(params)


def _run(forward: Forward, tokens: np.ndarray, name: str) -> np.ndarray:
    try:
        return forward(tokens)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    except Exception as error:
        raise ConfigError(
            f"{name} failed on tokens of shape {tokens.shape}, {_shown(tokens)}: {one_line(error)}"
        ) from error


def _shape(found: np.ndarray, tokens: np.ndarray, name: str) -> None:
    wanted = (*tokens.shape, VOCAB)
    if found.shape[:-1] == tokens.shape and found.ndim == 3 and found.shape[-1] >= VOCAB:
        return
    hint = ""
    if found.shape == (len(tokens), VOCAB):
        hint = ": logits are needed at every position, not only at the last"
    elif found.shape == (len(tokens), VOCAB, tokens.shape[1]):
        hint = ": the last two axes are swapped"
    elif found.shape[:1] != tokens.shape[:1]:
        hint = ": the first axis must be the batch"
    raise ConfigError(f"{name} made {found.shape} of tokens {tokens.shape}, not {wanted}{hint}")


def _finite(found: np.ndarray, tokens: np.ndarray, name: str) -> None:
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        row, position, token = bad[0]
        raise ConfigError(
            f"{name} gives {found[row, position, token]} for token {token} at row {row}, position "
            f"{position}, before any training, fed {_shown(tokens)}"
        )


def _same(first: np.ndarray, again: np.ndarray, tokens: np.ndarray, name: str) -> None:
    if (gap := float(np.abs(first - again).max())) > _TOLERANCE:
        raise ConfigError(
            f"{name} gives other logits for the same tokens the second time (by {gap:.2g}), fed "
            f"{_shown(tokens)}: it keeps a state from call to call, or changes its parameters"
        )


def _rows(logits: np.ndarray, beside: np.ndarray, tokens: np.ndarray, name: str) -> None:
    if (gap := float(np.abs(logits[0] - beside[0]).max())) > _TOLERANCE:
        raise ConfigError(
            f"{name} gives other logits for a sequence when the rest of the batch changes (by "
            f"{gap:.2g}), fed {_shown(tokens)}: sequences must not mix (batch norm?)"
        )


def _causal(forward: Forward, logits: np.ndarray, tokens: np.ndarray, name: str) -> None:
    changed, last = tokens.copy(), tokens.shape[1] - 1
    changed[:, last] = (changed[:, last] + 1) % VOCAB
    moved = np.abs(forward(changed) - logits).max(axis=(0, 2))
    if moved[:last].max() > _TOLERANCE:
        position = int(moved[:last].argmax())
        raise ConfigError(
            f"{name} is not causal: changing the token at position {last} changes its logits "
            f"at position {position} by {moved[position]:.2g}, fed "
            f"{_shown(tokens)}: mask later tokens"
        )


def _trainable(module: Any, tokens: np.ndarray, name: str) -> None:
    import torch

    module.train()
    try:
        module(torch.tensor(tokens)).square().mean().backward()
    except Exception as error:
        raise ConfigError(f"{name} cannot be trained: {one_line(error)}") from error
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    if not gradients:
        raise ConfigError(f"{name} cannot be trained: its logits do not depend on its parameters")
    if not all(torch.isfinite(gradient).all() for gradient in gradients):
        raise ConfigError(
            f"{name}: gradients are not finite before any training, fed {_shown(tokens)}"
        )


def _shown(tokens: np.ndarray) -> str:
    first = ", ".join(map(str, tokens[0][:8]))
    return f"[{first}{', …' if tokens.shape[1] > 8 else ''}] first"
