"""Template tasks: strings whose label depends on which symbols are the same, not on what they are.

    templates     αβα: +1        αββ: -1
    train         cdc → +1       eff → -1        symbols of the training alphabet
    test          xyx → ?                        symbols that are in no training sample

Each world draws its samples once: the training set is finite, and the question is how many samples
it takes to generalise to symbols outside it.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Real

from ..core.fields import ConfigError, Example, count, names, number, numbers
from ..core.types import Batch, Task
from ..theory.template import BadTemplate, Template, is_wildcard, parse_all
from .distinct import distinct


class Samples(NamedTuple):
    """Drawn strings, their labels, and which template each came from."""

    strings: Int[Array, "sample length"]
    labels: Real[Array, " sample"]
    kinds: Int[Array, " sample"]


class World(NamedTuple):
    """The samples of each split."""

    train: Samples
    validation: Samples
    test: Samples


class Templates(Task):
    """`Templates.of("αα: +1", "αβ: -1")`: `QQ → +1`, `QR → -1`; and then, of new symbols: `XX → ?`

    Labels are numbers (regression) or symbols (the next token). `samples` is a number one may
    sweep: `most` rows are drawn, and those beyond it do not count.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "seen", "validation", "test")
    held_out: ClassVar[tuple[str, ...]] = ("validation", "test")
    templates: tuple[str, ...] = names(doc="the templates, each `tokens: label`")
    most: int = count(1024, doc="the largest n, which decides the shapes")
    samples: float = number(1024.0, least=1, doc="n, how many training samples")
    # n symbols for n samples, and tests of 100 samples from 100 other symbols: Appendices A and B
    alphabet: float = number(0.0, least=0, doc="how many training symbols; 0 takes n")
    noise: float = number(
        0.0, least=0, doc="standard deviation of the noise on numeric training labels"
    )
    weights: tuple[float, ...] = numbers(
        (), doc="how likely each template is, up to scale; equal if none are given"
    )
    test_rows: int = count(
        100, least=2, doc="validation samples, test samples, and the symbols of each"
    )

    @classmethod
    def of(cls, *templates: str, **fields: Any) -> "Templates":
        """A task from its templates, as strings."""
        return cls(templates=templates, **fields)

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [
            Example(cls.of("αβα: +1", "αββ: -1", most=8, samples=6)),
            Example(cls.of("αxβ: β", "αyβ: α", most=8, samples=6)),
        ]

    def __check_init__(self) -> None:
        super().__check_init__()
        try:
            parsed = self.parsed
        except BadTemplate as error:
            raise ConfigError(f"Templates: {error}") from error
        for name, size in (("samples", self.samples), ("alphabet", self.alphabet)):
            if size > self.most:
                raise ConfigError(f"Templates.{name}={size:g} is above most={self.most}")
        if self.weights and len(self.weights) != len(parsed):
            raise ConfigError(f"Templates: {len(self.weights)} weights for {len(parsed)} templates")
        widest = max(parsed, key=lambda template: len(template.wildcards))
        for name, size in (
            ("alphabet", self.alphabet or self.samples),
            ("test_rows", self.test_rows),
        ):
            if size < len(widest.wildcards):
                raise ConfigError(
                    f"Templates.{name}: {size:g} symbols are too few for the "
                    f"{len(widest.wildcards)} wildcards of '{widest}'"
                )

    # -- what there is

    @property
    def parsed(self) -> tuple[Template, ...]:
        """The templates, parsed."""
        return parsed(self.templates)

    @property
    def symbolic(self) -> bool:
        """Whether labels are symbols."""
        return self.parsed[0].value is None

    @property
    def symbols(self) -> Any:
        """How many symbols training draws from."""
        return jnp.where(self.alphabet > 0, self.alphabet, self.samples)

    @property
    def diversity(self) -> Any:
        """ρ (Definition 4.2): one over the largest probability of a symbol to be in a sample."""
        # symbols are equally likely: one of w wildcards is this one with chance w / symbols
        return self.symbols / max(len(template.wildcards) for template in self.parsed)

    @property
    def regular(self) -> tuple[str, ...]:
        """The regular tokens of all templates."""
        return tuple(dict.fromkeys(token for z in self.parsed for token in z.regular))

    @property
    def vocab(self) -> int:
        """Regular tokens, then the symbols of training, validation and test."""
        # `most` training symbols whatever n is: a sweep over n must not change the shapes
        return len(self.regular) + self.most + 2 * self.test_rows

    @property
    def answers(self) -> int:
        """Every token; or a single number."""
        return self.vocab if self.symbolic else 1

    @property
    def length(self) -> int:
        return len(self.parsed[0].tokens)

    # -- what is drawn

    def token_names(self, world: World) -> tuple[str, ...]:
        """Symbols are c in training, v in validation and x in tests."""
        # a regular token is any text without blanks; it may be called as a symbol would be
        regular = [repr(token)[1:-1] if token.isspace() else token for token in self.regular]
        names = list(regular)
        for kind, symbols in (("c", self.most), ("v", self.test_rows), ("x", self.test_rows)):
            taken = [token for token in regular if token.startswith(kind) and token != kind]
            apart = "_" * max((len(token) for token in taken), default=0)
            names += [f"{kind}{apart}{n}" for n in range(symbols)]
        return tuple(names)

    def answer_names(self, world: World) -> tuple[str, ...]:
        return self.token_names(world) if self.symbolic else ("label",)

    def world(self, key: Key[Array, ""]) -> World:
        """Draws the samples."""
        wildcards = max(1, *(len(template.wildcards) for template in self.parsed))
        # one draw for all: each takes a second to compile; above 0, since the noise takes its
        # normal quantile
        uniform = jr.uniform(key, (self.most + 2 * self.test_rows, wildcards + 2), minval=1e-7)
        train, validation, test = jnp.split(uniform, (self.most, self.most + self.test_rows))
        start = len(self.regular)
        unseen = start + self.most
        return World(
            self._draw(train, start, self.symbols, self.noise),
            self._draw(validation, unseen, self.test_rows, 0.0),
            self._draw(test, unseen + self.test_rows, self.test_rows, 0.0),
        )

    def _draw(
        self,
        uniform: Float[Array, "row draw"],
        start: int,
        symbols: Float[Array, ""] | float,
        noise: Float[Array, ""] | float,
    ) -> Samples:
        """Samples whose wildcards become symbols from `start` on; the columns of `uniform` draw
        the template, the noise of the label and the symbols."""
        weights = np.array(self.weights or [1.0] * len(self.parsed))
        # without the last, which is 1 up to rounding: no draw can fall beyond all templates
        upto = jnp.asarray(np.cumsum(weights / weights.sum())[:-1])
        kinds = jnp.searchsorted(upto, uniform[:, 0], side="right")
        # as many as the widest template needs: wildcards of one string differ (Definition 3.1)
        fresh = start + distinct(uniform[:, 2:], symbols)

        def substituted(codes: Int[np.ndarray, "template length"]) -> Int[Array, "row length"]:
            """Codes of the rows' templates, with symbols for wildcards (the codes below zero)."""
            code = jnp.asarray(codes)[kinds]
            symbol = jnp.take_along_axis(fresh, jnp.maximum(-1 - code, 0), axis=1)
            return jnp.where(code < 0, symbol, code)

        strings = substituted(self._codes(lambda template: template.tokens))
        if self.symbolic:
            labels = substituted(self._codes(lambda template: (template.label,)))[:, 0]
            return Samples(strings, labels, kinds)
        values = jnp.array([template.value for template in self.parsed])[kinds]
        return Samples(strings, values + noise * jax.scipy.special.ndtri(uniform[:, 1]), kinds)

    def _codes(
        self, tokens: Callable[[Template], tuple[str, ...]]
    ) -> Int[np.ndarray, "template length"]:
        """Regular tokens by index; the i-th wildcard of a template, from 0 on, as -1 - i."""
        return np.array(
            [
                [
                    -1 - z.wildcards.index(t) if is_wildcard(t) else self.regular.index(t)
                    for t in tokens(z)
                ]
                for z in self.parsed
            ]
        )

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        strings, labels, _ = getattr(world, "train" if split == "seen" else split)
        if split == "seen":  # as many training rows as there are test rows: enough for probes
            strings, labels = strings[: self.test_rows], labels[: self.test_rows]
        # n is traced: rows beyond it are drawn, and have no weight
        trained = split in ("train", "seen")
        counted = jnp.arange(len(strings)) < (self.samples if trained else self.test_rows)
        last = jnp.full((len(strings), 1), self.length - 1)
        return Batch(strings, last, labels[:, None], 1.0 * counted[:, None])

    # -- what is right

    def loss(self, outputs: Float[Array, "row read answer"], batch: Batch) -> Float[Array, ""]:
        """Cross-entropy of symbols, or the squared error of numbers."""
        if self.symbolic:
            return super().loss(outputs, batch)
        return batch.mean((outputs[..., 0] - batch.targets) ** 2)

    def correct(
        self, outputs: Float[Array, "row read answer"], batch: Batch
    ) -> Bool[Array, "row read"]:
        """A number is right if no other label is nearer to it than the target."""
        if self.symbolic:
            return super().correct(outputs, batch)
        labels = jnp.array(sorted({z.value for z in self.parsed if z.value is not None}))

        def nearest(values: Float[Array, "row read"]) -> Int[Array, "row read"]:
            return jnp.argmin(jnp.abs(values[..., None] - labels), axis=-1)

        return nearest(outputs[..., 0]) == nearest(batch.targets)


@cache
def parsed(texts: tuple[str, ...]) -> tuple[Template, ...]:
    """Templates of a task, read once."""
    return parse_all(texts)
