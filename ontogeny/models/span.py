"""One-layer transformers of any width, in the span of their own rows."""

from collections.abc import Iterable

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Key

from ..core.fields import Example, number
from ..core.types import Task
from .one_layer import OneLayer, Params


class SpanOneLayer(OneLayer):
    """OneLayer of any width d ≥ 2 · vocab, exactly, in 2 · vocab coordinates.

    What it computes, and what gradient descent makes of it, depends on inner products of the rows
    of V and of the output weights alone. Gaussian rows in a basis that they span are triangular,
    with χ of d, d - 1, … degrees of freedom on the diagonal (Bartlett): drawn so, the start has the
    distribution of all d coordinates. The width is a number and can be swept. (A rule that treats
    coordinates apart, such as Adam's, is another rule here.)
    """

    width: float = number(1e6, above=0, doc="width d of embeddings")  # type: ignore[assignment]

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=400.0, scale=0.5))]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        # arXiv 2603.05143, Lemma 2: V and outputs stay in the span of their initial rows
        vocab, rows = task.vocab, 2 * task.vocab
        attention, below, diagonal = jr.split(key, 3)
        spanned = bartlett(below, diagonal, rows, self.width)
        key_query = jr.normal(attention, (vocab, vocab))
        weights = key_query, spanned[:vocab], spanned[vocab:]
        return Params(*(self.scale * each for each in weights))


def bartlett(
    below: Key[Array, ""], diagonal: Key[Array, ""], rows: int, width: Float[Array, ""] | float
) -> Float[Array, "row row"]:
    """Gaussian rows of so many coordinates in a basis of their own; no numbers if there are fewer
    coordinates than rows."""
    degrees = width - jnp.arange(rows)
    # χ² of k degrees is twice a gamma variable of k/2, for which k may be any number: d is a leaf
    lengths = jnp.sqrt(2 * jr.gamma(diagonal, degrees / 2))
    lengths = jnp.where(degrees > 0, lengths, jnp.nan)
    return jnp.tril(jr.normal(below, (rows, rows)), -1) + jnp.diag(lengths)
