"""Where training goes next: the first moment of gradient flow."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import names, split
from ..core.types import Moment, Probe, partition


class Transfer(Probe):
    """By how much the loss on a split falls as training makes the train loss fall by one.

    ⟨∇L_split, ∇L_train⟩ / |∇L_train|², over the named parameters; all if none is named. Gradient
    flow of any learning rates per part gives a mean of the parts' transfers.
    """

    towards: str = split("test")
    train: str = split("train")
    trainable: tuple[str, ...] = names(())

    def __call__(self, now: Moment) -> Float[Array, ""]:
        moving, still = partition(now.params, self.trainable)

        def slope(of: str) -> jax.Array:
            batch = now.batch(of)
            loss = lambda part: now.with_params(eqx.combine(part, still)).loss(batch)  # noqa: E731
            leaves = jax.tree.leaves(jax.grad(loss)(moving))
            return jnp.concatenate([jnp.ravel(leaf) for leaf in leaves])

        train, other = slope(self.train), slope(self.towards)
        return (train @ other) / jnp.maximum(train @ train, 1e-30)
