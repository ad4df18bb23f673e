"""Trigger bigrams: what followed a trigger before will follow it again (arXiv 2306.00802).

    ... W h e r e _ q ...  in this sequence a space is always followed by q
    ... t h e _ → ?        so here comes q

Between triggers a sequence follows the bigrams of a text, the same in all sequences. What comes
after a trigger is drawn anew for each sequence: it can only be read from the context. With noise
(arXiv 2406.03068), training sometimes shows one common token there instead.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, choice, count, flag, number, string
from ..core.types import Batch, Task, World
from ..theory.bigrams import BadText, Bigrams, bigrams, named


class Sequences(NamedTuple):
    """Tokens, and at each place how often its trigger has been seen: 0 where there is none."""

    tokens: Int[Array, "row place"]
    occurrence: Int[Array, "row place"]


def _source(name: str) -> str:
    try:
        return named(name)
    except BadText as error:
        raise ConfigError(f"Triggers.source: {error}") from error


class Triggers(Task):
    """Character bigrams of Shakespeare, or of `source`, with `triggers` tokens that repeat.

    At most `reads` places of a sequence are read, drawn among those that can be predicted: a
    trigger seen before. In training one may read everywhere instead.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    source: str = string("shakespeare", converter=_source)
    length: int = count(256, least=2)
    triggers: int = count(5)
    fixed: bool = flag(True)  # the most frequent tokens; or each sequence draws its own
    outputs: str = choice("uniform", "bigram")  # how what follows a trigger is drawn
    again: bool = flag(True)  # whether a trigger may follow a trigger
    planted: bool = flag(False)  # begin with a trigger and, unless one precedes it, end
    noise: float = number(0.0, least=0, most=1)  # α: chance of the noise token in training
    noise_token: int = count(2, least=0)
    read: str = choice("predictable", "everywhere")
    reads: int = count(64)
    rows: int = count(64)  # fresh sequences a step
    test_rows: int = count(128)  # and a look

    def __check_init__(self) -> None:
        super().__check_init__()
        try:
            size = len(self.bigrams.tokens)
        except BadText as error:
            raise ConfigError(f"Triggers.source: {error}") from error
        if self.triggers >= size:
            raise ConfigError(
                f"Triggers.triggers={self.triggers}: {self.source} has {size} tokens, and some "
                "must be left between triggers"
            )
        if self.noise_token >= size:
            raise ConfigError(f"Triggers.noise_token={self.noise_token}: there are {size} tokens")

    @property
    def bigrams(self) -> Bigrams:
        """Which token follows which."""
        return bigrams(self.source)

    @property
    def vocab(self) -> int:
        return len(self.bigrams.tokens)

    @property
    def commonest(self) -> Int[np.ndarray, " trigger"]:
        """The most frequent tokens: the triggers, if they are fixed."""
        return np.array(self.bigrams.commonest(self.triggers))

    def world(self, key: Key[Array, ""]) -> World:
        """Nothing lasts but the bigrams: every sequence is new."""
        return ()

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        train = split == "train"
        drawing, choosing = jr.split(key)
        rows, noise = (self.rows, self.noise) if train else (self.test_rows, None)
        tokens, occurrence = self.draw(rows, noise, drawing)
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        if train and self.read == "everywhere":
            places = jnp.broadcast_to(jnp.arange(self.length), inputs.shape)
            return Batch(inputs, places, targets, jnp.ones(inputs.shape))
        predictable = occurrence[:, :-1] > 1
        at = some(predictable, min(self.reads, self.length), choosing)
        there = jnp.take_along_axis(predictable, at, axis=1)
        return Batch(inputs, at, jnp.take_along_axis(targets, at, axis=1), 1.0 * there)

    def loss(self, outputs: Float[Array, "row read vocab"], batch: Batch) -> Float[Array, ""]:
        """The cross-entropy; nothing if there is nothing to predict."""
        some = jnp.sum(batch.weights) > 0
        known = batch._replace(weights=jnp.where(some, batch.weights, 1.0))
        return jnp.where(some, super().loss(outputs, known), 0.0)

    def draw(
        self, rows: int, noise: Float[Array, ""] | float | None, key: Key[Array, ""]
    ) -> Sequences:
        """Sequences, one token longer than what is read of them."""
        chance, blur, chosen = jr.split(key, 3)
        triggers, outputs = self._rules(rows, chosen)
        upto = jnp.asarray(np.cumsum(self.bigrams.after, axis=1)[:, :-1], jnp.float32)
        begin = jnp.asarray(np.cumsum(self.bigrams.first)[:-1], jnp.float32)
        chances = jr.uniform(chance, (self.length + 1, rows))
        blurred = jnp.zeros((self.length, rows), bool)
        if noise is not None:
            blurred = jr.bernoulli(blur, noise, blurred.shape)
        first = jnp.sum(begin <= chances[0][:, None], axis=1)
        if self.planted:
            first = triggers[:, 0]

        def follow(token: Int[Array, " row"], now: Any) -> tuple[Any, Any]:
            chance, noisy, end = now
            usual = jnp.sum(upto[token] <= chance[:, None], axis=1)
            asked = token[:, None] == triggers
            told = jnp.where(noisy, self.noise_token, jnp.sum(asked * outputs, axis=1))
            usual = jnp.where(end, triggers[:, 0], usual)
            after = jnp.where(jnp.any(asked, axis=1), told, usual)
            return after, after

        end = jnp.arange(1, self.length + 1) == (self.length - 1 if self.planted else -1)
        _, rest = jax.lax.scan(follow, first, (chances[1:], blurred, end))
        tokens = jnp.concatenate([first[None], rest]).T
        seen = tokens[:, :, None] == triggers[:, None, :]
        return Sequences(tokens, jnp.sum(seen * jnp.cumsum(seen, axis=1), axis=2))

    def _rules(self, rows: int, key: Key[Array, ""]) -> tuple[Array, Array]:
        """The triggers of each sequence, all different, and what follows each."""
        shape = (rows, self.triggers)
        choosing, following = jr.split(key)
        if self.fixed:
            triggers = jnp.broadcast_to(jnp.asarray(self.commonest), shape)
        else:
            often = jnp.log(jnp.asarray(self.bigrams.first))
            _, triggers = jax.lax.top_k(
                often + jr.gumbel(choosing, (rows, self.vocab)), self.triggers
            )
        likely = self.bigrams.after if self.outputs == "bigram" else np.ones(2 * (self.vocab,))
        chances = jnp.log(jnp.asarray(likely, jnp.float32))[triggers]
        if not self.again:
            barred = jnp.any(jnp.arange(self.vocab)[:, None] == triggers[:, None, :], axis=-1)
            chances = jnp.where(barred[:, None], -jnp.inf, chances)
        return triggers, jr.categorical(following, chances, axis=-1)


def some(
    wanted: Bool[Array, "row place"], number: int, key: Key[Array, ""]
) -> Int[Array, "row read"]:
    """Places of each row: those wanted, drawn if there are more of them than one may read."""
    _, places = jax.lax.top_k(wanted + jr.uniform(key, wanted.shape), number)
    return places
