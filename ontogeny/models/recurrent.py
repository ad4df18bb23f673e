"""Recurrent networks: a string is read token by token into one state."""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import Example, count
from ..core.types import Model, Task, Trace
from .initial import gaussians, linears
from .layers import Linear


class Params(NamedTuple):
    """Embeddings, what makes the next state, and what reads it."""

    tokens: Float[Array, "vocab width"]
    step: Linear
    head: Linear


class Elman(Model):
    """h ← max(0, W [x, h] + c): read linearly where it is asked."""

    width: int = count(128, doc="width of embeddings and of the state")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        return _init(self.width, 1, task, key)

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        def step(state: Float[Array, " width"], token: Int[Array, ""]) -> tuple[Array, Array]:
            both = jnp.concatenate([params.tokens[token], state])
            state = jax.nn.relu(params.step(both))
            return state, state

        _, states = jax.lax.scan(step, jnp.zeros(self.width), inputs)
        return Trace(params.head(states[at]), states[at][None])


class LSTM(Model):
    """Long short-term memory, read linearly where it is asked."""

    width: int = count(128, doc="width of embeddings and of the state")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        return _init(self.width, 4, task, key)

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        def step(
            state: tuple[Float[Array, " width"], Float[Array, " width"]], token: Int[Array, ""]
        ) -> tuple[tuple[Array, Array], Array]:
            hidden, cell = state
            both = jnp.concatenate([params.tokens[token], hidden])
            forget, write, show, new = jnp.split(params.step(both), 4)
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(write) * jnp.tanh(new)
            hidden = jax.nn.sigmoid(show) * jnp.tanh(cell)
            return (hidden, cell), hidden

        # zeros, where the authors' program (arXiv 2310.09753) draws a random state for every string
        nothing = jnp.zeros(self.width), jnp.zeros(self.width)
        _, states = jax.lax.scan(step, nothing, inputs)
        return Trace(params.head(states[at]), states[at][None])


def _init(width: int, gates: int, task: Task, key: Key[Array, ""]) -> Params:
    embeddings, weights = jr.split(key)
    (tokens,) = gaussians(embeddings, (task.vocab, width))
    step, head = linears(weights, (2 * width, gates * width), (width, task.answers))
    return Params(tokens, step, head)
