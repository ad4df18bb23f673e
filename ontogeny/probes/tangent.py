"""Where training goes next: the first instant of gradient flow."""

from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import Example, names, split
from ..core.types import Moment, Params, Probe, partition


class Transfer(Probe):
    """By how much the loss on a split falls as training makes the train loss fall by one.

    ⟨∇L_split, ∇L_train⟩ / |∇L_train|². If parameter groups have learning rates of their own,
    gradient flow has a weighted mean of the groups' transfers.
    """

    towards: str = split("test", doc="the split whose loss may fall too")
    train: str = split("train", doc="the split that is trained on")
    trainable: tuple[str, ...] = names(
        (), doc="names of the parameter groups that move; all if none are named"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls("conclusion"))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        moving, still = partition(now.params, self.trainable)

        def gradient(split: str) -> jax.Array:
            batch = now.batch(split)

            def loss(params: Params) -> jax.Array:
                return now.with_params(eqx.combine(params, still)).loss(batch)

            leaves = jax.tree.leaves(jax.grad(loss)(moving))
            return jnp.concatenate([jnp.ravel(leaf) for leaf in leaves])

        train, other = gradient(self.train), gradient(self.towards)
        # the ratio of the two losses' derivatives at time 0, which Theorems 5.1 and 5.2 of arXiv
        # 2310.09753 are about; 0 where nothing is left to learn
        return (train @ other) / jnp.maximum(train @ train, 1e-30)
