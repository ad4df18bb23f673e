"""Two hops: what one relation reaches, the next starts from. The two are never trained together.

A subject s reaches a bridge b by a relation of the first family, and b an object o by one of the
second. The identity bridge says of b only that it is b:

    first hop     s r1 → b
    second hop    b r2 → o
    identity      b → b               (or b r1 → b, or b r0 → b: see `form`)
    composed      s r1 r2 → o         (not trained, unless one asks for it)
    skipped       s r2 → o            (not trained)

With complexity k each family has k relations and bridges come in k slices, one to a relation of the
first family; k objects can then be reached from a subject. More hops add families in between.

A composed question is longer than any that is trained. A model that learns a vector for each
position then reads it where it was never trained, unless `start` says otherwise.
"""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, choice, count, number
from ..core.types import Batch, FirstTokens, Task

Indices = Int[np.ndarray, " row"]


class World(NamedTuple):
    """Drawn once per run: which entity has which name, and what training says of each bridge.

    Bridges have uniform draws that fields are compared with: the fields are traced, so that one
    program runs a sweep over them, and a larger fraction contains the smaller ones.
    """

    names: tuple[Int[Array, " entity"], ...]  # by family, subjects first
    with_identity: Float[Array, " bridge"]  # its identity is in training if below `identity`,
    noisy: Float[Array, " bridge"]  # with a wrong answer if below `noise`,
    shift: Int[Array, " bridge"]  # which is the bridge so many further on;
    in_training: Float[Array, " bridge"]  # its compositions are trained if below `in_training`


class Rows(NamedTuple):
    """Questions `entity relations → answer`, by entity, before they become tokens."""

    entity: Int[Array, " row"]
    relations: Int[np.ndarray, "row relation"]
    answer: Int[Array, " row"]
    weight: Float[Array, " row"]


