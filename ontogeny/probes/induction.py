"""What an induction head is made of: three memories, and two ways to look."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core.fields import ConfigError, choice, count, split
from ..core.types import Batch, Moment, Probe
from ..models.induction import InductionPair, Params
from ..tasks.triggers import Triggers


class MemoryRecall(Probe):
    """R(W, W*): for which part of its keys a memory's best answer is the right one.

    copying: the outputs, asked with a token's value, name the token (W_O² W_V²), if one likes
        with the noise token, which noise puts first everywhere, out of the question;
    matching: a trigger finds itself among tokens as the first layer moves them (W_K²);
    previous: a place finds the place before it (W_K¹).
    """

    memory: str = choice("copying", "matching", "previous", "copying, noise aside")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.model, InductionPair):
            raise ConfigError(
                f"MemoryRecall looks into InductionPair, not {type(now.model).__name__}"
            )
        p: Params = now.params
        match self.memory:
            case "copying" | "copying, noise aside":
                said = p.tokens @ (p.unembed @ p.out2 @ p.value2).T
                if self.memory != "copying" and isinstance(now.task, Triggers):
                    said = said.at[:, now.task.noise_token].set(-jnp.inf)
                return _recalled(said)
            case "matching":
                own = p.tokens
                if isinstance(now.task, Triggers) and now.task.fixed:
                    own = p.tokens[now.task.commonest]
                moved = p.out1 @ p.value1 @ own.T
                return _recalled(own @ p.key2 @ moved)
            case _:
                return _recalled((p.positions @ p.key1 @ p.positions.T)[1:, :])


def _recalled(scores: Float[Array, "key answer"]) -> Float[Array, ""]:
    """How often the i-th key has the i-th answer."""
    return jnp.mean(jnp.argmax(scores, axis=1) == jnp.arange(len(scores)))


class PreviousTokenScore(Probe):
    """How often the best head of a layer, right after a trigger, looks at the trigger most."""

    split: str = split("test")
    layer: int = count(0, least=0)

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        layers = now.trace(batch).attention
        if self.layer >= len(layers) - 1:  # the last layer looks only from the places read
            raise ConfigError("PreviousToken needs a layer before the last: depth=2")
        after = jnp.minimum(batch.at + 1, batch.inputs.shape[1] - 1)
        looked = _looked(layers[self.layer], after)
        inside = batch._replace(weights=batch.weights * (batch.at < after))
        return best_head(inside, looked == batch.at[:, None])


class InductionScore(Probe):
    """How often the best head of a layer looks most at what followed the same token before."""

    split: str = split("test")
    layer: int = count(1, least=0)

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        layers = now.trace(batch).attention
        if self.layer >= len(layers):
            raise ConfigError(f"InductionScore.layer={self.layer}: the model has {len(layers)}")
        last = self.layer == len(layers) - 1
        attention = layers[self.layer]
        looked = jnp.argmax(attention, axis=-1) if last else _looked(attention, batch.at)
        row = jnp.arange(len(batch.at))[:, None, None]
        before = batch.inputs[row, jnp.maximum(looked - 1, 0)]
        current = jnp.take_along_axis(batch.inputs, batch.at, axis=1)
        return best_head(batch, (before == current[:, None]) & (looked > 0))


def _looked(
    attention: Float[Array, "row head query place"], at: Int[Array, "row read"]
) -> Int[Array, "row head read"]:
    """Where each head looks most, from each of these places."""
    return jnp.argmax(jnp.take_along_axis(attention, at[:, None, :, None], axis=2), axis=-1)


def best_head(batch: Batch, right: Bool[Array, "row head read"]) -> Float[Array, ""]:
    """The share of right looks of the head that has most."""
    return jnp.max(jax.vmap(batch.mean, 1)(right))


class NoiseMargin(Probe):
    """How far the last feed-forward layer, told a trigger alone, puts noise before other tokens."""

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.task, Triggers) or getattr(now.params, "mlp2", None) is None:
            raise ConfigError(
                "NoiseMargin needs Triggers and a model with a last feed-forward layer"
            )
        trigger = now.params.tokens[now.task.commonest]
        said = jnp.mean(now.params.mlp2(trigger) @ now.params.unembed.T, axis=0)
        others = said.at[now.task.noise_token].set(-jnp.inf)
        return said[now.task.noise_token] - jnp.max(others)


class NoiseProbability(Probe):
    """The chance that the model gives to the noise token where it is not to come."""

    split: str = split("test")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.task, Triggers):
            raise ConfigError(f"NoiseChance is about Triggers, not {type(now.task).__name__}")
        batch = now.batch(self.split)
        chances = jax.nn.softmax(now.trace(batch).outputs, axis=-1)
        return batch.mean(chances[..., now.task.noise_token])
