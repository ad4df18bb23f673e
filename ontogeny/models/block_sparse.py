"""The transformer of the theorems on LEGO: one-hot clauses, two blocks of attention, an MLP."""

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from ..core.fields import Example, count, number
from ..core.types import Task, Trace
from ..tasks.lego import Lego, Sentence
from .clauses import ClauseEmbedding, ClauseModel, lego, slots
from .initial import gaussians
from .layers import causal_mask, masked_softmax


class BlockParams(NamedTuple):
    """Attention to predicates and to answers; and what each neuron makes of each slot's tokens."""

    # arXiv 2511.07378, Assumption 3.5: of Q's 25 blocks all but these two stay 0
    q43: Float[Array, "variable variable"]  # Q43: from an answer's variable to a predicate's x'
    q44: Float[Array, "variable variable"]  # Q44: from an answer's variable to an answer's
    mlp: ClauseEmbedding  # W, its last axis going over classes and their neurons


class Cache(NamedTuple):
    """Of every clause: the variable to look it up by, its kind, and what neurons make of it."""

    by: Int[Array, "clause 1"]
    answer: Bool[Array, "clause 1"]
    made: Float[Array, "clause neuron"]


class BlockSparse(ClauseModel):
    """Every class j that may be answered has m neurons of its own:

        F_j = min(B, Σ_r sReLU(⟨W_jr, Σ_k a_k Z_k⟩ + b)),   b = σ₀ log d, B = `clip` log d

    and the attention a is a softmax of Q43 and Q44 alone, at first 0. σ₀ = d^(-1/2).
    """

    neurons_per_class: int = count(8, doc="m: neurons of each class")
    power: int = count(4, least=2, doc="q: power of the smooth ReLU below its knee")
    knee: float = number(0.5, above=0, doc="ρ: where the smooth ReLU becomes straight")
    clip: float = number(4.0, above=0, doc="C_B: outputs are at most this times log d")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(neurons_per_class=4), Lego(action="S3", chain=3, variables=10, rows=6))]

    def init(self, task: Task, key: Key[Array, ""]) -> BlockParams:
        task = lego(self, task)
        # of the outputs of eq. 3 only variables (slot 4) and values (slot 5): blanks are the same
        # in all answers. The paper's softmax goes over all d tokens, here over those of a slot
        wide = task.answers * self.neurons_per_class
        tables = gaussians(key, *((size, wide) for size in (*slots(task), 0)))
        # Assumption 3.3: σ₀ = d^(-1/2), and Q = 0
        spread = task.vocab**-0.5
        nothing = jnp.zeros((task.variables, task.variables))
        return BlockParams(nothing, nothing, ClauseEmbedding(*(spread * table for table in tables)))

    def sizes(self, params: BlockParams) -> tuple[int, int]:
        return len(params.mlp.variable), len(params.mlp.value)

    def cache(self, params: BlockParams, sentence: Sentence, first: Int[Array, ""]) -> Cache:
        predicates, answers = sentence
        by = jnp.concatenate([predicates[:, 2:], answers[:, :1]])
        answer = jnp.arange(len(by))[:, None] >= len(predicates)
        return Cache(by, answer, params.mlp.clauses(sentence, first))

    def answer(
        self,
        params: BlockParams,
        cache: Cache,
        answers: Int[Array, "read 2"],
        positions: Int[Array, " read"],
    ) -> Trace:
        asked, by = answers[:, :1], cache.by[:, 0]
        scores = jnp.where(cache.answer[:, 0], params.q44[asked, by], params.q43[asked, by])
        weights = masked_softmax(scores, causal_mask(len(by), positions))
        size = 1.0 + sum(len(params.mlp[slot]) for slot in (0, 1, 4))  # d, with the blank
        # neurons are linear in a clause: each clause is read once, and mixed afterwards
        # eq. 13; the bias σ₀ log d is fixed (Assumption 3.3), and once, as weights sum to one
        mixed = weights @ cache.made + size**-0.5 * jnp.log(size)
        active = smooth_relu(mixed, self.power, self.knee)
        active = active.reshape(len(positions), -1, self.neurons_per_class)
        # eq. 14, clipped (Assumption 3.4): an output that has reached B has no gradient any more
        outputs = jnp.minimum(jnp.sum(active, axis=2), self.clip * jnp.log(size))
        return Trace(outputs, mixed[None], (weights[None],))


def smooth_relu(
    x: Float[Array, "..."], power: int, knee: Float[Array, ""] | float
) -> Float[Array, "..."]:
    """0, then x^q / (q ρ^(q-1)) up to ρ, then straight: continuous with its slope."""
    # Definition 3.4 where it is continuous: 0 up to 0, though the text seems to print up to -ρ
    bent = knee / power * (jax.nn.relu(x) / knee) ** power
    return jnp.where(x < knee, bent, x - knee * (1 - 1 / power))


def feature_magnitudes(
    params: BlockParams, neurons_per_class: int
) -> tuple[Float[Array, "class neuron action"], Float[Array, "class neuron value"]]:
    """V_jr(g) and V_jr(y): what the neurons of each value make of an action and of a value."""
    variables = len(params.mlp.variable)

    def of(table: Float[Array, "token wide"]) -> Float[Array, "class neuron token"]:
        # Definition 6.2. Classes are first the variables, then the values, of which these are
        return table.T.reshape(-1, neurons_per_class, len(table))[variables:]

    return of(params.mlp.action), of(params.mlp.value)
