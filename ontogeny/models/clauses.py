"""Models that read LEGO clause by clause: an answer looks up what the next one needs."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, choice, count, flag, number
from ..core.types import Batch, Model, Params, Task, Trace
from ..tasks.lego import CLAUSE, Lego, Sentence, parsed
from .initial import gaussians, norm, uniforms
from .layers import Linear, Norm
from .products import attended, product
from .rotary import turned

Cache = Any  # arrays of what is kept of every clause, whose axis is the last but one
QUERY, KEY, VALUE = range(3)


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

        def follow(written: Written, place: Int[Array, ""]) -> tuple[Written, Array]:
            written = self.follow(params, written, place)
            return written, written.answer

        chain = len(sentence.predicates)
        _, found = jax.lax.scan(follow, self.begin(params, sentence), chain + jnp.arange(chain))
        return found

    def begin(self, params: Params, sentence: Sentence) -> "Written":
        """The predicates and the first answer, with room for as many."""
        predicates, answers = sentence
        given = self.kept(params, Sentence(predicates, answers[:0]), jnp.zeros((), int))
        cache = jax.tree.map(lambda x: jnp.concatenate([x, jnp.zeros_like(x)], axis=-2), given)
        return Written(cache, answers[0])

    def follow(self, params: Params, written: "Written", place: Int[Array, ""]) -> "Written":
        """Reads the last answer at its place, and gives the next."""
        cache, answer = written
        nothing = jnp.zeros((0, 3), int)
        new = self.kept(params, Sentence(nothing, answer[None]), place)
        cache = jax.tree.map(
            lambda old, x: jax.lax.dynamic_update_slice_in_dim(old, x, place, -2), cache, new
        )
        outputs = self.answered(params, cache, answer[None], place[None]).outputs[0]
        variables, _ = self.sizes(params)
        variable, value = jnp.argmax(outputs[:variables]), jnp.argmax(outputs[variables:])
        return Written(cache, jnp.stack([variable, value]))


class Written(NamedTuple):
    """A sentence as far as it is written: what is kept of its clauses, and the last answer."""

    cache: Cache
    answer: Int[Array, "2"]


def lego(model: Model, task: Task) -> Lego:
    """The task, if it is one that such a model can read."""
    if not isinstance(task, Lego):
        raise ConfigError(f"{type(model).__name__} reads the clauses of Lego, not {task}")
    return task


def slots(task: Lego) -> tuple[int, ...]:
    """How many tokens may stand in each slot of a clause."""
    return (task.variables, task.group.order, task.variables, task.variables, task.values)


def sentences_of(task: Lego, batch: Batch) -> Sentence:
    """The clauses of every row."""
    reads = batch.at.shape[1]
    return jax.vmap(lambda row: parsed(row, reads, task.variables, task.values))(batch.inputs)


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

    def parts(self, width: int) -> list["Tables"]:
        """Every row in parts of a width."""
        cut = [jax.lax.split(table, [width] * (table.shape[1] // width), 1) for table in self]
        return [Tables(*part) for part in zip(*cut, strict=True)]

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
    mlp_in: Linear
    mlp_out: Linear
    unembed: Float[Array, "width answer"]
    norms: tuple[Norm, Norm, Norm] | None


class ClauseTransformer(ClauseModel):
    """A one-layer transformer whose tokens are clauses.

    A clause is the sum of an embedding for each of its slots; or one-hot, its tokens side by side:
    then queries, keys and values have rows of their own for every token. Without norms, whatever is
    linear is done to the tables of embeddings, not to clauses.
    """

    width: int = count(128)
    heads: int = count(2, most=1000)
    neurons: int = count(256)
    positions: str = choice("none", "learned", "rotary")
    one_hot: bool = flag(False)
    residual: bool = flag(False)
    normed: bool = flag(False)
    scale: float = number(1.0, above=0)  # standard deviation of initial embeddings

    def __check_init__(self) -> None:
        super().__check_init__()
        name = type(self).__name__
        if self.width % (2 * self.heads):
            raise ConfigError(
                f"{name}.width={self.width}: each of {self.heads} heads needs an even width"
            )
        if self.one_hot and (self.residual or self.normed):
            raise ConfigError(f"{name}.one_hot: there is no stream to add to or to norm")

    def init(self, task: Task, key: Key[Array, ""]) -> ClauseParams:
        task = lego(self, task)
        embeddings, weights = jr.split(key)
        longest = 2 * task.chains[-1] if self.positions == "learned" else 0
        sizes = (*slots(task), longest)
        wide, spread = self.width, self.scale
        if self.one_hot:  # as torch would start a matrix that reads five one-hot tokens
            wide, spread = 3 * self.width, (3 * CLAUSE * task.vocab) ** -0.5
        tables = gaussians(embeddings, *((size, wide) for size in sizes))
        query, key_, value, out, mlp_in, mlp_out, unembed = uniforms(
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
            Linear(mlp_in, jnp.zeros(self.neurons)),
            Linear(mlp_out, jnp.zeros(self.width)),
            unembed,
            (norm(self.width), norm(self.width), norm(self.width)) if self.normed else None,
        )

    def sizes(self, params: ClauseParams) -> tuple[int, int]:
        return len(params.tables.variable), len(params.tables.value)

    def kept(
        self, params: ClauseParams, sentence: Sentence, first: Int[Array, ""]
    ) -> list[tuple[Array, Array]]:
        """Keys and values, by head."""

        def clauses(tables: Tables) -> Array:
            return tables.clauses(sentence, first)

        places = first + jnp.arange(len(sentence.predicates) + len(sentence.answers))
        keys = [self._turned(key, places) for key in self._by_head(params, KEY, clauses)]
        return list(zip(keys, self._by_head(params, VALUE, clauses), strict=True))

    def answered(
        self,
        params: ClauseParams,
        cache: list[tuple[Array, Array]],
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
        cache: list[tuple[Array, Array]],
        answers: Int[Array, "read 2"],
        places: Int[Array, " read"],
    ) -> tuple[Array, Array, Array]:
        """The answers, what attention brings to each, and its weights."""

        def asking(tables: Tables) -> Array:
            return tables.answers(answers, places)

        queries = [self._turned(query, places) for query in self._by_head(params, QUERY, asking)]
        seen = jnp.arange(len(cache[0][0])) <= places[:, None]
        found = [attended(query, *head, seen) for query, head in zip(queries, cache, strict=True)]
        mixed, weights = zip(*found, strict=True)
        return asking(params.tables), jnp.concatenate(mixed, axis=1), jnp.stack(weights)

    def _by_head(
        self,
        params: ClauseParams,
        role: int,
        clauses: Callable[[Tables], Float[Array, "clause wide"]],
    ) -> list[Float[Array, "clause part"]]:
        """Queries, keys or values of clauses."""
        weight = (params.query, params.key, params.value)[role]
        part = self.width // self.heads
        if weight is None:
            tables = params.tables.parts(part)[role * self.heads : (role + 1) * self.heads]
        elif params.norms:
            return jnp.split(params.norms[0](clauses(params.tables)) @ weight, self.heads, axis=1)
        else:
            tables = (params.tables @ weight).parts(part)
        return [clauses(table) for table in tables]

    def _made(
        self,
        params: ClauseParams,
        here: Float[Array, "read wide"],
        mixed: Float[Array, "read width"],
    ) -> tuple[Float[Array, "read answer"], Float[Array, "2 read width"]]:
        """Outputs, and the stream before and after the feed-forward layer."""
        stream = mixed if params.out is None else here + mixed @ params.out
        read = params.norms[1](stream) if params.norms else stream
        hidden = jax.nn.relu(product(read, params.mlp_in.weight) + params.mlp_in.bias)
        made = product(hidden, params.mlp_out.weight) + params.mlp_out.bias
        after = stream + made if self.residual else made
        outputs = product(params.norms[2](after) if params.norms else after, params.unembed)
        return outputs, jnp.stack([stream, after])

    def _turned(
        self, x: Float[Array, "row part"], at: Int[Array, " row"]
    ) -> Float[Array, "row part"]:
        return turned(x, at) if self.positions == "rotary" else x
