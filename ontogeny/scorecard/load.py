"""Loading a user's model: a dozen lines in PyTorch, equinox or flax.

    class Model(torch.nn.Module):                class Model(equinox.Module):
        def __init__(self, vocab, length): …         def __init__(self, vocab, length, key): …
        def forward(self, tokens): …                 def __call__(self, tokens): …
            # (row, position) → (row, position, vocab)   # (position,) → (position, vocab)

A flax module takes the same two numbers, and `rngs` if it is an nnx one; it too maps the tokens of
one sequence. A model of this package is used as it is. A function that returns a module will do.
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

from ..core.errors import one_line
from ..core.fields import ConfigError, did_you_mean
from ..core.types import Model

PREFIX = "loaded_"  # of the names under which files are imported


class Source(NamedTuple):
    """Where a model comes from."""

    location: str  # a file or module,
    name: str  # the name in it,
    digest: str  # and a digest of the file's text

    def __str__(self) -> str:
        return f"{self.location}:{self.name}"


def source_of(words: str) -> Source:
    """`FILE.py:Model`, or an importable `package.module:Model`."""
    location, colon, name = words.rpartition(":")
    if not colon:
        raise ConfigError(f"{words!r} names no model: FILE.py:Model, or package.module:Model")
    digest, resolved = _digest(location), location
    if location.endswith(".py"):  # the module may change the working directory
        resolved = str(Path(location).resolve())
    module = _module(resolved, digest)
    if not hasattr(module, name):
        public = [word for word in vars(module) if not word.startswith("_")]
        raise ConfigError(f"{location} has no {name!r}: {did_you_mean(name, public)}")
    return Source(resolved, name, digest)


def source_of_factory(factory: Any) -> Source:
    """The same for a class or function."""
    name, module = getattr(factory, "__qualname__", ""), inspect.getmodule(factory)
    file = getattr(module, "__file__", None)
    typed = module is not None and module.__name__ == "__main__" and not Path(file or "").is_file()
    if typed and "<" not in name:
        raise ConfigError(
            f"{name} was typed in a notebook or at a prompt, and what is examined is in a file: "
            f"write it into one (`%%writefile mine.py` above its cell), then examine mine.py:{name}"
        )
    if module is None or not name or "<" in name:
        raise ConfigError(
            "a model must be a class or function of a file, not of a prompt: workers import it"
        )
    if module.__name__ == "__main__" or not module.__spec__:
        return source_of(f"{file}:{name}")
    return source_of(f"{module.__name__}:{name}")


def module_name(source: Source) -> str:
    """The name under which a source's module is imported."""
    return _module(source.location, source.digest).__name__


def factory_of(source: Source) -> Any:
    """The class, function or model that a source names."""
    return getattr(_module(source.location, source.digest), source.name)


def _digest(location: str) -> str:
    """A digest of the text that is there now."""
    file: str | None = location
    if not location.endswith(".py"):
        try:
            found = importlib.util.find_spec(location)
        except ModuleNotFoundError:
            found = None
        file = found.origin if found else None
        if found is None:
            raise ConfigError(f"{location} cannot be imported: there is no such module")
    elif not Path(location).is_file():
        raise ConfigError(f"there is no file {location}")
    known = Path(file).read_bytes() if file and Path(file).is_file() else b""
    return hashlib.sha256(known).hexdigest()[:20]


@cache
def _module(location: str, digest: str) -> ModuleType:
    """Imported once, and again when its text has changed."""
    if digest != _digest(location):
        raise ConfigError(f"{location} has changed since it was first read: start again")
    try:
        if not location.endswith(".py"):
            return importlib.import_module(location)
        spec = importlib.util.spec_from_file_location(f"{PREFIX}{digest}", location)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        name = Path(location).name if location.endswith(".py") else location
        raise ConfigError(f"{name} cannot be imported: {one_line(error)}") from error


def build(factory: Any, vocab: int, length: int, key: Key[Array, ""]) -> Any:
    """A module for so many tokens and positions, initialized from the key."""
    if isinstance(factory, Model):
        return factory
    if inspect.isclass(factory) and issubclass(factory, Model):
        return factory()
    arguments: dict[str, Any] = {"vocab": vocab, "length": length}
    try:
        making = factory.__init__ if inspect.isclass(factory) else factory
        wanted = inspect.signature(making).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{factory!r} is neither a class nor a function") from error
    if "key" in wanted:
        arguments["key"] = key
    try:
        if "rngs" in wanted:
            from flax import nnx

            arguments["rngs"] = nnx.Rngs(key)
        return factory(**arguments)
    except Exception as error:
        given = ", ".join(f"{name}={arguments[name]}" for name in ("vocab", "length"))
        more = "".join(f", {name}=…" for name in arguments if name in ("key", "rngs"))
        name = getattr(factory, "__name__", "it")
        raise ConfigError(f"{name}({given}{more}) failed: {one_line(error)}") from error


def kind_of(module: Any) -> str:
    """`ontogeny`, `torch`, `equinox`, `flax` (linen) or `nnx` (flax too)."""
    torch, nnx = sys.modules.get("torch"), sys.modules.get("flax.nnx")
    if isinstance(module, Model):
        return "ontogeny"
    if torch and isinstance(module, torch.nn.Module):
        return "torch"
    if isinstance(module, eqx.Module):
        return "equinox"
    if nnx and isinstance(module, nnx.Module):
        return "nnx"
    if callable(getattr(module, "init", None)) and callable(getattr(module, "apply", None)):
        return "flax"
    raise ConfigError(
        f"{type(module).__name__} is not a model: neither a torch.nn.Module, an equinox or flax "
        "module, nor a model of this package"
    )


def count_parameters(tree: Any) -> int:
    """How many numbers the arrays of a tree hold."""
    return int(sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(tree)))
