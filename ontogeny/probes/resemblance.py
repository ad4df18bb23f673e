"""Do two inputs that share an answer come to look alike inside the model?"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, count, split
from ..core.types import Moment, Probe


class Resemblance(Probe):
    """The mean cosine of the features of paired inputs: row i of one split, row i of another.

    Features are what a layer leaves in the residual stream where the input is read: -1 the last
    (a one-layer model's value features), -2 the penultimate.
    """

    left: str = split()
    right: str = split()
    layer: int = count(-1, least=-1000)

    def __call__(self, now: Moment) -> Float[Array, ""]:
        return jnp.mean(_at_layer(now, self.left, self.right, self.layer))


class PairResemblance(Probe):
    """The cosine for every pair, one by one."""

    left: str = split()
    right: str = split()
    layer: int = count(-1, least=-1000)

    def __call__(self, now: Moment) -> Float[Array, " row"]:
        return _at_layer(now, self.left, self.right, self.layer)


class ResemblanceByLayer(Probe):
    """The mean cosine of paired inputs after each layer, from the embeddings on."""

    left: str = split()
    right: str = split()

    def __call__(self, now: Moment) -> Float[Array, " layer"]:
        return jnp.mean(cosines(now, self.left, self.right), axis=0)


class Angles(Probe):
    """The angle between paired inputs after each layer, pair by pair, in degrees."""

    left: str = split()
    right: str = split()

    def __call__(self, now: Moment) -> Float[Array, "layer row"]:
        inside = jnp.clip(cosines(now, self.left, self.right), -1.0, 1.0)
        return jnp.degrees(jnp.arccos(inside)).T


def _at_layer(now: Moment, left: str, right: str, layer: int) -> Float[Array, " row"]:
    found = cosines(now, left, right)
    if not -found.shape[1] <= layer < found.shape[1]:  # which JAX would clamp without a word
        raise ConfigError(f"layer={layer}: this model has layers 0 to {found.shape[1] - 1}")
    return found[:, layer]


def cosines(now: Moment, left: str, right: str) -> Float[Array, "row layer"]:
    """Cosines of paired inputs at every layer; features that vanish resemble nothing."""
    one, other = (now.trace(now.batch(name)).residual[:, :, 0] for name in (left, right))
    lengths = jnp.linalg.norm(one, axis=-1) * jnp.linalg.norm(other, axis=-1)
    return jnp.sum(one * other, axis=-1) / jnp.where(lengths > 0, lengths, 1.0)
