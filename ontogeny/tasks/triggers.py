"""Trigger bigrams: what followed a trigger before will follow it again (arXiv 2306.00802).

    … W h e r e _ q …  in this sequence a space is always followed by q
    … t h e _ → ?      so here comes q

Between triggers a sequence follows the bigrams of a text, the same in all sequences. The output
token after a trigger is drawn anew for each sequence: only the context tells it. With noise
(arXiv 2406.03068), training sometimes has one common token there instead.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import ConfigError, Example, choice, count, flag, number, string
from ..core.types import Batch, Task, World
from ..theory.bigrams import BadText, Bigrams, bigrams, named


class Sequences(NamedTuple):
    """Tokens, and at each position how often its trigger has occurred: 0 if it is no trigger."""

    tokens: Int[Array, "row length"]
    occurrence: Int[Array, "row length"]


def _source(name: str) -> str:
    try:
        return named(name)
    except BadText as error:
        raise ConfigError(f"Triggers.source: {error}") from error


class Triggers(Task):
    """Character bigrams of Shakespeare, or of `source`, with `triggers` tokens that repeat.

    At most `reads` positions of a sequence are read, drawn among the predictable ones: triggers
    that occurred before. In training one may read everywhere instead.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    source: str = string(
        "shakespeare",
        converter=_source,
        doc="whose bigrams are followed: shakespeare, zipf N, uniform N, or the path of a text",
    )
    length: int = count(256, least=2, doc="tokens in a sequence")
    triggers: int = count(5, doc="K, how many trigger tokens")
    fixed: bool = flag(
        True, doc="whether triggers are the most frequent tokens; else each sequence draws its own"
    )
    outputs: str = choice(
        "uniform", "bigram", doc="the distribution of the token that follows a trigger"
    )
    # if outputs may be triggers, a sequence may never leave its triggers
    again: bool = flag(True, doc="whether a trigger may follow a trigger")
    # in a short sequence over many tokens a trigger would rarely occur twice by chance
    planted: bool = flag(
        False, doc="whether sequences begin with a trigger and, unless one precedes it, end with it"
    )
    noise: float = number(
        0.0, least=0, most=1, doc="α, the probability of the noise token after a training trigger"
    )
    noise_token: int = count(2, least=0, doc="the index of the noise token")  # "!", as published
    read: str = choice(
        "predictable", "everywhere", doc="where training reads: after known triggers, or everywhere"
    )
    reads: int = count(64, doc="how many positions of a sequence are read")
    rows: int = count(64, doc="fresh training sequences a step")
    test_rows: int = count(128, doc="test sequences an evaluation")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        small = partial(cls, length=24, triggers=2, rows=16, test_rows=16)
        return [
            Example(small(source="zipf 9", noise=0.3)),
            Example(small(source="uniform 9", fixed=False, read="everywhere")),
        ]

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

    def token_names(self, world: World) -> tuple[str, ...]:
        """Characters; `_` is a space, unless the text has that sign itself."""
        tokens = self.bigrams.tokens
        space = "_" if "_" not in tokens else "␣"
        written = {" ": space if space not in tokens else "U+0020", "\n": "\\n", "\t": "\\t"}
        seen = [token for token in tokens if token.isprintable() and not token.isspace()]
        named = dict(zip(seen, seen, strict=True)) | written
        return tuple(named.get(token) or f"U+{ord(token):04X}" for token in tokens)

    def world(self, key: Key[Array, ""]) -> World:
        """Nothing lasts but the bigrams: every sequence is new."""
        return ()

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        train = split == "train"
        drawing, choosing = jr.split(key)
        # tests have no noise, as published
        rows, noise = (self.rows, self.noise) if train else (self.test_rows, None)
        tokens, occurrence = self.draw(rows, noise, drawing)
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        if train and self.read == "everywhere":
            at = jnp.broadcast_to(jnp.arange(self.length), inputs.shape)
            return Batch(inputs, at, targets, jnp.ones(inputs.shape))
        # the first time its output is new: nothing in the context can tell it
        predictable = occurrence[:, :-1] > 1
        at = sampled(predictable, min(self.reads, self.length), choosing)
        # a sequence with fewer predictable positions is read elsewhere too, without weight
        counted = 1.0 * jnp.take_along_axis(predictable, at, axis=1)
        return Batch(inputs, at, jnp.take_along_axis(targets, at, axis=1), counted)

    def loss(self, outputs: Float[Array, "row read vocab"], batch: Batch) -> Float[Array, ""]:
        """The cross-entropy; 0 if no position is predictable."""
        some = jnp.sum(batch.weights) > 0
        # both branches of `where` are differentiated: the one not taken must have no 0 / 0
        safe = batch._replace(weights=jnp.where(some, batch.weights, 1.0))
        return jnp.where(some, super().loss(outputs, safe), 0.0)

    def draw(
        self, rows: int, noise: Float[Array, ""] | float | None, key: Key[Array, ""]
    ) -> Sequences:
        """Sequences, one token longer than the inputs: the last token is only a target."""
        following, noising, chosen = jr.split(key, 3)
        triggers, outputs = self._rules(rows, chosen)
        # without the last column, which is 1 up to rounding: no draw can fall beyond all tokens
        upto = jnp.asarray(np.cumsum(self.bigrams.after, axis=1)[:, :-1], jnp.float32)
        begin = jnp.asarray(np.cumsum(self.bigrams.first)[:-1], jnp.float32)
        uniform = jr.uniform(following, (self.length + 1, rows))
        noised = jnp.zeros((self.length, rows), bool)
        if noise is not None:
            noised = jr.bernoulli(noising, noise, noised.shape)
        first = jnp.sum(begin <= uniform[0][:, None], axis=1)
        if self.planted:
            first = triggers[:, 0]

        def follow(token: Int[Array, " row"], now: Any) -> tuple[Any, Any]:
            uniform, noisy, end = now
            # inverse-CDF sampling of the bigram: how many cumulative probabilities lie below
            bigram = jnp.sum(upto[token] <= uniform[:, None], axis=1)
            trigger = token[:, None] == triggers
            # triggers of a sequence differ, so that at most one term of the sum is not 0
            output = jnp.where(noisy, self.noise_token, jnp.sum(trigger * outputs, axis=1))
            bigram = jnp.where(end, triggers[:, 0], bigram)
            after = jnp.where(jnp.any(trigger, axis=1), output, bigram)
            return after, after

        end = jnp.arange(1, self.length + 1) == (self.length - 1 if self.planted else -1)
        _, rest = jax.lax.scan(follow, first, (uniform[1:], noised, end))
        tokens = jnp.concatenate([first[None], rest]).T
        is_trigger = tokens[:, :, None] == triggers[:, None, :]
        # [row, position, trigger]: counted per trigger, and kept where it stands
        return Sequences(tokens, jnp.sum(is_trigger * jnp.cumsum(is_trigger, axis=1), axis=2))

    def _rules(self, rows: int, key: Key[Array, ""]) -> tuple[Array, Array]:
        """The triggers of each sequence, all different, and what follows each."""
        shape = (rows, self.triggers)
        choosing, following = jr.split(key)
        if self.fixed:
            triggers = jnp.broadcast_to(jnp.asarray(self.commonest), shape)
        else:
            # the top k of log p + Gumbel noise are a draw from p without replacement
            log_first = jnp.log(jnp.asarray(self.bigrams.first))
            _, triggers = jax.lax.top_k(
                log_first + jr.gumbel(choosing, (rows, self.vocab)), self.triggers
            )
        after = self.bigrams.after if self.outputs == "bigram" else np.ones(2 * (self.vocab,))
        # a pair that the text never has is log 0 = -∞, and never drawn
        logits = jnp.log(jnp.asarray(after, jnp.float32))[triggers]
        if not self.again:
            barred = jnp.any(jnp.arange(self.vocab)[:, None] == triggers[:, None, :], axis=-1)
            logits = jnp.where(barred[:, None], -jnp.inf, logits)
        return triggers, jr.categorical(following, logits, axis=-1)


def sampled(
    wanted: Bool[Array, "row length"], number: int, key: Key[Array, ""]
) -> Int[Array, "row read"]:
    """Positions of each row: those wanted first, a random sample if they are too many."""
    # wanted positions score 1 to 2, all others below 1
    _, positions = jax.lax.top_k(wanted + jr.uniform(key, wanted.shape), number)
    return positions
