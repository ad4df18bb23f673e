"""Modules of equinox and flax that somebody brought, as models of the laboratory."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, count, static
from ..core.types import Model, Params, Task, Trace
from .bring import Source, factory_of, kind_of, made, module_of

Said: TypeAlias = Callable[[Params, Int[Array, " place"]], Float[Array, "place vocab"]]


class Brought(Model):
    """A module that maps the tokens of one sequence to what it expects at every place."""

    place: str = static()  # where it comes from: a file or a module,
    name: str = static()  # its name there,
    text: str = static()  # and a digest of what was written there
    vocab: int = count()
    length: int = count()

    @property
    def source(self) -> Source:
        """Where it comes from."""
        return Source(self.place, self.name, self.text)

    @property
    def uses(self) -> tuple[str, ...]:
        return (module_of(self.source),)

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        module = made(factory_of(self.source), self.vocab, self.length, key)
        return apart(module, self.length, key)[0]

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        said = _said(self.source, self.vocab, self.length)
        return Trace(said(params, inputs)[at], jnp.zeros((0, len(at), 0)))


def apart(module: Any, length: int, key: Key[Array, ""]) -> tuple[Params, Said]:
    """What a module trains, and what it says with that."""
    match kind_of(module):
        case "flax":
            variables = module.init(key, jnp.zeros(length, int))
            if others := [name for name in variables if name != "params"]:
                raise ConfigError(
                    f"a flax module may have parameters alone, not {', '.join(others)}"
                )
            return variables["params"], lambda p, tokens: module.apply({"params": p}, tokens)
        case "nnx":
            from flax import nnx

            parts: Any = nnx.split(module, nnx.Param, ...)
            graph, params, rest = parts
            return params, lambda p, tokens: nnx.merge(graph, p, rest)(tokens)
        case _:
            params, rest = eqx.partition(module, eqx.is_inexact_array)
            return params, lambda p, tokens: eqx.combine(p, rest)(tokens)


@cache
def _said(source: Source, vocab: int, length: int) -> Said:
    with jax.ensure_compile_time_eval():
        module = made(factory_of(source), vocab, length, jr.key(0))
        return apart(module, length, jr.key(0))[1]
