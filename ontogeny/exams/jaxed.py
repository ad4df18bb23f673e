"""Modules of equinox and flax that somebody brought, as models of the laboratory."""

from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Int, Key

from ..core import Model, Params, Task, Trace
from ..fields import Invalid, count, static
from .bring import Source, factory_of, kind_of, made


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

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        module = made(factory_of(self.source), self.vocab, self.length, key)
        if kind_of(module) == "flax":
            return _flax_params(module.init(key, jnp.zeros(self.length, int)))
        return eqx.filter(module, eqx.is_inexact_array)

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        skeleton = _skeleton(self.source, self.vocab, self.length)
        if kind_of(skeleton) == "flax":
            outputs = skeleton.apply({"params": params}, inputs)
        else:
            outputs = eqx.combine(params, eqx.filter(skeleton, _rest))(inputs)
        return Trace(outputs[at], jnp.zeros((0, len(at), 0)))


def _flax_params(variables: Any) -> Any:
    if others := [name for name in variables if name != "params"]:
        raise Invalid(f"a flax module may have parameters alone, not {', '.join(others)}")
    return variables["params"]


def _rest(leaf: Any) -> bool:
    return not eqx.is_inexact_array(leaf)


@cache
def _skeleton(source: Source, vocab: int, length: int) -> Any:
    """The module as it is made, for all that is not trained."""
    with jax.ensure_compile_time_eval():
        return made(factory_of(source), vocab, length, jr.key(0))
