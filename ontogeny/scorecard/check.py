"""What is looked at before a model is examined: each fault is told with what was fed in."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from ..core.errors import told
from ..core.fields import ConfigError
from ..engine.machine import known
from .battery import LENGTH, VOCAB
from .bring import Source, factory_of, kind_of, made, numbers_in
from .jaxed import apart

Said = Callable[[np.ndarray], np.ndarray]  # tokens (row, place) → logits (row, place, vocab)
Doing = Callable[[str], None]  # is told what is about to be done with a module

_CLOSE = 1e-3


def check(source: Source, doing: Doing = lambda _: None) -> tuple[str, int]:
    """The kind of model that is brought and its size; or an error that says what is wrong."""
    name = source.name
    doing(f"it was made with vocab={VOCAB}, length={LENGTH}")
    module = made(factory_of(source), VOCAB, LENGTH, jr.key(0))
    kind = kind_of(module)
    if kind == "laboratory":
        return kind, 0
    said, size = _torch(module) if kind == "torch" else _jax(module)
    if size == 0:
        raise ConfigError(f"{name} has no parameters to train")

    def fed(tokens: np.ndarray, why: str = "") -> np.ndarray:
        doing(f"it was run on tokens of shape {tokens.shape}{why}")
        return _fed(said, tokens, name)

    tokens = np.random.default_rng(0).integers(0, VOCAB, (3, 12))
    whole = fed(tokens)
    _shape(whole, tokens, name)
    _finite(whole, tokens, name)
    _same(whole, fed(tokens, " a second time"), tokens, name)
    others = np.concatenate([tokens[:1], (tokens[1:] + 1) % VOCAB])
    _rows(whole, fed(others, " with other rows beside"), tokens, name)
    _causal(partial(fed, why=" with another last token"), whole, tokens, name)
    for length in (1, LENGTH):
        other = np.random.default_rng(length).integers(0, VOCAB, (2, length))
        _shape(fed(other), other, name)
    if kind == "torch":
        doing(f"its gradients were taken on tokens of shape {tokens.shape}")
        _carries_back(module, tokens, name)
    return kind, size


def _torch(module: Any) -> tuple[Said, int]:
    import torch

    def said(tokens: np.ndarray) -> np.ndarray:
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

    return said, sum(p.numel() for p in module.parameters() if p.requires_grad)


def _jax(module: Any) -> tuple[Said, int]:
    params, one = apart(module, LENGTH, jr.key(0))
    options = known({"xla_backend_optimization_level": 0})
    together = jax.jit(jax.vmap(partial(one, params)), compiler_options=options)

    def said(tokens: np.ndarray) -> np.ndarray:
        return np.asarray(together(jnp.asarray(tokens)))

    return said, numbers_in(params)


def _fed(said: Said, tokens: np.ndarray, name: str) -> np.ndarray:
    try:
        return said(tokens)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    except Exception as error:
        raise ConfigError(
            f"{name} failed on tokens of shape {tokens.shape}, {_shown(tokens)}: {told(error)}"
        ) from error


def _shape(found: np.ndarray, tokens: np.ndarray, name: str) -> None:
    wanted = (*tokens.shape, VOCAB)
    if found.shape[:-1] == tokens.shape and found.ndim == 3 and found.shape[-1] >= VOCAB:
        return
    hint = ""
    if found.shape == (len(tokens), VOCAB):
        hint = ": logits are wanted at every place, not at the last alone"
    elif found.shape == (len(tokens), VOCAB, tokens.shape[1]):
        hint = ": the last two axes are the other way round"
    elif found.shape[:1] != tokens.shape[:1]:
        hint = ": the first axis must stay the rows"
    raise ConfigError(f"{name} made {found.shape} of tokens {tokens.shape}, not {wanted}{hint}")


def _finite(found: np.ndarray, tokens: np.ndarray, name: str) -> None:
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        row, place, token = bad[0]
        raise ConfigError(
            f"{name} gives {found[row, place, token]} for token {token} at row {row}, place "
            f"{place}, before any training, fed {_shown(tokens)}"
        )


def _same(first: np.ndarray, again: np.ndarray, tokens: np.ndarray, name: str) -> None:
    if (gap := float(np.abs(first - again).max())) > _CLOSE:
        raise ConfigError(
            f"{name} answers the same tokens differently the second time (by {gap:.2g}), fed "
            f"{_shown(tokens)}: it keeps a state from call to call, or changes its parameters"
        )


def _rows(whole: np.ndarray, beside: np.ndarray, tokens: np.ndarray, name: str) -> None:
    if (gap := float(np.abs(whole[0] - beside[0]).max())) > _CLOSE:
        raise ConfigError(
            f"{name} answers a row differently when others stand beside it (by {gap:.2g}), fed "
            f"{_shown(tokens)}: rows must not mix (a norm over the batch?)"
        )


def _causal(said: Said, whole: np.ndarray, tokens: np.ndarray, name: str) -> None:
    changed, last = tokens.copy(), tokens.shape[1] - 1
    changed[:, last] = (changed[:, last] + 1) % VOCAB
    moved = np.abs(said(changed) - whole).max(axis=(0, 2))
    if moved[:last].max() > _CLOSE:
        place = int(moved[:last].argmax())
        raise ConfigError(
            f"{name} is not causal: changing the token at place {last} changes what it says at "
            f"place {place} by {moved[place]:.2g}, fed {_shown(tokens)}. Mask what comes later"
        )


def _carries_back(module: Any, tokens: np.ndarray, name: str) -> None:
    import torch

    module.train()
    try:
        module(torch.tensor(tokens)).square().mean().backward()
    except Exception as error:
        raise ConfigError(f"{name} cannot be trained: {told(error)}") from error
    slopes = [p.grad for p in module.parameters() if p.grad is not None]
    if not slopes:
        raise ConfigError(f"{name} cannot be trained: its logits do not depend on its parameters")
    if not all(torch.isfinite(slope).all() for slope in slopes):
        raise ConfigError(
            f"{name}: slopes are not finite before any training, fed {_shown(tokens)}"
        )


def _shown(tokens: np.ndarray) -> str:
    first = ", ".join(map(str, tokens[0][:8]))
    return f"[{first}{', …' if tokens.shape[1] > 8 else ''}] first"
