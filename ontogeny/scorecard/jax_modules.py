"""A user's equinox or flax module, as a model of this package."""

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
from .load import Source, build, factory_of, kind_of, module_name

Forward: TypeAlias = Callable[[Params, Int[Array, " position"]], Float[Array, "position vocab"]]


class JaxModule(Model):
    """A module that maps the tokens of one sequence to logits at every position."""

    location: str = static()  # a file or a module,
    name: str = static()  # the name in it,
    digest: str = static()  # and a digest of the file's text
    vocab: int = count()
    length: int = count()

    @property
    def source(self) -> Source:
        """Where it comes from."""
        return Source(self.location, self.name, self.digest)

    @property
    def uses(self) -> tuple[str, ...]:
        return (module_name(self.source),)

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        module = build(factory_of(self.source), self.vocab, self.length, key)
        return split_parameters(module, self.length, key)[0]

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        forward = _forward(self.source, self.vocab, self.length)
        return Trace(forward(params, inputs)[at], jnp.zeros((0, len(at), 0)))


def split_parameters(module: Any, length: int, key: Key[Array, ""]) -> tuple[Params, Forward]:
    """A module's trainable parameters, and its forward pass as a function of them."""
    match kind_of(module):
        case "flax":
            variables = module.init(key, jnp.zeros(length, int))
            if others := [name for name in variables if name != "params"]:
                raise ConfigError(
                    f"a flax module may have only parameters, not {', '.join(others)}"
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
def _forward(source: Source, vocab: int, length: int) -> Forward:
    with jax.ensure_compile_time_eval():
        module = build(factory_of(source), vocab, length, jr.key(0))
        return split_parameters(module, length, jr.key(0))[1]
