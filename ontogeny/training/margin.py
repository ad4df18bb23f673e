"""Gradient descent that does not slow down after the data are fitted."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.types import Batch, Memory, Moment, Params
from ..theory.margin import gaps
from .descent import _Descent


class MarginDescent(_Descent):
    """Gradient descent on the logarithm of the exponential loss: on the smoothed margin.

    Once all rows are right, cross-entropy falls like exp(-margin) and plain descent slows to a
    crawl, its direction converging like 1/log t. This follows the same bias (Lyu and Li, 2019) at a
    speed that does not fade, and in numbers that do not underflow.
    """

    def init(self, now: Moment) -> Memory:
        return ()

    def step(self, now: Moment, memory: Memory) -> tuple[Params, Memory]:
        batch = now.batch(self.split)

        def loss(params: Params) -> Float[Array, ""]:
            return log_exponential_loss(now.with_params(params).trace(batch).outputs, batch)

        level, gradient = jax.value_and_grad(loss)(now.params)
        # -level is the smoothed margin γ. For a model of degree two |∇γ|² grows like γ, and with it
        # γ exponentially, until steps overshoot; divided by γ, the margin grows linearly
        # until the rows are fitted γ is negative, and the step plain
        step_size = self.learning_rate / jnp.maximum(1.0, -level)
        return jax.tree.map(lambda p, g: p - step_size * g, now.params, gradient), memory


def log_exponential_loss(
    outputs: Float[Array, "row read answer"], batch: Batch
) -> Float[Array, ""]:
    """log Σ w exp(-gap), over rows and all wrong answers: minus the margin, smoothed."""
    behind = -gaps(outputs, batch.targets)
    # an answer's gap to itself is infinite, so it drops out, as do rows of weight 0
    counted: Array = jax.nn.logsumexp(behind, b=batch.weights[..., None])
    return counted
