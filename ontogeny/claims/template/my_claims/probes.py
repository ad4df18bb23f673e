"""What is measured while a model trains, besides its accuracy and its loss."""

import jax.numpy as jnp
from jax import Array
from ontogeny import Moment, Probe
from ontogeny.core.fields import split


# CHANGE: a probe of your own. It sees all there is at one instant of training: the task, its world,
# the model, its parameters (`now.params`); and it answers with an array of a fixed shape.
class Lead(Probe):
    """By how much the right answer's output leads its rival's, on average over a split."""

    split: str = split("test", doc="the split that is answered")

    def __call__(self, now: Moment) -> Array:
        batch = now.batch(self.split)
        outputs = now.trace(batch).outputs  # row × position read × answer
        right = jnp.take_along_axis(outputs, batch.targets[..., None], axis=-1)[..., 0]
        # of two answers, what is not the right one is the rival
        return batch.mean(2 * right - outputs.sum(axis=-1))
