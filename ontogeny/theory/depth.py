"""How alignment grows with depth in linear networks trained layer by layer (arXiv 2603.05143)."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def alignment(
    distance: Float[Array, ""] | float,
    squared_length: Float[Array, " layer"],
    crowding: Float[Array, ""] | float = 0.0,
) -> Float[Array, " layer"]:
    """The cosine of two inputs with the same label after each layer: 1 - δ²/|h|².

    Training a layer adds the same vector to the features of both inputs, since their gradients and
    their products with the other inputs agree; the layer's initial Gaussian part keeps lengths and
    angles. So in a wide network their half squared distance δ² stays that of the first layer, where
    it is the squared deviation of the initial features, while their squared length |h|² grows.

    At width d the vector c of each of C labels is added along its mean feature m_c, of length |h|:
    a distance Δ, which has a random product of variance |h|² Δ²/d with m_c, grows by the C vectors
    times these products. With |h'|² - |h|² the squared length of what is added to each input,

        δ'² = δ² (1 + C/d (|h'|²/|h|² - 1))         C/d is the `crowding`
    """
    growth = 1 + crowding * (squared_length[1:] / squared_length[:-1] - 1)
    distances = distance * jnp.concatenate([jnp.ones(1), jnp.cumprod(growth)])
    return jnp.asarray(1 - distances / squared_length)
