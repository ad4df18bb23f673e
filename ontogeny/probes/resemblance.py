"""Do the features of two inputs that share an answer become alike?"""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, count, split
from ..core.types import Moment, Probe


class _OfPairs(Probe):
    left: str = split(doc="the split with the first input of each pair")
    right: str = split(doc="the split with the second, row by row")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls("sources", "targets"))]


class Resemblance(_OfPairs):
    """The mean cosine of the features of paired inputs: row i of one split, row i of another.

    Features are the residual stream after a layer, where the input is read.
    """

    unit = "cosine"

    # eq. 10 of arXiv 2603.05143: value features in one layer, the last layer but one (-2) in GPT-2
    layer: int = count(
        -1, least=-1000, doc="after which layer: 0 the embeddings, -1 the last, -2 the one before"
    )

    def __call__(self, now: Moment) -> Float[Array, ""]:
        return jnp.mean(_at_layer(now, self.left, self.right, self.layer))


class PairResemblance(_OfPairs):
    """The cosine of the features of every pair of inputs."""

    unit = "cosine"

    layer: int = count(
        -1, least=-1000, doc="after which layer: 0 the embeddings, -1 the last, -2 the one before"
    )

    def __call__(self, now: Moment) -> Float[Array, " row"]:
        return _at_layer(now, self.left, self.right, self.layer)


class ResemblanceByLayer(_OfPairs):
    """The mean cosine of paired inputs after each layer, from the embeddings on."""

    unit = "cosine"

    def __call__(self, now: Moment) -> Float[Array, " layer"]:
        return jnp.mean(cosines(now, self.left, self.right), axis=0)


class Angles(_OfPairs):
    """The angle between paired inputs after each layer, pair by pair, in degrees."""

    unit = "degrees"

    def __call__(self, now: Moment) -> Float[Array, "layer row"]:
        # rounding may take a cosine out of [-1, 1], where there is no angle
        inside = jnp.clip(cosines(now, self.left, self.right), -1.0, 1.0)
        return jnp.degrees(jnp.arccos(inside)).T


def _at_layer(now: Moment, left: str, right: str, layer: int) -> Float[Array, " row"]:
    found = cosines(now, left, right)
    if not -found.shape[1] <= layer < found.shape[1]:  # which JAX would clamp without a word
        raise ConfigError(f"layer={layer}: this model has layers 0 to {found.shape[1] - 1}")
    return found[:, layer]


def cosines(now: Moment, left: str, right: str) -> Float[Array, "row layer"]:
    """Cosines of paired inputs at every layer; 0 where features vanish."""
    one, other = (now.trace(now.batch(name)).residual[:, :, 0] for name in (left, right))
    lengths = jnp.linalg.norm(one, axis=-1) * jnp.linalg.norm(other, axis=-1)
    return jnp.sum(one * other, axis=-1) / jnp.where(lengths > 0, lengths, 1.0)
