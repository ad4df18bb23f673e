"""Models that read LEGO clause by clause: an answer looks up what the next one needs."""

from abc import abstractmethod
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int, Key

from ..core import Batch, Model, Params, Task, Trace
from ..fields import Invalid, choice, count, number, static
from ..tasks.lego import CLAUSE, Lego, Sentence, parsed
from .initial import gaussians, norm, uniforms
from .layers import Linear, Norm
from .rotary import turned

Cache = Any  # arrays of what is kept of every clause, whose axis is the last but one


class ClauseModel(Model):
    """One layer of attention from answers to all clauses so far, and what is made of it.

    Trained or free-running, it does the same: a clause is looked at once and kept.
    """

    @abstractmethod
    def sizes(self, params: Params) -> tuple[int, int]:
        """How many variables and values there are."""

    @abstractmethod
    def kept(self, params: Params, sentence: Sentence, first: Int[Array, ""]) -> Cache:
        """What later clauses will see of these, which begin at the place `first`."""

    @abstractmethod
    def answered(
        self,
        params: Params,
        cache: Cache,
        answers: Int[Array, "read 2"],
        places: Int[Array, " read"],
    ) -> Trace:
        """What follows each answer, given what is kept of the clauses up to its place."""

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        return self.answered(params, *self._asked(params, inputs, len(at)))

    def _asked(
        self, params: Params, inputs: Int[Array, " length"], reads: int
    ) -> tuple[Cache, Int[Array, "read 2"], Int[Array, " read"]]:
        """What is kept of a sequence, its answers and their places."""
        sentence = parsed(inputs, reads, *self.sizes(params))
        cache = self.kept(params, sentence, jnp.zeros((), int))
        return cache, sentence.answers, len(sentence.predicates) + jnp.arange(reads)

    def rollout(self, params: Params, sentence: Sentence) -> Int[Array, "answer 2"]:
        """All answers after the first, each the likeliest, given those before it."""
        variables, _ = self.sizes(params)
        predicates, answers = sentence
        chain = len(predicates)
        given = self.kept(params, Sentence(predicates, answers[:0]), jnp.zeros((), int))
        cache = jax.tree.map(lambda x: jnp.concatenate([x, jnp.zeros_like(x)], axis=-2), given)

        def follow(carry: tuple[Cache, Array], place: Int[Array, ""]) -> tuple[Any, Array]:
            cache, answer = carry
            new = self.kept(params, Sentence(predicates[:0], answer[None]), place)
            cache = jax.tree.map(
                lambda old, x: jax.lax.dynamic_update_slice_in_dim(old, x, place, -2), cache, new
            )
            outputs = self.answered(params, cache, answer[None], place[None]).outputs[0]
            variable, value = jnp.argmax(outputs[:variables]), jnp.argmax(outputs[variables:])
            after = jnp.stack([variable, value])
            return (cache, after), after

        _, found = jax.lax.scan(follow, (cache, answers[0]), chain + jnp.arange(chain))
        return found


def lego(model: Model, task: Task) -> Lego:
    """The task, if it is one that such a model can read."""
    if not isinstance(task, Lego):
        raise Invalid(f"{type(model).__name__} reads the clauses of Lego, not {task}")
    return task


def slots(task: Lego) -> tuple[int, ...]:
    """How many tokens may stand in each slot of a clause."""
    return (task.variables, task.group.order, task.variables, task.variables, task.values)


def sentences_of(task: Lego, batch: Batch) -> Sentence:
    """The clauses of every row."""
    reads = batch.at.shape[1]
    return jax.vmap(lambda row: parsed(row, reads, task.variables, task.values))(batch.inputs)


def own_answers(
    model: ClauseModel, params: Params, batch: Batch, task: Lego
) -> Int[Array, "row answer 2"]:
    """What the model answers to each row when left to itself; few rows at a time, so that what is
    kept of them stays in the cache: long chains are three times as fast."""
    answers: Array = jax.lax.map(
        partial(model.rollout, params), sentences_of(task, batch), batch_size=16
    )
    return answers


def right_unaided(
    model: ClauseModel, params: Params, batch: Batch, task: Lego
) -> Bool[Array, "row answer"]:
    """Which of those answers hold the right value."""
    return own_answers(model, params, batch, task)[..., 1] == batch.targets % task.values


