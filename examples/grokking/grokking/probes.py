"""Progress measures: what changes in the weights while accuracy does not."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from ontogeny import Moment, Probe


class FourierConcentration(Probe):
    """How much of each unit's input weights, as functions of the token, is a single frequency.

    The power of each unit's strongest frequency over its power at all of them (the mean left out),
    units weighted by their power: 1 if every unit is a cosine. Nanda et al. find networks that
    grokked to be made of a few such frequencies.
    """

    unit: ClassVar[str] = "fraction"

    def __call__(self, now: Moment) -> Array:
        # position × frequency × unit
        power = jnp.abs(jnp.fft.rfft(now.params.tokens, axis=1)[:, 1:]) ** 2
        return jnp.sum(jnp.max(power, axis=1)) / jnp.sum(power)


class SquaredWeights(Probe):
    """The sum of all squared parameters."""

    def __call__(self, now: Moment) -> Array:
        squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(now.params)]
        return jnp.sum(jnp.stack(squares))
