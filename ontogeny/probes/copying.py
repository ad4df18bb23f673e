"""Where answers come from: from the token looked at, or from what usually follows."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, split
from ..core.types import Moment, Probe
from ..tasks.triggers import Triggers
from .induction import best_head


class Copied(Probe):
    """How often the model answers with the very token that a head of the last layer looks at most:
    the share of the head that does so most."""

    split: str = split("test")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        trace = now.trace(batch)
        if not trace.attention:
            raise ConfigError(f"Copied is about attention: {type(now.model).__name__} has none")
        looked = jnp.argmax(trace.attention[-1], axis=-1)
        row = jnp.arange(len(batch.at))[:, None, None]
        said = jnp.argmax(trace.outputs, axis=-1)
        return best_head(batch, batch.inputs[row, looked] == said[:, None])


class BigramGap(Probe):
    """How far from the bigrams the last feed-forward layer is, told one token alone: the relative
    entropy in nats, a mean over the tokens that are not triggers."""

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.task, Triggers) or getattr(now.params, "mlp2", None) is None:
            raise ConfigError("BigramGap needs Triggers and a model with a last feed-forward layer")
        plain = jnp.ones(now.task.vocab)
        if now.task.fixed:
            plain = plain.at[now.task.commonest].set(0.0)
        said = jax.nn.log_softmax(now.params.mlp2(now.params.tokens) @ now.params.unembed.T)
        after = jnp.asarray(now.task.bigrams.after)
        known = jnp.log(jnp.where(after > 0, after, 1.0))
        gaps = jnp.sum(after * (known - said), axis=1)
        return jnp.sum(gaps * plain) / jnp.sum(plain)