class Tables(NamedTuple):
    """A row for every token that may stand in a slot, and for every place; a blank is nothing."""

    made: Float[Array, "variable width"]
    action: Float[Array, "action width"]
    of: Float[Array, "variable width"]
    variable: Float[Array, "variable width"]
    value: Float[Array, "value width"]
    place: Float[Array, "place width"]  # no rows: places are not told

    def __matmul__(self, weight: Float[Array, "width out"]) -> "Tables":
        """Every row projected: what is linear in a clause is a sum of these."""
        return Tables(*(table @ weight for table in self))

    def columns(self, start: int, end: int) -> "Tables":
        """A part of every row."""
        return Tables(*(table[:, start:end] for table in self))

    def clauses(self, sentence: Sentence, first: Int[Array, ""]) -> Float[Array, "clause width"]:
        """The sums of rows that the clauses are, from the place `first` on."""
        made, action, of = sentence.predicates.T
        chain = len(made)
        predicates = self.made[made] + self.action[action] + self.of[of]
        if len(self.place):
            predicates = predicates + self.place[first + jnp.arange(chain)]
        places = first + chain + jnp.arange(len(sentence.answers))
        return jnp.concatenate([predicates, self.answers(sentence.answers, places)])

    def answers(
        self, answers: Int[Array, "answer 2"], places: Int[Array, " answer"]
    ) -> Float[Array, "answer width"]:
        """The sums of rows that answers are."""
        held = self.variable[answers[:, 0]] + self.value[answers[:, 1]]
        return held + self.place[places] if len(self.place) else held


class ClauseParams(NamedTuple):
    """Embeddings, attention, the feed-forward layer, outputs. What a model has not got is None."""

    tables: Tables
    query: Float[Array, "width width"] | None
    key: Float[Array, "width width"] | None
    value: Float[Array, "width width"] | None
    out: Float[Array, "width width"] | None  # back into the stream, if there is one
    widen: Linear
    narrow: Linear
    unembed: Float[Array, "width answer"]
    norms: tuple[Norm, Norm, Norm] | None


