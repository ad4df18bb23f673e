"""Which layer holds which hop."""

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

from ..core.fields import ConfigError, number
from ..core.types import Moment, Probe
from ..tasks.hops import Hops


class HopsByLayer(Probe):
    """How well a linear map reads the value after 1, 2, 4, … hops from the stream of each layer.

    The map is found on some sequences (ridge regression) and tried on others. The first row is the
    embedding; chance is one over the number of values.
    """

    ridge: float = number(1e-3, above=0)

    def __call__(self, now: Moment) -> Float[Array, "layer asked"]:
        task = _hops(now)
        found, tried = (self._seen(now, task, number) for number in range(2))

        def read(stream: Array, reached: Array, other: Array, truth: Array) -> Float[Array, ""]:
            wanted = jax.nn.one_hot(reached, task.values) - 1 / task.values
            spread = stream.T @ stream / len(stream)
            ridge = self.ridge * jnp.trace(spread) / len(spread) * jnp.eye(len(spread))
            reader = jnp.linalg.solve(spread + ridge, stream.T @ wanted / len(stream))
            return jnp.mean(jnp.argmax(other @ reader, axis=1) == truth)

        over_hops = jax.vmap(read, (None, 0, None, 0))
        return jax.vmap(over_hops, (0, None, 0, None))(found[0], found[1], tried[0], tried[1])

    def _seen(self, now: Moment, task: Hops, number: int) -> tuple[Array, Array]:
        """The streams of a batch by layer, with a one added; and what was to be reached."""
        moment = now.with_key(jr.fold_in(now.key, number))
        batch = moment.batch("hardest")
        streams = jnp.moveaxis(moment.trace(batch).residual, 1, 0)
        rows = streams.reshape(len(streams), -1, streams.shape[-1])
        rows = jnp.concatenate([rows, jnp.ones((*rows.shape[:2], 1))], axis=2)
        shown = batch.inputs.reshape(-1, task.hops, task.values)
        reached = jnp.moveaxis(task.reached(now.world, shown), 1, 0)
        return rows, reached.reshape(len(reached), -1)


class HopAttention(Probe):
    """How much attention a layer's best head gives to the place from which 1, 2, 4, … hops follow.

    For one hop, place (a, b) is to look at (a, π_a(b)); for twice h, at (a + h, where h hops lead).
    """

    def __call__(self, now: Moment) -> Float[Array, "layer asked"]:
        task = _hops(now)
        batch = now.batch("hardest")
        shown = batch.inputs.reshape(-1, task.hops, task.values)
        reached = task.reached(now.world, shown)
        start = jnp.repeat(jnp.arange(task.hops), task.values)
        first = start * task.values + now.world.reshape(-1)
        places = [jnp.broadcast_to(first, batch.inputs.shape)]
        for which, hops in enumerate(task.asked[:-1]):
            places.append((start + hops) % task.hops * task.values + reached[:, which])

        def given(attention: Array, place: Array) -> Float[Array, ""]:
            there = jnp.take_along_axis(attention, place[:, None, :, None], axis=3)[..., 0]
            return jnp.max(jax.vmap(batch.mean, 1)(there))

        layers = now.trace(batch).attention
        return jnp.stack([jnp.stack([given(layer, p) for p in places]) for layer in layers])


def _hops(now: Moment) -> Hops:
    if not isinstance(now.task, Hops):
        raise ConfigError(f"this probe is about Hops, not {type(now.task).__name__}")
    return now.task
