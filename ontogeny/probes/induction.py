"""What an induction head is made of: three associative memories, and two attention patterns."""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..core.fields import ConfigError, Example, choice, count, split
from ..core.types import Batch, Moment, Probe
from ..models.induction import InductionPair, Params
from ..tasks.triggers import Triggers


class MemoryRecall(Probe):
    """R(W, W*): the fraction of its keys for which a memory's top answer is the right one.

    copying: the value of a token is read out as the token (W_O² W_V²), the noise token aside if one
        likes, since noise makes it the top answer everywhere;
    matching: a trigger matches itself among tokens as the first layer copies them (W_K²);
    previous: a position matches the one before it (W_K¹).
    """

    unit = "fraction"

    memory: str = choice(
        *("copying", "matching", "previous", "copying, noise aside"),
        doc="which memory: the OV copying score, the QK matching score, the previous-token score",
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [small_example(cls(name)) for name in ("copying", "matching", "previous")]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.model, InductionPair):
            raise ConfigError(
                f"MemoryRecall is about InductionPair, not {type(now.model).__name__}"
            )
        p: Params = now.params
        match self.memory:
            case "copying" | "copying, noise aside":
                # rows are keys: u_vᵀ W_O² W_V² e_z at (z, v)
                scores = p.tokens @ (p.unembed @ p.out2 @ p.value2).T
                if self.memory != "copying" and isinstance(now.task, Triggers):
                    scores = scores.at[:, now.task.noise_token].set(-jnp.inf)
                return _recalled(scores)
            case "matching":
                own = p.tokens
                if isinstance(now.task, Triggers) and now.task.fixed:
                    # only fixed triggers compete, as in the authors' probe: an easier test than
                    # among all tokens, which tells in the order of learning (LOGBOOK)
                    own = p.tokens[now.task.commonest]
                copied = p.out1 @ p.value1 @ own.T
                return _recalled(own @ p.key2 @ copied)
            case _:
                # p_{t+1}ᵀ W_K¹ p_s: row t asks from t + 1, and should find t
                return _recalled((p.positions @ p.key1 @ p.positions.T)[1:, :])


def _recalled(scores: Float[Array, "key answer"]) -> Float[Array, ""]:
    """The fraction of keys i whose top answer is i."""
    return jnp.mean(jnp.argmax(scores, axis=1) == jnp.arange(len(scores)))


class PreviousTokenScore(Probe):
    """How often the best head of a layer, right after a trigger, attends to the trigger most."""

    unit = "fraction"

    split: str = split("test", doc="the split whose rows are read")
    layer: int = count(0, least=0, doc="which layer's heads")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        layers = now.trace(batch).attention
        if self.layer >= len(layers) - 1:  # the last layer has queries at the positions read only
            raise ConfigError(
                f"PreviousTokenScore.layer={self.layer}: it needs a layer before the last of "
                f"{len(layers)}"
            )
        # a trigger at the very end has nothing after it: it is read in place, and not counted
        after = jnp.minimum(batch.at + 1, batch.inputs.shape[1] - 1)
        attended = _attended(layers[self.layer], after)
        inside = batch._replace(weights=batch.weights * (batch.at < after))
        return best_head(inside, attended == batch.at[:, None])


class InductionScore(Probe):
    """How often the best head of a layer attends most to what followed the same token before."""

    unit = "fraction"

    split: str = split("test", doc="the split whose rows are read")
    layer: int = count(1, least=0, doc="which layer's heads")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        layers = now.trace(batch).attention
        if self.layer >= len(layers):
            raise ConfigError(
                f"InductionScore.layer={self.layer}: the model has {len(layers)} layers"
            )
        last = self.layer == len(layers) - 1
        attention = layers[self.layer]
        attended = jnp.argmax(attention, axis=-1) if last else _attended(attention, batch.at)
        row = jnp.arange(len(batch.at))[:, None, None]
        # nothing precedes position 0, so whoever attends there has not found anything
        before = batch.inputs[row, jnp.maximum(attended - 1, 0)]
        current = jnp.take_along_axis(batch.inputs, batch.at, axis=1)
        return best_head(batch, (before == current[:, None]) & (attended > 0))


def _attended(
    attention: Float[Array, "row head query length"], at: Int[Array, "row read"]
) -> Int[Array, "row head read"]:
    """The position that each head attends to most, from each of these positions."""
    return jnp.argmax(jnp.take_along_axis(attention, at[:, None, :, None], axis=2), axis=-1)


def best_head(batch: Batch, right: Bool[Array, "row head read"]) -> Float[Array, ""]:
    """The largest over heads of the weighted fraction that is right."""
    return jnp.max(jax.vmap(batch.mean, 1)(right))


class NoiseMargin(Probe):
    """The logit of the noise token minus the best other, from the last MLP on a trigger alone."""

    unit = "logits"

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.task, Triggers) or getattr(now.params, "mlp2", None) is None:
            raise ConfigError(
                "NoiseMargin needs Triggers and a model with a last MLP: mlp2='linear' or 'relu'"
            )
        # FFN(e_q), as in arXiv 2406.03068: no attention, hence nothing of the context
        trigger = now.params.tokens[now.task.commonest]
        logits = jnp.mean(now.params.mlp2(trigger) @ now.params.unembed.T, axis=0)
        others = logits.at[now.task.noise_token].set(-jnp.inf)
        return logits[now.task.noise_token] - jnp.max(others)


class NoiseProbability(Probe):
    """The probability of the noise token after triggers, where the test split never has it."""

    unit = "fraction"

    split: str = split("test", doc="the split that is answered")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [small_example(cls())]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        if not isinstance(now.task, Triggers):
            raise ConfigError(f"NoiseProbability is about Triggers, not {type(now.task).__name__}")
        batch = now.batch(self.split)
        probabilities = jax.nn.softmax(now.trace(batch).outputs, axis=-1)
        return batch.mean(probabilities[..., now.task.noise_token])


def small_example(probe: Probe) -> Example:
    """A probe of induction heads, on a task and with a model that suit it."""
    text = Triggers(source="zipf 9", length=24, triggers=2, noise=0.3, rows=16, test_rows=16)
    return Example(probe, text, InductionPair(width=8, mlp2="linear"))
