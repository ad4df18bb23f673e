"""Models that read LEGO clause by clause: an answer attends to what the next one needs."""

from abc import abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, choice, count, flag, number
from ..core.types import Batch, FirstTokens, Model, Params, Task, Trace
from ..tasks.lego import CLAUSE, Lego, Sentence, parsed
from .fast import clauses as fast
from .initial import gaussians, norm, uniforms
from .layers import Linear, Norm, by_head, causal_mask, masked_softmax, with_positions
from .rotary import rotary

Cache = Any  # arrays of what later clauses read of each clause, whose axis is the last but one


class ClauseModel(Model):
    """One layer of attention from answers to all clauses so far, and what is made of it.

    Rolling out, it does the same with a cache: a clause is read once.
    """

    @abstractmethod
    def sizes(self, params: Params) -> tuple[int, int]:
        """How many variables and values there are."""

    @abstractmethod
    def cache(self, params: Params, sentence: Sentence, first: Int[Array, ""]) -> Cache:
        """What later clauses read of these, which begin at the position `first`."""

    @abstractmethod
    def answer(
        self,
        params: Params,
        cache: Cache,
        answers: Int[Array, "read 2"],
        positions: Int[Array, " read"],
    ) -> Trace:
        """What follows each answer, given the cache of the clauses up to its position."""

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        sentence = parsed(inputs, len(at), *self.sizes(params))
        cache = self.cache(params, sentence, jnp.zeros((), int))
        positions = len(sentence.predicates) + jnp.arange(len(at))
        return self.answer(params, cache, sentence.answers, positions)

    def rollout(self, params: Params, sentence: Sentence) -> Int[Array, "answer 2"]:
        """All answers after the first, each the likeliest, given those before it."""

        def decode(written: Written, position: Int[Array, ""]) -> tuple[Written, Array]:
            written = self.decode(params, written, position)
            return written, written.answer

        chain = len(sentence.predicates)
        _, found = jax.lax.scan(decode, self.prefill(params, sentence), chain + jnp.arange(chain))
        return found

    def prefill(self, params: Params, sentence: Sentence) -> "Written":
        """The predicates and the first answer, with room for as many answers."""
        predicates, answers = sentence
        given = self.cache(params, Sentence(predicates, answers[:0]), jnp.zeros((), int))
        # rows not yet written are later than whoever asks, and so masked
        cache = jax.tree.map(lambda x: jnp.concatenate([x, jnp.zeros_like(x)], axis=-2), given)
        return Written(cache, answers[0])

    def decode(self, params: Params, written: "Written", position: Int[Array, ""]) -> "Written":
        """Reads the last answer at its position, and gives the next."""
        cache, answer = written
        nothing = jnp.zeros((0, 3), int)
        new = self.cache(params, Sentence(nothing, answer[None]), position)
        cache = jax.tree.map(
            lambda old, x: jax.lax.dynamic_update_slice_in_dim(old, x, position, -2), cache, new
        )
        outputs = self.answer(params, cache, answer[None], position[None]).outputs[0]
        variables, _ = self.sizes(params)
        # slots are independent given the past (eq. 4): the greedy clause of eq. 9 is greedy in each
        variable, value = jnp.argmax(outputs[:variables]), jnp.argmax(outputs[variables:])
        return Written(cache, jnp.stack([variable, value]))


class Written(NamedTuple):
    """A sentence as far as it is written: the cache of its clauses, and the last answer."""

    cache: Cache
    answer: Int[Array, "2"]


def lego(model: Model, task: Task) -> Lego:
    """The task, if it is one that such a model can read."""
    if not isinstance(task, Lego):
        raise ConfigError(f"{type(model).__name__} reads the clauses of Lego, not {task}")
    return task


def slots(task: Lego) -> tuple[int, ...]:
    """How many tokens may stand in each slot of a clause."""
    # in the order of Definition 3.1: x, g and x' of a predicate, then x and y of an answer
    return (task.variables, task.group.order, task.variables, task.variables, task.values)


