"""Where answers come from: from the token attended to, or from the bigrams."""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, split
from ..core.types import Moment, Probe
from ..tasks.triggers import Triggers
from .induction import best_head, small_example


class Copied(Probe):
    """The fraction of answers that are the token which a head of the last layer attends to most,
    for the head where it is largest."""

    unit = "fraction"

    split: str = split("test", doc="the split that is answered")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        trace = now.trace(batch)
        if not trace.attention:
            raise ConfigError(f"Copied is about attention: {type(now.model).__name__} has none")
        attended = jnp.argmax(trace.attention[-1], axis=-1)
        row = jnp.arange(len(batch.at))[:, None, None]
        answer = jnp.argmax(trace.outputs, axis=-1)
        return best_head(batch, batch.inputs[row, attended] == answer[:, None])


class BigramGap(Probe):
    """KL of the bigrams from what the last MLP alone predicts after a token, in nats: a mean over
    the tokens that are not triggers."""

    unit = "entropy"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.task, Triggers) or getattr(now.params, "mlp2", None) is None:
            raise ConfigError(
                "BigramGap needs Triggers and a model with a last MLP: mlp2='linear' or 'relu'"
            )
        counted = jnp.ones(now.task.vocab)
        if now.task.fixed:
            # what follows a trigger is drawn for each sequence, whatever the bigrams say
            counted = counted.at[now.task.commonest].set(0.0)
        # of embeddings alone, without positions or attention: what the MLP itself has stored
        predicted = jax.nn.log_softmax(now.params.mlp2(now.params.tokens) @ now.params.unembed.T)
        after = jnp.asarray(now.task.bigrams.after)
        log_after = jnp.log(jnp.where(after > 0, after, 1.0))  # 0 log 0 is 0
        gaps = jnp.sum(after * (log_after - predicted), axis=1)
        return jnp.sum(gaps * counted) / jnp.sum(counted)
