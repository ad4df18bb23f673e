"""Analogy: what holds of one entity is concluded of another that resembles it.

Each tuple i has a source s, a target t, an attribute b that both have, and a property c:

    similarity    s r1 → b      t r1 → b
    attribution   s r2 → c
    conclusion                  t r2 → c      (never trained)

Theorem 3's curriculum has its first phase on `separated` and its second on `remaining`; a second
phase on `replayed` goes on with the premises of the first, so that they are not forgotten.

Two hops are an analogy whose source is the bridge itself: see `two_hop`, form "first relation".
"""

from collections.abc import Iterable
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..core.fields import Example, count, number
from ..core.types import Batch, FirstTokens, Task, World

Rows = tuple[Int[Array, " row"], int, Int[Array, " row"], Float[Array, ""] | float]


class Analogy(Task):
    """`s17 r1 → b17`, `t17 r1 → b17`, `s17 r2 → c17`; and then: `t17 r2 → ?`"""

    splits: ClassVar[tuple[str, ...]] = (
        *("train", "similarity", "attribution", "conclusion"),
        *("separated", "remaining", "replayed", "attribution replayed", "sources", "targets"),
    )
    held_out: ClassVar[tuple[str, ...]] = ("conclusion",)
    tuples: int = count(100, doc="how many tuples (s, t, b, c)")
    ratio: float = number(
        1.0, above=0, doc="κ, the weight of a similarity premise relative to an attribution"
    )
    replay: float = number(
        1.0, least=0, most=1, doc="weight of premises that are replayed relative to the others"
    )
    length: ClassVar[int] = 2

    @property
    def vocab(self) -> int:
        """Sources, targets, attributes, properties and two relations."""
        return 4 * self.tuples + 2

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(tuples=4, ratio=3.0))]

    def token_names(self, world: World) -> tuple[str, ...]:
        entities = [f"{kind}{n}" for kind in "stbc" for n in range(self.tuples)]
        return (*entities, "r1", "r2")

    def world(self, key: Key[Array, ""]) -> World:
        """Nothing is drawn: models treat tokens alike before training, so names do not matter."""
        return ()

    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        batch = self._rows(split)
        entities = np.arange(2 * self.tuples)  # sources and targets, which are the first tokens
        return batch._replace(first=FirstTokens(entities, batch.inputs[:, 0]))

    def _rows(self, split: str) -> Batch:
        source, target, attribute, property = _blocks(4, self.tuples)
        shared, owned = self.vocab - 2, self.vocab - 1
        # κ copies of each similarity premise in the paper: as a weight κ need not be whole, and a
        # sweep over it is one program
        source_similarity = (source, shared, attribute, self.ratio)
        target_similarity = (target, shared, attribute, self.ratio)
        attribution = (source, owned, property, 1.0)
        match split:
            case "train":
                return _ask(source_similarity, target_similarity, attribution)
            case "similarity":
                return _ask(source_similarity, target_similarity)  # κ cancels in the weighted mean
            case "attribution":
                return _ask(attribution)
            case "conclusion":
                return _ask((target, owned, property, 1.0))
            # Theorem 3's curriculum: in its first phase no entity occurs with two relations, so
            # that the features of each grow towards a single answer
            case "separated":
                return _ask((target, shared, attribute, 1.0), attribution)
            case "remaining":
                return _ask((source, shared, attribute, 1.0))
            case "replayed":
                similarity = (target, shared, attribute, self.replay)
                attribution = (source, owned, property, self.replay)
                return _ask((source, shared, attribute, 1.0), similarity, attribution)
            case "attribution replayed":
                attribution = (source, owned, property, self.replay)
                return _ask((source, shared, attribute, 1.0), attribution)
            case "sources":
                return _alone(source)
            case _:
                return _alone(target)


def _blocks(kinds: int, size: int) -> list[Int[Array, " row"]]:
    """The tokens of each kind, one kind after the other."""
    return [kind * size + jnp.arange(size) for kind in range(kinds)]


def _ask(*questions: Rows) -> Batch:
    """Rows `entity relation → answer`, read at the relation."""
    batches = []
    for entity, relation, answer, weight in questions:
        inputs = jnp.stack([entity, jnp.full_like(entity, relation)], axis=1)
        at = jnp.ones((len(entity), 1), jnp.int32)
        batches.append(Batch(inputs, at, answer[:, None], jnp.broadcast_to(weight, at.shape)))
    return Batch.concatenate(batches)


def _alone(entity: Int[Array, " row"]) -> Batch:
    """Entities by themselves: what probes of features read."""
    tokens = entity[:, None]
    return Batch(tokens, jnp.zeros_like(tokens), tokens, jnp.ones(tokens.shape))