def sentences_of(task: Lego, batch: Batch) -> Sentence:
    """The clauses of every row."""
    reads = batch.at.shape[1]
    return jax.vmap(lambda row: parsed(row, reads, task.variables, task.values))(batch.inputs)


class ClauseEmbedding(NamedTuple):
    """A row for every token that may stand in a slot, and for every position; a blank adds 0."""

    made: Float[Array, "variable width"]
    action: Float[Array, "action width"]
    of: Float[Array, "variable width"]
    variable: Float[Array, "variable width"]
    value: Float[Array, "value width"]
    position: Float[Array, "position width"]  # no rows: NoPE

    def clauses(self, sentence: Sentence, first: Int[Array, ""]) -> Float[Array, "clause width"]:
        """The sums of rows that the clauses are, from the position `first` on."""
        made, action, of = sentence.predicates.T
        chain = len(made)
        # also what a matrix makes of a one-hot clause (Definition 3.3): the sum of its rows
        predicates = self.made[made] + self.action[action] + self.of[of]
        predicates = with_positions(predicates, self.position, first + jnp.arange(chain))
        positions = first + chain + jnp.arange(len(sentence.answers))
        return jnp.concatenate([predicates, self.answers(sentence.answers, positions)])

    def answers(
        self, answers: Int[Array, "answer 2"], positions: Int[Array, " answer"]
    ) -> Float[Array, "answer width"]:
        """The sums of rows that answers are."""
        held = self.variable[answers[:, 0]] + self.value[answers[:, 1]]
        return with_positions(held, self.position, positions)


class ClauseParams(NamedTuple):
    """Embeddings, attention, the MLP, outputs. What a model has not got is None."""

    embeddings: ClauseEmbedding
    query: Float[Array, "width width"] | None
    key: Float[Array, "width width"] | None
    value: Float[Array, "width width"] | None
    out: Float[Array, "width width"] | None  # back into the residual stream, if there is one
    mlp_in: Linear
    mlp_out: Linear
    unembed: Float[Array, "width answer"]
    norms: tuple[Norm, Norm, Norm] | None  # before attention, before the MLP, before outputs


