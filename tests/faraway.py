"""A component that is not of the package: a cluster is sent its file."""

import jax.numpy as jnp

from ontogeny import Probe


class Elsewhere(Probe):
    """The same answer everywhere."""

    def __call__(self, now):
        return jnp.ones(())
