"""One hidden layer with squares for an activation: the smallest network known to grok addition."""

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
from jax import Array
from ontogeny import Model, Task, Trace
from ontogeny.core.fields import count


class Params(NamedTuple):
    """What each token adds to each unit at each position, and what reads the units."""

    tokens: Array  # position × token × unit
    output: Array  # unit × answer


class SquareMLP(Model):
    """f(a, b) = (U[a] + V[b])² W, as in Gromov (arXiv 2301.02679)."""

    width: int = count(128, doc="hidden units")

    def init(self, task: Task, key: Array) -> Params:
        into, out = jr.split(key)
        tokens = jr.normal(into, (task.length, task.vocab, self.width)) / task.vocab**0.5
        return Params(tokens, jr.normal(out, (self.width, task.answers)) / self.width**0.5)

    def __call__(self, params: Params, inputs: Array, at: Array) -> Trace:
        added = params.tokens[jnp.arange(len(inputs)), inputs]
        units = jnp.cumsum(added, axis=0)[at] ** 2  # what was read up to each position
        return Trace(units @ params.output, units[None])
