"""Closed forms for feature resemblance in one-layer transformers (arXiv 2603.05143)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class Gradients(NamedTuple):
    """Derivatives of the loss on one sequence."""

    key_query: Float[Array, "d d"]
    value: Float[Array, "d d"]
    output: Float[Array, "k m d"]


def gradients(
    Z: Float[Array, "d d"],
    V: Float[Array, "width d"],
    W: Float[Array, "k m width"],
    X: Float[Array, "t d"],
    y: Int[Array, ""],
    gain: Float[Array, ""] | float,
) -> Gradients:
    """Lemma 1: the gradients of -log softmax(F)[y], F_k = (λ/m) Σᵣ wₖᵣ·V Xᵀ a, in closed form.

    a = softmax(X Z x_T) is the attention of the last token x_T, and F the outputs.
    """
    k, m, width = W.shape
    a = jax.nn.softmax(X @ Z @ X[-1])
    mixed = X.T @ a
    F = gain / m * jnp.einsum("kmw,w->k", W, V @ mixed)
    error = jax.nn.softmax(F) - jax.nn.one_hot(y, k)
    pull = gain / m * jnp.einsum("k,kmw->w", error, W)
    # diag(a) - a aᵀ is the derivative of softmax: attention moves by what differs from the mean
    spread = X.T @ (jnp.diag(a) - jnp.outer(a, a)) @ X
    return Gradients(
        key_query=jnp.outer(spread @ V.T @ pull, X[-1]),
        value=jnp.outer(pull, mixed),
        output=jnp.broadcast_to(gain / m * error[:, None, None] * (V @ mixed), (k, m, width)),
    )


def resemblance(ratio: float, noise: float = 0.0) -> float:
    """The cosine of the value features of s and t after joint training, before saturation.

    While the softmax is flat, descent adds to V s (κ u_b + u_c)/(2κ+1) and to V t κ u_b/(2κ+1),
    times a common factor, with u_b and u_c nearly orthogonal. `noise` is the squared length of
    the initial features in units of that factor; without noise the cosine is κ/√(κ²+1).
    """
    # both features times 2κ+1: κ u_b + u_c and κ u_b, and noise grows by the square
    blur = noise * (2 * ratio + 1) ** 2
    return float(ratio**2 / ((ratio**2 + 1 + blur) * (ratio**2 + blur)) ** 0.5)


def resemblance_similarity_first(noise: float = 0.0) -> float:
    """The same after training on the similarity premises alone: both features are u_b/2."""
    return 1 / (1 + 4 * noise)


def noise_from_similarity_first(cosine: float) -> float:
    """The noise that a cosine measured on similarity premises alone implies."""
    return (1 / cosine - 1) / 4
