"""A multilayer perceptron on concatenated one-hots: it sees which token is where, no more."""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import Example, count, number
from ..core.types import Model, Task, Trace
from .initial import linears, uniforms
from .layers import Linear


class Params(NamedTuple):
    """What each token adds at each position, what each pair of equal positions adds, and layers."""

    tokens: Float[Array, "position vocab width"]
    pairs: Float[Array, "position position width"]
    bias: Float[Array, " width"]
    layers: tuple[Linear, ...]


class OneHotMLP(Model):
    """ReLU layers, as torch starts them; `incidence` scales XXᵀ, which is put beside the input."""

    width: int = count(256, doc="units of every hidden layer")
    depth: int = count(3, least=2, most=1000, doc="number of layers, with the output layer")
    incidence: float = number(0.0, doc="scale of XXᵀ, which says which positions are equal")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=8, incidence=1.0))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        into, between = jr.split(key)
        inputs = task.length * task.vocab
        (tokens,) = uniforms(into, (inputs, self.width))
        wide = [(self.width, self.width)] * (self.depth - 2)
        pairs, *layers = linears(
            between, (task.length**2, self.width), *wide, (self.width, task.answers)
        )
        return Params(
            tokens.reshape(task.length, task.vocab, self.width),
            pairs.weight.reshape(task.length, task.length, self.width),
            pairs.bias,
            tuple(layers),
        )

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        positions = jnp.arange(len(inputs))
        rows = params.tokens[positions, inputs]
        same = inputs[:, None] == inputs[None, :]
        pairs = params.pairs[: len(inputs), : len(inputs)]

        def read(last: Int[Array, ""]) -> Trace:
            seen = positions <= last
            # XXᵀ of one-hots is 1 where two positions hold the same token (Figure 24 of arXiv
            # 2310.09753): the same for symbols never seen
            alike = jnp.tensordot(same & seen[:, None] & seen, pairs, 2)
            x = jax.nn.relu(seen @ rows + self.incidence * alike + params.bias)
            for layer in params.layers[:-1]:
                x = jax.nn.relu(layer(x))
            return Trace(params.layers[-1](x), x[None])

        return Trace.at_each(at, read)