class ClauseTransformer(ClauseModel):
    """A one-layer transformer whose tokens are clauses.

    A clause is the sum of an embedding for each of its slots; or one-hot, its tokens side by side:
    then queries, keys and values have rows of their own for every token. Without norms, whatever is
    linear is done to the tables of embeddings, not to clauses.
    """

    width: int = count(128)
    heads: int = count(2)
    neurons: int = count(256)
    positions: str = choice("none", "learned", "rotary")
    one_hot: bool = static(default=False)
    residual: bool = static(default=False)
    normed: bool = static(default=False)
    scale: float = number(1.0, above=0)  # standard deviation of initial embeddings

    def __check_init__(self) -> None:
        super().__check_init__()
        name = type(self).__name__
        if self.width % (2 * self.heads):
            raise Invalid(
                f"{name}.width={self.width}: each of {self.heads} heads needs an even width"
            )
        if self.one_hot and (self.residual or self.normed):
            raise Invalid(f"{name}.one_hot: there is no stream to add to or to norm")

    def init(self, task: Task, key: Key[Array, ""]) -> ClauseParams:
        task = lego(self, task)
        embeddings, weights = jr.split(key)
        longest = 2 * task.chains[-1] if self.positions == "learned" else 0
        sizes = (*slots(task), longest)
        wide, spread = self.width, self.scale
        if self.one_hot:  # as torch would start a matrix that reads five one-hot tokens
            wide, spread = 3 * self.width, (3 * CLAUSE * task.vocab) ** -0.5
        tables = gaussians(embeddings, *((size, wide) for size in sizes))
        query, key_, value, out, widen, narrow, unembed = uniforms(
            weights,
            *[(self.width, self.width)] * 4,
            (self.width, self.neurons),
            (self.neurons, self.width),
            (self.width, task.answers),
        )
        return ClauseParams(
            Tables(*(spread * table for table in tables)),
            None if self.one_hot else query,
            None if self.one_hot else key_,
            None if self.one_hot else value,
            out if self.residual else None,
            Linear(widen, jnp.zeros(self.neurons)),
            Linear(narrow, jnp.zeros(self.width)),
            unembed,
            (norm(self.width), norm(self.width), norm(self.width)) if self.normed else None,
        )

    def sizes(self, params: ClauseParams) -> tuple[int, int]:
        return len(params.tables.variable), len(params.tables.value)

    def kept(
        self, params: ClauseParams, sentence: Sentence, first: Int[Array, ""]
    ) -> tuple[Array, Array]:
        """Keys and values, by head."""
        if params.key is None or params.value is None:
            seen = params.tables.columns(self.width, 3 * self.width).clauses(sentence, first)
        else:
            both = jnp.concatenate([params.key, params.value], axis=1)
            if params.norms:
                seen = params.norms[0](params.tables.clauses(sentence, first)) @ both
            else:
                seen = (params.tables @ both).clauses(sentence, first)
        places = first + jnp.arange(len(seen))
        keys, values = map(self._heads, jnp.split(seen, 2, axis=1))
        return jnp.swapaxes(self._turned(keys, places), 0, 1), jnp.swapaxes(values, 0, 1)

    def answered(
        self,
        params: ClauseParams,
        cache: tuple[Array, Array],
        answers: Int[Array, "read 2"],
        places: Int[Array, " read"],
    ) -> Trace:
        here, mixed, weights = self._heard(params, cache, answers, places)
        return Trace(*self._made(params, here, mixed), (weights,))

    def rows(
        self,
        params: ClauseParams,
        inputs: Int[Array, "row length"],
        at: Int[Array, "row read"],
        starts: int | None = None,
    ) -> Trace:
        """All answers of all rows go through the feed-forward layer at once: the gradients of its
        weights are then plain products."""

        def heard(row: Int[Array, " length"]) -> tuple[Array, Array, Array]:
            return self._heard(params, *self._asked(params, row, at.shape[1]))

        here, mixed, weights = jax.vmap(heard)(inputs)
        flat = (x.reshape(-1, x.shape[-1]) for x in (here, mixed))
        outputs, residual = self._made(params, *flat)
        return Trace(
            outputs.reshape(*at.shape, -1),
            jnp.moveaxis(residual.reshape(2, *at.shape, -1), 1, 0),
            (weights,),
        )

    def _heard(
        self,
        params: ClauseParams,
        cache: tuple[Array, Array],
        answers: Int[Array, "read 2"],
        places: Int[Array, " read"],
    ) -> tuple[Array, Array, Array]:
        """The answers, what attention brings to each, and its weights."""
        keys, values = cache
        here = params.tables.answers(answers, places)
        if params.query is None:
            asked = params.tables.columns(0, self.width).answers(answers, places)
        elif params.norms:
            asked = params.norms[0](here) @ params.query
        else:
            asked = (params.tables @ params.query).answers(answers, places)
        queries = jnp.swapaxes(self._turned(self._heads(asked), places), 0, 1)
        scores = queries @ jnp.swapaxes(keys, 1, 2) / (self.width / self.heads) ** 0.5
        seen = jnp.arange(keys.shape[1]) <= places[:, None]
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        mixed = jnp.swapaxes(weights @ values, 0, 1).reshape(len(places), self.width)
        return here, mixed, weights

    def _made(
        self,
        params: ClauseParams,
        here: Float[Array, "read wide"],
        mixed: Float[Array, "read width"],
    ) -> tuple[Float[Array, "read answer"], Float[Array, "2 read width"]]:
        """Outputs, and the stream before and after the feed-forward layer."""
        stream = mixed if params.out is None else here + mixed @ params.out
        read = params.norms[1](stream) if params.norms else stream
        made = params.narrow(jax.nn.relu(params.widen(read)))
        after = stream + made if self.residual else made
        outputs = (params.norms[2](after) if params.norms else after) @ params.unembed
        return outputs, jnp.stack([stream, after])

    def _heads(self, x: Float[Array, "row width"]) -> Float[Array, "row head part"]:
        return x.reshape(len(x), self.heads, -1)

    def _turned(
        self, x: Float[Array, "row head part"], at: Int[Array, " row"]
    ) -> Float[Array, "row head part"]:
        return turned(x, at) if self.positions == "rotary" else x
