"""Which layer computes which hop."""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, number
from ..core.types import Moment, Probe
from ..tasks.hops import Hops


class HopsByLayer(Probe):
    """The accuracy of a linear probe for the value after 1, 2, 4, … hops, on the residual stream
    after each layer.

    The probe is fitted on some sequences (ridge regression) and tested on others. The first row is
    the embedding; a random guess has one over the number of values.
    """

    unit = "fraction"

    ridge: float = number(
        1e-3, above=0, doc="the weight of the squared norm, in units of the mean squared feature"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [_small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, "layer asked"]:
        task = _hops(now)
        fitted, tested = (self._features(now, task, number) for number in range(2))

        def accuracy(x: Array, reached: Array, other: Array, truth: Array) -> Float[Array, ""]:
            # centred: where features say nothing, ridge shrinks towards no preference
            targets = jax.nn.one_hot(reached, task.values) - 1 / task.values
            covariance = x.T @ x / len(x)
            # in units of the features, so that a larger stream is shrunk no less
            ridge = self.ridge * jnp.trace(covariance) / len(covariance) * jnp.eye(x.shape[1])
            probe = jnp.linalg.solve(covariance + ridge, x.T @ targets / len(x))
            return jnp.mean(jnp.argmax(other @ probe, axis=1) == truth)

        over_hops = jax.vmap(accuracy, (None, 0, None, 0))
        return jax.vmap(over_hops, (0, None, 0, None))(*fitted, *tested)

    def _features(self, now: Moment, task: Hops, number: int) -> tuple[Array, Array]:
        """The residual stream of a batch by layer, with a constant 1; and the values reached."""
        moment = now.with_key(jr.fold_in(now.key, number))
        batch = moment.batch("hardest")
        residual = jnp.moveaxis(moment.trace(batch).residual, 1, 0)
        rows = residual.reshape(len(residual), -1, residual.shape[-1])
        rows = jnp.concatenate([rows, jnp.ones((*rows.shape[:2], 1))], axis=2)
        given = batch.inputs.reshape(-1, task.hops, task.values)
        reached = jnp.moveaxis(task.reached(now.world, given), 1, 0)
        return rows, reached.reshape(len(reached), -1)


class HopAttention(Probe):
    """The attention of a layer's best head to the position that 1, 2, 4, … hops need.

    For one hop, (a, b) needs (a, π_a(b)); for 2 h hops, (a + h, where h hops lead).
    """

    unit = "fraction"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [_small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, "layer asked"]:
        task = _hops(now)
        batch = now.batch("hardest")
        given = batch.inputs.reshape(-1, task.hops, task.values)
        reached = task.reached(now.world, given)
        start = jnp.repeat(jnp.arange(task.hops), task.values)
        first = start * task.values + now.world.reshape(-1)
        needed = [jnp.broadcast_to(first, batch.inputs.shape)]
        for which, hops in enumerate(task.asked[:-1]):
            needed.append((start + hops) % task.hops * task.values + reached[:, which])

        def best(attention: Array, position: Array) -> Float[Array, ""]:
            there = jnp.take_along_axis(attention, position[:, None, :, None], axis=3)[..., 0]
            return jnp.max(jax.vmap(batch.mean, 1)(there))

        layers = now.trace(batch).attention
        return jnp.stack([jnp.stack([best(layer, p) for p in needed]) for layer in layers])


def _hops(now: Moment) -> Hops:
    if not isinstance(now.task, Hops):
        raise ConfigError(f"this probe is about Hops, not {type(now.task).__name__}")
    return now.task


def _small_example(probe: Probe) -> Example:
    from ..models.attention_stack import AttentionStack

    return Example(probe, Hops(values=2, hops=2, rows=8), AttentionStack(width=20, depth=2))
