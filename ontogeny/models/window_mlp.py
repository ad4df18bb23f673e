"""A multilayer perceptron on the last few tokens: no attention, no memory."""

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
    """Embeddings, the hidden layers and what reads them."""

    tokens: Float[Array, "vocab width"]
    layers: tuple[Linear, ...]


class WindowMLP(Model):
    """Embeddings of the last `window` tokens, side by side, through ReLU layers."""

    width: int = count(16, doc="width of an embedding")
    window: int = count(16, doc="how many of the last tokens are read")
    mlp_width: int = count(256, doc="units of every hidden layer")
    depth: int = count(3, least=2, most=1000, doc="number of layers, with the output layer")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=4, window=3, mlp_width=6))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        embeddings, weights = jr.split(key)
        (tokens,) = gaussians(embeddings, (task.vocab, self.width))
        between = [(self.mlp_width, self.mlp_width)] * (self.depth - 2)
        into, out = (self.window * self.width, self.mlp_width), (self.mlp_width, task.answers)
        return Params(tokens, tuple(linears(weights, into, *between, out)))

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        nothing = jnp.zeros((self.window - 1, self.width))
        tokens = jnp.concatenate([nothing, params.tokens[inputs]])  # nothing precedes the first
        # padded by window - 1, the window that ends with token t begins at index t
        x = tokens[at[:, None] + jnp.arange(self.window)].reshape(len(at), -1)
        for layer in params.layers[:-1]:
            x = jax.nn.relu(layer(x))
        return Trace(params.layers[-1](x), x[None])