class TwoHop(Task):
    """`s7 r1 → b7`, `b7 r2 → o7`, `b7 → b7` (the identity bridge); then: `s7 r1 r2 → ?`"""

    splits: ClassVar[tuple[str, ...]] = (
        *("train", "first hop", "last hop", "composed", "skipped"),
        *("subjects", "bridges", "restated"),
        *("train with compositions", "composed in training", "composed not in training"),
        *("with identity", "without identity", "wrong identity"),
    )
    held_out: ClassVar[tuple[str, ...]] = ("composed", "skipped")
    subjects: int = count(20, least=2, doc="N, how many subjects")
    complexity: int = count(1, doc="k, how many relations each hop has")
    bridges: int = count(
        0, least=0, doc="bridges in each family between; 0 stands for N k, one for each s r1"
    )
    hops: int = count(2, least=2, doc="how many relations a composition takes")
    map: str = choice(
        "collapsed", "shifted", doc="whether the object depends on the bridge's slice: if shifted"
    )
    form: str = choice(
        *("alone", "first relation", "own relation"),
        doc="of identity examples: b → b, b r1 → b, or b r0 → b",
    )
    start: str = choice(
        *("first", "every", "last"),
        doc="the position at which a question starts, behind blanks: the first; in training each "
        "that leaves room for it, in turn; or the one from which it ends at the last position",
    )
    tokens_per_entity: int = count(1, doc="how many tokens an entity is written with")
    identity: float = number(
        1.0, least=0, most=1, doc="fraction of bridges whose identity is in training"
    )
    noise: float = number(
        0.0, least=0, most=1, doc="fraction of those identities that have a wrong answer"
    )
    ratio: float = number(1.0, above=0, doc="κ, the weight of first hops and identities")
    in_training: float = number(
        0.5, least=0, most=1, doc="fraction of bridges in the split `train with compositions`"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [
            Example(cls(subjects=40, complexity=2, identity=0.5, noise=0.5)),
            Example(cls(subjects=40, tokens_per_entity=2, hops=3, identity=0.5, noise=0.5)),
            Example(
                cls(subjects=40, form="first relation", start="every", identity=0.5, noise=0.5)
            ),
            Example(cls(subjects=40, tokens_per_entity=2, start="last", identity=0.5, noise=0.5)),
        ]

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.bridges % self.complexity:
            raise ConfigError(
                f"TwoHop.bridges={self.bridges} cannot be cut into complexity={self.complexity} "
                "equal slices"
            )

    # -- the entities

    @property
    def slice(self) -> int:
        """How many bridges a relation of the first family reaches."""
        return self.bridges // self.complexity or self.subjects

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many entities each family has: subjects, bridges of each hop between, objects."""
        return (self.subjects, *[self.slice * self.complexity] * self.hops)

    def numbers(self, family: int) -> range:
        """The numbers of a family's entities: bridges come first, objects next, subjects last."""
        # what can be an answer comes first: models have outputs for these alone
        start = sum(self.sizes[1:family] if family else self.sizes[1:])
        return range(start, start + self.sizes[family])

    @property
    def symbols(self) -> int:
        """How many tokens entities are written with: the fewest that tell all of them apart."""
        entities = sum(self.sizes)
        return next(n for n in range(2, entities + 1) if n**self.tokens_per_entity >= entities)

    @property
    def answers(self) -> int:
        return sum(self.sizes[1:]) if self.tokens_per_entity == 1 else self.symbols

    @property
    def vocab(self) -> int:
        """Entities, relations family by family, the identity's own if it has one, and the blank if
        questions have any before them."""
        relations = self.hops * self.complexity + (self.form == "own relation")
        return self.symbols + relations + (self.start != "first")

    @property
    def length(self) -> int:
        """A composed question, and all but the last token of its answer."""
        return 2 * self.tokens_per_entity + self.hops - 1

    # -- the facts

    def relation(self, hop: int, which: Indices) -> Indices:
        """The tokens of a hop's relations."""
        return self.symbols + (hop - 1) * self.complexity + which

    def reached(self, hop: int, entity: Indices, which: Indices) -> Indices:
        """Where a hop's relations lead, as indices in the next family."""
        # the paper's words collapse the bridge modulo N, so that the object forgets r1. Shifted, it
        # needs both relations; no sum of token rows can add modulo k
        if hop > 1 and self.map == "shifted":
            return np.asarray((entity + which * self.slice) % self.sizes[hop])
        return np.asarray(which * self.slice + entity % self.slice)

    def paths(self) -> tuple[list[Indices], list[Indices]]:
        """Every composition: the entities visited and the relations taken."""
        entity, *which = (
            axis.ravel() for axis in np.indices((self.subjects, *[self.complexity] * self.hops))
        )
        visited = [entity]
        for hop, taken in enumerate(which, start=1):
            visited.append(self.reached(hop, visited[-1], taken))
        return visited, which

    def token_names(self, world: World) -> tuple[str, ...]:
        """`s7`, `b7` and `o7` in the order of the facts, whatever tokens this world has drawn for
        them; `r2_0` is the first relation of the second hop, if it has several."""
        names = [str(symbol) for symbol in range(self.symbols)]  # of which entities are written
        for family, tokens in enumerate(world.names if self.tokens_per_entity == 1 else ()):
            between = "b" if self.hops == 2 else f"b{family}_"
            kind = {0: "s", self.hops: "o"}.get(family, between)
            for n, token in enumerate(np.asarray(tokens)):
                names[token] = f"{kind}{n}"
        for hop in range(1, self.hops + 1):
            several = [f"r{hop}_{which}" for which in range(self.complexity)]
            names += several if self.complexity > 1 else [f"r{hop}"]
        names += ["r0"] if self.form == "own relation" else []
        return (*names, *(["_"] if self.start != "first" else []))

    def world(self, key: Key[Array, ""]) -> World:
        """Draws names, and which bridges have an identity, a wrong one, trained compositions."""
        names, fractions, shifts = jr.split(key, 3)
        between = sum(self.sizes[1:-1])
        orders = jr.uniform(names, (sum(self.sizes),))
        named = tuple(
            block.start + jnp.argsort(orders[block.start : block.stop])
            for block in (self.numbers(family) for family in range(self.hops + 1))
        )
        identity, noisy, in_training = jr.uniform(fractions, (3, between))
        # from 1 on: a wrong answer is never right by chance
        shift = jr.randint(shifts, (between,), 1, self.sizes[1])
        return World(named, identity, noisy, shift, in_training)

    # -- the questions

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        match split:
            case "train":
                return self._batch(self._facts(world), trained=True)
            case "train with compositions":
                return self._batch(
                    [*self._facts(world), self._composed(world, "composed in training")],
                    trained=True,
                )
            case "first hop" | "restated" | "subjects" | "bridges":
                return self._batch([self._first(world, split)])
            case _:
                return self._batch([self._composed(world, split)])

    def _facts(self, world: World) -> list[Rows]:
        """Every hop of every entity, and the identities of bridges."""
        facts = []
        for hop in range(1, self.hops + 1):
            entity, which = np.indices((self.sizes[hop - 1], self.complexity)).reshape(2, -1)
            answer = self.reached(hop, entity, which)
            facts.append(self._ask(world, (hop - 1, entity), [(hop, which)], (hop, answer)))
        # s r1 → b and b r1 → b are the similarity premises of an analogy whose source is b
        weight = self.ratio * jnp.ones(len(facts[0].entity))
        facts[0] = facts[0]._replace(weight=weight)
        size = self.sizes[1]
        for family in range(1, self.hops):
            bridge = np.arange(size)
            own = slice((family - 1) * size, family * size)
            said = jnp.where(
                world.noisy[own] < self.noise, (bridge + world.shift[own]) % size, bridge
            )
            facts.append(
                self._identity(world, family, bridge)._replace(
                    answer=world.names[family][said],
                    weight=self.ratio * (world.with_identity[own] < self.identity),
                )
            )
        return facts

    def _identity(self, world: World, family: int, bridge: Indices) -> Rows:
        """Bridges restated, in the form that the examples have."""
        own = np.full_like(bridge, self.complexity)  # one past the last relation of the last family
        relations = {
            "alone": [],
            "first relation": [(family, bridge // self.slice)],
            "own relation": [(self.hops, own)],
        }[self.form]
        return self._ask(world, (family, bridge), relations, (family, bridge))

    def _first(self, world: World, split: str) -> Rows:
        """All pairs of a subject and a first relation: as a question, or one or both ends of it."""
        entity, which = np.indices((self.subjects, self.complexity)).reshape(2, -1)
        bridge = self.reached(1, entity, which)
        match split:
            case "first hop":
                return self._ask(world, (0, entity), [(1, which)], (1, bridge))
            case "restated":
                return self._identity(world, 1, bridge)
            case "subjects":
                return self._ask(world, (0, entity), [], (1, bridge))
            case _:
                return self._ask(world, (1, bridge), [], (1, bridge))

    def _composed(self, world: World, split: str) -> Rows:
        """All compositions; those whose first bridge has a property; the same without the relations
        before the last; or the last hop of each."""
        visited, which = self.paths()
        first, last = (0, visited[0]), (self.hops, visited[-1])
        if split == "last hop":
            before = (self.hops - 1, visited[-2])
            return self._ask(world, before, [(self.hops, which[-1])], last)
        if split == "skipped":
            if self.complexity > 1 and self.map == "shifted":
                raise ConfigError(
                    "TwoHop: without its first relation a question has no one answer, since the "
                    "map is 'shifted' and complexity is above 1: use the split 'composed'"
                )
            return self._ask(world, first, [(self.hops, which[-1])], last)
        rows = self._ask(world, first, list(enumerate(which, start=1)), last)
        in_training = world.in_training[visited[1]] < self.in_training
        identity = world.with_identity[visited[1]] < self.identity
        wrong = identity & (world.noisy[visited[1]] < self.noise)
        chosen = {
            "composed in training": in_training,
            "composed not in training": ~in_training,
            "with identity": identity & ~wrong,
            "without identity": ~identity,
            "wrong identity": wrong,
        }
        return rows._replace(weight=chosen.get(split, rows.weight) * 1.0)

    def _ask(
        self,
        world: World,
        entity: tuple[int, Indices],
        relations: list[tuple[int, Indices]],
        answer: tuple[int, Indices],
    ) -> Rows:
        """Questions about entities of one family, answered by entities of another."""
        tokens = [self.relation(hop, which) for hop, which in relations]
        return Rows(
            world.names[entity[0]][entity[1]],
            # without relations this is [row, 0], which an empty list does not say
            np.array(tokens, dtype=np.int32).reshape(len(tokens), len(entity[1])).T,
            world.names[answer[0]][answer[1]],
            jnp.ones(len(entity[1])),
        )

    def _batch(self, kinds: list[Rows], trained: bool = False) -> Batch:
        """Rows as tokens, filled up to one length: before them as `start` says, and behind the
        position where the answer is read, which models, being causal, do not see."""
        own = 2 * self.tokens_per_entity - 1  # of the entity, and of its answer all but the last
        widths = [own + rows.relations.shape[1] for rows in kinds]
        longest = max(widths) if self.start == "first" else self.length
        batches = []
        for rows, width in zip(kinds, widths, strict=True):
            targets, room = self._tokens(rows.answer), longest - width
            # an answer of several tokens is read token by token, the right ones before it given
            question = jnp.concatenate([self._tokens(rows.entity), rows.relations], axis=1)
            tokens = jnp.concatenate([question, targets[:, :-1]], axis=1)
            starts = {"every": range(room + 1 if trained else 1), "last": (room,)}
            turns = starts.get(self.start, (0,))
            for before in turns:
                # the last token is the blank, if there is one
                inputs = jnp.pad(tokens, ((0, 0), (before, 0)), constant_values=self.vocab - 1)
                inputs = jnp.pad(inputs, ((0, 0), (0, room - before)))
                reads = np.arange(before + width - self.tokens_per_entity, before + width)
                # however many turns it has, a fact counts once
                weights = jnp.broadcast_to(rows.weight[:, None] / len(turns), targets.shape)
                at = jnp.broadcast_to(reads, targets.shape)
                batches.append(Batch(inputs, at, targets, weights))
        batch = Batch.concatenate(batches)
        # every row begins with an entity's (first) token, or with the blank
        begin = np.array([*range(self.symbols), *([self.vocab - 1] * (self.start != "first"))])
        which = jnp.minimum(batch.inputs[:, 0], self.symbols)
        return batch._replace(first=FirstTokens(begin, which))

    def _tokens(self, entity: Int[Array, " row"]) -> Int[Array, "row token"]:
        """The tokens of entities: their number in base `symbols`, the highest digit first."""
        powers = self.symbols ** np.arange(self.tokens_per_entity)[::-1]
        return entity[:, None] // powers % self.symbols
