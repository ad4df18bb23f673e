"""Products of matrices, with gradients written out.

Derived from the code, some products of a gradient come transposed, and such are slow here: small
ones several times, large ones by a third. Only for many rows at once: of a weight that rows share
under `vmap`, every row would have a gradient of its own.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


@jax.custom_vjp
def product(
    x: Float[Array, "*batch row into"], y: Float[Array, "*batch into out"]
) -> Float[Array, "*batch row out"]:
    """x y."""
    return x @ y


def _product(x: Array, y: Array) -> tuple[Array, Any]:
    return x @ y, (x, y)


def _blamed_of_product(known: Any, blame: Array) -> tuple[Array, Array]:
    x, y = known
    if x.shape[-1] <= blame.shape[-1]:  # the smaller one is turned
        blamed = _turned(x) @ blame
    else:
        blamed = jnp.matrix_transpose(_as_it_is(_turned(blame) @ x))
    return blame @ jnp.matrix_transpose(y), blamed


product.defvjp(_product, _blamed_of_product)


@jax.custom_vjp
def attended(
    queries: Float[Array, "*batch query part"],
    keys: Float[Array, "*batch key part"],
    values: Float[Array, "*batch key wide"],
    seen: Bool[Array, "query key"],
) -> tuple[Float[Array, "*batch query wide"], Float[Array, "*batch query key"]]:
    """What each query finds, and how much it attends to each key that it may see."""
    found: tuple[Array, Array] = _attended(queries, keys, values, seen)[0]
    return found


def _attended(queries: Array, keys: Array, values: Array, seen: Array) -> tuple[Any, Any]:
    scores = jnp.einsum("...qp,...kp->...qk", queries, keys) / keys.shape[-1] ** 0.5
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
    return (weights @ values, weights), (queries, keys, values, weights)


def _blamed_of_attended(known: Any, blame: tuple[Array, Array]) -> tuple[Array, Array, Array, None]:
    queries, keys, values, weights = known
    found, paid = blame
    paid = paid + jnp.einsum("...qw,...kw->...qk", found, values)
    scores = weights * (paid - jnp.sum(paid * weights, axis=-1, keepdims=True))
    scores = scores / keys.shape[-1] ** 0.5
    return scores @ keys, _turned(scores) @ queries, _turned(weights) @ found, None


attended.defvjp(_attended, _blamed_of_attended)


def _turned(x: Float[Array, "*batch row column"]) -> Float[Array, "*batch column row"]:
    """Rows for columns, before anything else is done."""
    return _as_it_is(jnp.matrix_transpose(x))


def _as_it_is(x: Array) -> Array:
    found: Array = jax.lax.optimization_barrier(x)
    return found
