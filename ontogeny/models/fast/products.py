"""Matrix products and attention with hand-written gradients.

Derived by JAX, some products of a gradient come transposed, and XLA's CPU backend is slow with
those: small ones take several times as long, large ones a third longer. Only for many rows at once:
of a weight that rows share under `vmap`, every row would have a gradient of its own.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..layers import masked_softmax


@jax.custom_vjp
def product(
    x: Float[Array, "*batch row into"], y: Float[Array, "*batch into out"]
) -> Float[Array, "*batch row out"]:
    """x y."""
    return x @ y


def _product(x: Array, y: Array) -> tuple[Array, Any]:
    return x @ y, (x, y)


def _product_gradient(saved: Any, cotangent: Array) -> tuple[Array, Array]:
    x, y = saved
    if x.shape[-1] <= cotangent.shape[-1]:  # the smaller factor is the one to transpose
        of_y = _transposed(x) @ cotangent
    else:
        # (gᵀ x)ᵀ = xᵀ g; the barrier keeps XLA from folding the transpose back into the product
        of_y = jnp.matrix_transpose(_barrier(_transposed(cotangent) @ x))
    return cotangent @ jnp.matrix_transpose(y), of_y


product.defvjp(_product, _product_gradient)


# from five answers to ten clauses: 1.0 ms with its gradient, 2.4 as JAX derives it (LOGBOOK)
@jax.custom_vjp
def attention(
    queries: Float[Array, "*batch query head_dim"],
    keys: Float[Array, "*batch key head_dim"],
    values: Float[Array, "*batch key value_dim"],
    mask: Bool[Array, "query key"],
) -> tuple[Float[Array, "*batch query value_dim"], Float[Array, "*batch query key"]]:
    """What one head finds for each query, and its weights."""
    found: tuple[Array, Array] = _attention(queries, keys, values, mask)[0]
    return found


def _attention(queries: Array, keys: Array, values: Array, mask: Array) -> tuple[Any, Any]:
    scores = jnp.einsum("...qd,...kd->...qk", queries, keys) / keys.shape[-1] ** 0.5
    weights = masked_softmax(scores, mask)
    return (weights @ values, weights), (queries, keys, values, weights)


def _attention_gradient(
    saved: Any, cotangents: tuple[Array, Array]
) -> tuple[Array, Array, Array, None]:
    queries, keys, values, weights = saved
    of_found, of_weights = cotangents
    # the weights are an output as well, so they may have a cotangent of their own
    of_weights = of_weights + jnp.einsum("...qv,...kv->...qk", of_found, values)
    # softmax: ds = w (dw - Σ w dw); masked weights are 0, and so are their gradients
    of_scores = weights * (of_weights - jnp.sum(of_weights * weights, axis=-1, keepdims=True))
    of_scores = of_scores / keys.shape[-1] ** 0.5
    return (
        of_scores @ keys,
        _transposed(of_scores) @ queries,
        _transposed(weights) @ of_found,
        None,
    )


attention.defvjp(_attention, _attention_gradient)


def _transposed(x: Float[Array, "*batch row column"]) -> Float[Array, "*batch column row"]:
    """Transposed in memory, before the product: XLA would merge the two into a slow product."""
    return _barrier(jnp.matrix_transpose(x))


def _barrier(x: Array) -> Array:
    found: Array = jax.lax.optimization_barrier(x)
    return found