class ClauseTransformer(ClauseModel):
    """A one-layer transformer whose tokens are clauses (arXiv 2511.07378).

    A clause is the sum of an embedding for each of its slots; or one-hot, its tokens side by side:
    then queries, keys and values have rows of their own for every token.
    """

    width: int = count(128, doc="width of embeddings and of all heads together")
    heads: int = count(2, most=1000, doc="heads of attention")
    mlp_width: int = count(256, doc="hidden units of the MLP")
    # Definition 3.5 has none. Told positions, chains of twice the training length fail (LOGBOOK)
    positions: str = choice("none", "learned", "rotary", doc="how it is told positions; none: NoPE")
    one_hot: bool = flag(False, doc="attention reads one-hot tokens instead of embeddings")
    # the paper does not say. Its heat maps (Figure 2) show an answer attending to itself, which a
    # stream would make needless: off by default
    residual: bool = flag(False, doc="attention and the MLP add to a residual stream")
    normed: bool = flag(False, doc="LayerNorm before attention, the MLP and the outputs")
    scale: float = number(1.0, above=0, doc="standard deviation of initial embeddings")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Lego(action="S3", chain=3, variables=10, rows=6)
        small = partial(cls, width=8, mlp_width=6)
        return [
            Example(small(), task),
            Example(small(one_hot=True, positions="learned"), task),
            Example(small(residual=True, positions="learned"), task),
            Example(small(residual=True, normed=True, positions="rotary"), task),
        ]

    def __check_init__(self) -> None:
        super().__check_init__()
        name = type(self).__name__
        if self.width % (2 * self.heads):
            raise ConfigError(
                f"{name}.width={self.width}: each of {self.heads} heads needs an even width"
            )
        if self.one_hot and (self.residual or self.normed):
            raise ConfigError(f"{name}.one_hot: there is no residual stream to add to or to norm")

    def init(self, task: Task, key: Key[Array, ""]) -> ClauseParams:
        task = lego(self, task)
        embeddings, weights = jr.split(key)
        longest = 2 * task.chains[-1] if self.positions == "learned" else 0
        sizes = (*slots(task), longest)
        wide, spread = self.width, self.scale
        if self.one_hot:  # as torch would start a matrix that reads five one-hot tokens
            # uniform within ±1/√n has deviation 1/√(3 n), and n = 5 d coordinates are read
            wide, spread = 3 * self.width, (3 * CLAUSE * task.vocab) ** -0.5
        tables = gaussians(embeddings, *((size, wide) for size in sizes))
        query, key_, value, out, mlp_in, mlp_out, unembed = uniforms(
            weights,
            *[(self.width, self.width)] * 4,
            (self.width, self.mlp_width),
            (self.mlp_width, self.width),
            (self.width, task.answers),
        )
        return ClauseParams(
            ClauseEmbedding(*(spread * table for table in tables)),
            None if self.one_hot else query,
            None if self.one_hot else key_,
            None if self.one_hot else value,
            out if self.residual else None,
            Linear(mlp_in, jnp.zeros(self.mlp_width)),
            Linear(mlp_out, jnp.zeros(self.width)),
            unembed,
            (norm(self.width), norm(self.width), norm(self.width)) if self.normed else None,
        )

    def sizes(self, params: ClauseParams) -> tuple[int, int]:
        return len(params.embeddings.variable), len(params.embeddings.value)

    def __call__(
        self, params: ClauseParams, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        sentence = parsed(inputs, len(at), *self.sizes(params))
        clauses = params.embeddings.clauses(sentence, jnp.zeros((), int))
        positions, chain = jnp.arange(len(clauses)), len(sentence.predicates)
        before_attention, before_mlp, before_outputs = params.norms or [lambda x: x] * 3
        query, key, value = self._projected(params, before_attention(clauses))
        if self.positions == "rotary":
            query, key = rotary(query, positions), rotary(key, positions)
        # only answers ask: what predicates would attend to is never used
        scores = jnp.einsum("qhd,khd->hqk", query[chain:], key) / key.shape[-1] ** 0.5
        weights = masked_softmax(scores, causal_mask(len(clauses), positions[chain:]))
        mixed = jnp.einsum("hqk,khd->qhd", weights, value).reshape(len(at), self.width)
        # without a stream this is FFN ∘ Attention, as in Definition 3.5
        x = mixed if params.out is None else clauses[chain:] + mixed @ params.out
        made = params.mlp_out(jax.nn.relu(params.mlp_in(before_mlp(x))))
        after = x + made if self.residual else made
        return Trace(before_outputs(after) @ params.unembed, jnp.stack([x, after]), (weights,))

    def _projected(
        self, params: ClauseParams, clauses: Float[Array, "clause wide"]
    ) -> list[Float[Array, "clause head head_dim"]]:
        """Queries, keys and values."""
        if self.one_hot:  # the rows of embeddings are those of W_Q, W_K, W_V side by side
            found = jnp.split(clauses, 3, axis=1)
        else:
            weights = cast(list[Array], [params.query, params.key, params.value])
            found = [clauses @ weight for weight in weights]
        return [by_head(each, self.heads) for each in found]

    def batched(
        self,
        params: ClauseParams,
        inputs: Int[Array, "row length"],
        at: Int[Array, "row read"],
        first: FirstTokens | None = None,
    ) -> Trace:
        return fast.batched(self, params, inputs, at)

    def cache(
        self, params: ClauseParams, sentence: Sentence, first: Int[Array, ""]
    ) -> list[tuple[Array, Array]]:
        """Keys and values, by head."""
        return fast.cache(self, params, sentence, first)

    def answer(
        self,
        params: ClauseParams,
        cache: list[tuple[Array, Array]],
        answers: Int[Array, "read 2"],
        positions: Int[Array, " read"],
    ) -> Trace:
        return fast.answer(self, params, cache, answers, positions)
