"""How alignment grows with depth in linear networks trained layer by layer (arXiv 2603.05143)."""

from jaxtyping import Array, Float


def alignment(
    distance: Float[Array, ""] | float, squared_length: Float[Array, " layer"]
) -> Float[Array, " layer"]:
    """The cosine of two inputs with the same label after each layer: 1 - δ²/|h|².

    Training a layer adds the same vector to the features of both inputs, since their gradients and
    their products with the other inputs agree; the layer's initial Gaussian part keeps lengths and
    angles. So their half squared distance δ² stays that of the first layer, where it is the squared
    deviation of the initial features, while their squared length |h|² grows.
    """
    # a wide limit: at finite width the Gaussian part stretches distances, more so the longer |h| is
    aligned: Array = 1 - distance / squared_length
    return aligned
