"""Kernel regression as a model: f(x) = Σ_i c_i K(x, x_i) over training strings x_i.

K is what an infinitely wide transformer layer of random weights has (arXiv 2310.09753, section
4.1). It depends on two strings by which of their positions hold the same token, and of such
patterns templates have few: the machine keeps a table of them.
"""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, UInt32

from ..core.fields import ConfigError, Example, choice, number
from ..core.types import Model, Task, Trace
from ..tasks.templates import Templates
from ..theory.template_kernel import number_of_pairs

_MOST_PATTERNS = 50_000


class Params(NamedTuple):
    """Training strings with their coefficients; known patterns by their mark, and K_attn of each;
    and what theory says of the templates: N, its least eigenvalue and how far templates are apart,
    with standard errors, and predictions for unseen symbols if no two samples shared any."""

    strings: Int[Array, "sample position"]
    coefficients: Float[Array, " sample"]
    marks: UInt32[Array, " pattern"]
    values: Float[Array, " pattern"]
    N: Float[Array, "template template"]
    least_eigenvalue: Float[Array, "2"]
    permutation_gap: Float[Array, "2"]
    ideal: Float[Array, " template"]


class KernelMachine(Model):
    """K_trans with activation cos(b₁ t + b₂) over K_attn(β, γ); K_attn alone; or exp⟨x, y⟩, which
    stands for the kernel of an MLP."""

    kernel: str = choice("transformer", "attention", "inner product", doc="which kernel K is")
    beta: float = number(4.0, least=0, doc="β: inverse temperature of attention")
    gamma: float = number(1.0, least=0, doc="γ: strength of positions")
    frequency: float = number(1.0, doc="b₁ of the MLP's activation cos(b₁ t + b₂)")
    phase: float = number(0.5, doc="b₂ of the MLP's activation cos(b₁ t + b₂)")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(), Templates.of("αβα: +1", "αββ: -1", most=8, samples=6))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        """Nothing learnt: a solver (`KernelRidge`) fills it."""
        if not isinstance(task, Templates) or task.symbolic:
            raise ConfigError("KernelMachine needs a Templates task whose labels are numbers")
        patterns = number_of_pairs(task.parsed)
        if patterns > _MOST_PATTERNS:
            raise ConfigError(f"KernelMachine: {patterns} patterns are more than {_MOST_PATTERNS}")
        templates = len(task.parsed)
        return Params(
            strings=jnp.zeros((task.most, task.length + 1), jnp.int32),
            coefficients=jnp.zeros(task.most),
            marks=jnp.zeros(patterns, jnp.uint32),
            values=jnp.zeros(patterns),
            N=jnp.zeros((templates, templates)),
            least_eigenvalue=jnp.zeros(2),
            permutation_gap=jnp.zeros(2),
            ideal=jnp.zeros(templates),
        )

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        string = jnp.concatenate([inputs, jnp.full(1, -1)])
        row = self.between(params, string[None], params.strings)[0]
        outputs = jnp.full((len(at), 1), row @ params.coefficients)
        return Trace(outputs, outputs[None])

    def between(
        self, params: Params, one: Int[Array, "x position"], other: Int[Array, "y position"]
    ) -> Float[Array, "x y"]:
        """K of all strings of one with all of the other."""
        if self.kernel == "inner product":
            # ⟨x, y⟩ counts equal positions, of which unseen symbols have none: whatever function of
            # it is taken, N is singular (section 4.3), so that one stands for all
            shared = jnp.sum(one[:, None] == other[None], axis=-1)
            return jnp.exp(shared / one.shape[1] - 1.0)

        def attention(x: Int[Array, " position"], y: Int[Array, " position"]) -> Float[Array, ""]:
            # all patterns are in the table: one that was not would get a neighbour's value
            found = jnp.searchsorted(params.marks, mark(jnp.concatenate([x, y])))
            return params.values[jnp.minimum(found, len(params.values) - 1)]

        rows = jax.vmap(jax.vmap(attention, (None, 0)), (0, None))(one, other)
        if self.kernel == "attention":
            return rows
        own_x, own_y = jax.vmap(attention)(one, one), jax.vmap(attention)(other, other)
        # Claim E.2, E[cos(b₁u + b₂) cos(b₁v + b₂)] for Gaussian u, v: a product of cosines is half
        # the cosine of the difference plus half that of the sum, and each has a closed mean
        b = self.frequency**2
        damped = jnp.exp(-b * (own_x[:, None] + own_y[None]) / 2)
        return 0.5 * damped * (jnp.exp(b * rows) + jnp.cos(2 * self.phase) * jnp.exp(-b * rows))


def mark(pair: Int[Array, " both"]) -> UInt32[Array, ""]:
    """A number for the pattern of equalities in a pair of strings."""
    first = jnp.argmax(pair[:, None] == pair[None, :], axis=1)  # where each token appears first
    return jnp.sum(first.astype(jnp.uint32) * _powers(len(pair)), dtype=jnp.uint32)


def _powers(length: int) -> UInt32[np.ndarray, " position"]:
    """Factors that keep patterns apart: powers of an odd number, modulo 2³²."""
    # Knuth's multiplier; that no two patterns collide is checked where the table is made
    return np.array([pow(2_654_435_761, power, 2**32) for power in range(length)], np.uint32)
