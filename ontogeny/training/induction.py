"""An induction head constructed by hand."""

from collections.abc import Iterable

import jax.numpy as jnp

from ..core.fields import ConfigError, Example, number
from ..core.types import Moment, Params, Solver
from ..models.induction import InductionPair
from ..models.induction import Params as Pair
from ..tasks.triggers import Triggers


class BuiltHead(Solver):
    """Three associative memories, sums of outer products of the model's random embeddings:

    W_K¹ = Σ p_t p_{t-1}ᵀ    W_K² = Σ e_q (W_O¹ W_V¹ e_q)ᵀ    W_O² = Σ u_z (W_V² e_z)ᵀ
    """

    strength: float = number(30.0, above=0, doc="the mean score of an associated pair")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        text = Triggers(source="zipf 9", length=24, triggers=2, rows=16, test_rows=16)
        return [Example(cls(), text, InductionPair(width=16))]

    def solve(self, now: Moment) -> Params:
        if not isinstance(now.model, InductionPair) or not isinstance(now.task, Triggers):
            raise ConfigError("BuiltHead builds an InductionPair for Triggers")
        p: Pair = now.params
        own = p.tokens[now.task.commonest] if now.task.fixed else p.tokens
        scores = self.strength * now.model.width**0.5  # which attention divides by √d
        # the first position has none before it and attends to itself, so that it acts as if it
        # followed its own token: W_K² is made to repel triggers from there
        return p._replace(
            key1=_memory(p.positions[1:], p.positions[:-1], scores),
            key2=_memory(own, own @ (p.out1 @ p.value1).T, scores)
            - _memory(own, jnp.broadcast_to(p.positions[0], own.shape), scores),
            out2=_memory(p.unembed, p.tokens @ p.value2.T, self.strength),
        )


def _memory(answers: jnp.ndarray, keys: jnp.ndarray, score: float) -> jnp.ndarray:
    """Σ u eᵀ, with the mean score of a pair as wanted."""
    sizes = jnp.mean(jnp.sum(answers**2, axis=1) * jnp.sum(keys**2, axis=1))
    return score / sizes * answers.T @ keys
