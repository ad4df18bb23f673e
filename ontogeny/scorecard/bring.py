"""Bringing a model of one's own: a dozen lines in PyTorch, equinox or flax.

    class Model(torch.nn.Module):                class Model(equinox.Module):
        def __init__(self, vocab, length): …         def __init__(self, vocab, length, key): …
        def forward(self, tokens): …                 def __call__(self, tokens): …
            # (row, place) → (row, place, vocab)         # (place,) → (place, vocab)

A module of flax is made with the same two numbers, and `rngs` if it is of nnx; it too maps tokens
(place,). A model of the laboratory is taken as it is. Whoever is brought may also be a function
that makes one.
"""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key

from ..core.errors import told
from ..core.fields import ConfigError, did_you_mean
from ..core.types import Model


class Source(NamedTuple):
    """Where a model comes from: a file or module, a name in it, and what its text was."""

    place: str
    name: str
    text: str  # digest

    def __str__(self) -> str:
        return f"{self.place}:{self.name}"


def source_of(words: str) -> Source:
    """`FILE.py:Model`, or an importable `package.module:Model`."""
    place, colon, name = words.rpartition(":")
    if not colon:
        raise ConfigError(f"{words!r} names no model: FILE.py:Model, or package.module:Model")
    text, home = _text(place), place
    if place.endswith(".py"):  # what is imported may go elsewhere
        home = str(Path(place).resolve())
    module = _module(home, text)
    if not hasattr(module, name):
        public = [word for word in vars(module) if not word.startswith("_")]
        raise ConfigError(f"{place} has no {name!r}: {did_you_mean(name, public)}")
    return Source(home, name, text)


def source_of_factory(factory: Any) -> Source:
    """The same for a class or function that is at hand."""
    name, module = getattr(factory, "__qualname__", ""), inspect.getmodule(factory)
    file = getattr(module, "__file__", None)
    if module is None or not name or "<" in name:
        raise ConfigError(
            "a model that others are to make must be a class or function of a file, not of a prompt"
        )
    if module.__name__ == "__main__" or not module.__spec__:
        return source_of(f"{file}:{name}")
    return source_of(f"{module.__name__}:{name}")


def module_of(source: Source) -> str:
    """The name under which the module of a source is loaded."""
    return _module(source.place, source.text).__name__


def factory_of(source: Source) -> Any:
    """The class, function or model that a source names."""
    return getattr(_module(source.place, source.text), source.name)


def _text(place: str) -> str:
    """A digest of what is written there now."""
    file: str | None = place
    if not place.endswith(".py"):
        try:
            found = importlib.util.find_spec(place)
        except ModuleNotFoundError:
            found = None
        file = found.origin if found else None
        if found is None:
            raise ConfigError(f"{place} cannot be imported: there is no such module")
    elif not Path(place).is_file():
        raise ConfigError(f"there is no file {place}")
    known = Path(file).read_bytes() if file and Path(file).is_file() else b""
    return hashlib.sha256(known).hexdigest()[:20]


@cache
def _module(place: str, text: str) -> ModuleType:
    """Imported once, and again when its text has changed."""
    if text != _text(place):
        raise ConfigError(f"{place} has changed since it was first read: ask again")
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        spec = importlib.util.spec_from_file_location(f"brought_{text}", place)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        name = Path(place).name if place.endswith(".py") else place
        raise ConfigError(f"{name} cannot be imported: {told(error)}") from error


def made(factory: Any, vocab: int, length: int, key: Key[Array, ""]) -> Any:
    """A module for so many tokens and places; its own chances follow from the key."""
    if isinstance(factory, Model):
        return factory
    if inspect.isclass(factory) and issubclass(factory, Model):
        return factory()
    words: dict[str, Any] = {"vocab": vocab, "length": length}
    try:
        making = factory.__init__ if inspect.isclass(factory) else factory
        wanted = inspect.signature(making).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{factory!r} is neither a class nor a function") from error
    if "key" in wanted:
        words["key"] = key
    try:
        if "rngs" in wanted:
            from flax import nnx

            words["rngs"] = nnx.Rngs(key)
        return factory(**words)
    except Exception as error:
        given = ", ".join(f"{name}={words[name]}" for name in ("vocab", "length"))
        more = "".join(f", {name}=…" for name in words if name in ("key", "rngs"))
        name = getattr(factory, "__name__", "it")
        raise ConfigError(f"{name}({given}{more}) could not be made: {told(error)}") from error


def kind_of(module: Any) -> str:
    """`laboratory`, `torch`, `equinox`, `flax` (linen) or `nnx` (flax too)."""
    torch, nnx = sys.modules.get("torch"), sys.modules.get("flax.nnx")
    if isinstance(module, Model):
        return "laboratory"
    if torch and isinstance(module, torch.nn.Module):
        return "torch"
    if isinstance(module, eqx.Module):
        return "equinox"
    if nnx and isinstance(module, nnx.Module):
        return "nnx"
    if callable(getattr(module, "init", None)) and callable(getattr(module, "apply", None)):
        return "flax"
    raise ConfigError(
        f"a {type(module).__name__} is no model: neither a torch.nn.Module, an equinox or flax "
        "module, nor a model of the laboratory"
    )


def numbers_in(tree: Any) -> int:
    """How many numbers the arrays of a tree hold."""
    return int(sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(tree)))
