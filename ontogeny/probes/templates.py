"""Logit templates: the logits of each token alone, and how far their norm is from the least.

Rows are subjects, bridges and relations, columns bridges and objects, in the order of the facts:
a fact lies on a diagonal.
"""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, split
from ..core.types import Moment, Probe
from ..tasks.two_hop import TwoHop
from ..theory.margin import gaps
from ..theory.two_hop import (
    Symmetric,
    with_first_relation,
    with_identity,
    without_identity,
)


class _OfTemplates(Probe):
    @classmethod
    def examples(cls) -> Iterable[Example]:
        from ..models.embedding_mlp import EmbeddingMLP

        return [Example(cls(), TwoHop(subjects=4), EmbeddingMLP(width=8))]


class LogitTemplates(_OfTemplates):
    """The logits of each token alone, as a matrix: a heat map."""

    def __call__(self, now: Moment) -> Float[Array, "token answer"]:
        return templates(now)


class SingularValues(_OfTemplates):
    """The singular values of the templates, the largest first."""

    unit = "size"

    def __call__(self, now: Moment) -> Float[Array, " rank"]:
        return jnp.linalg.svd(templates(now), compute_uv=False)


class EffectiveRank(_OfTemplates):
    """The exponential of the entropy of the normalised singular values."""

    unit = "size"

    def __call__(self, now: Moment) -> Float[Array, ""]:
        sizes = jnp.linalg.svd(templates(now), compute_uv=False)
        shares = sizes / jnp.sum(sizes)
        return jnp.exp(jnp.sum(jax.scipy.special.entr(shares)))


class NormGap(_OfTemplates):
    """The duality gap of the templates' nuclear norm, as a fraction of it; 1 if not all is fitted.

    The norm per unit of margin is a feasible value of the convex program; the weights that the loss
    gives to wrong answers are multipliers of its dual, whose value bounds every feasible one from
    below. A gap of 0 certifies the optimum, and with it the KKT conditions (Assumption 3).
    """

    unit = "fraction"

    split: str = split("train", doc="the split that the program's constraints are of")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch, tokens = now.batch(self.split), jnp.arange(now.task.vocab)
        matrix = _alone(now, tokens)
        inside = jnp.arange(batch.inputs.shape[1]) <= batch.at
        counts = jnp.sum(inside[..., None] * (batch.inputs[..., None] == tokens), axis=1) * 1.0
        margins = gaps(counts @ matrix, batch.targets[:, 0])
        counted = jnp.where(batch.weights > 0, margins, jnp.inf)
        margin = jnp.min(counted)
        weights = jax.nn.softmax(-counted, axis=(0, 1))
        own = jax.nn.one_hot(batch.targets[:, 0], now.task.answers)
        # the dual: max Σ multipliers so that the spectral norm (dual to the nuclear) of their
        # gradient is at most one; the weights sum to one, so that scaling them gives 1 / norm
        gradient = counts.T @ (own * jnp.sum(weights, axis=1, keepdims=True) - weights)
        feasible = jnp.sum(jnp.linalg.svd(matrix, compute_uv=False)) / margin
        bound = 1 / jnp.linalg.norm(gradient, 2)
        return jnp.where(margin > 0, 1 - bound / feasible, 1.0)


# ------------------------------------------------------------- beside the theory of complexity one


class SymmetricPart(_OfTemplates):
    """The templates' twelve numbers, a₁ a₂ b₁ b₂ c₁ c₂ d₁ d₂ α₁ α₂ β₁ β₂, scaled to a₁ = 1."""

    def __call__(self, now: Moment) -> Float[Array, " twelve"]:
        numbers = jnp.stack(symmetric_part(templates(now), _structured(self, now).subjects))
        # at the optimum a₁ ≥ 1 is tight, so this is the margin's own unit
        return numbers / numbers[0]


class Asymmetry(_OfTemplates):
    """The fraction of the templates' squared norm outside the symmetric form (Lemma 1)."""

    unit = "fraction"

    def __call__(self, now: Moment) -> Float[Array, ""]:
        matrix, N = templates(now), _structured(self, now).subjects
        rest = matrix - symmetric_matrix(jnp.stack(symmetric_part(matrix, N)), N)
        return jnp.sum(rest**2) / jnp.sum(matrix**2)


class RowSums(_OfTemplates):
    """The fraction of the templates' squared norm that is in row means (Assumption 2: none)."""

    unit = "fraction"

    def __call__(self, now: Moment) -> Float[Array, ""]:
        matrix = templates(now)
        means = jnp.mean(matrix, axis=1)
        return matrix.shape[1] * jnp.sum(means**2) / jnp.sum(matrix**2)


class PredictedTemplates(_OfTemplates):
    """The templates that solve the convex program, whatever the model's are."""

    def __call__(self, now: Moment) -> Float[Array, "token answer"]:
        task = _structured(self, now)
        solve = with_identity if task.form == "alone" else with_first_relation
        bridged, plain = solve(task.subjects), without_identity(task.subjects)
        # `identity` may be swept, so both solutions are part of the program
        theory = jnp.where(jnp.asarray(task.identity > 0), jnp.array(bridged), jnp.array(plain))
        return symmetric_matrix(theory, task.subjects)


class TheoryCorrelation(_OfTemplates):
    """The correlation of the templates with those that solve the program, over entries."""

    unit = "cosine"

    def __call__(self, now: Moment) -> Float[Array, ""]:
        theory = PredictedTemplates()(now)
        return jnp.corrcoef(jnp.ravel(templates(now)), jnp.ravel(theory))[0, 1]


def templates(now: Moment) -> Float[Array, "token answer"]:
    """The matrix whose rows are the logits of one token alone."""
    task = now.task
    if not isinstance(task, TwoHop) or task.tokens_per_entity > 1:
        raise ConfigError("templates are about TwoHop with tokens_per_entity=1")
    relations = task.symbols + np.arange(task.hops * task.complexity)
    names = now.world.names
    rows = jnp.concatenate([*names[: task.hops], relations])
    return _alone(now, rows)[:, jnp.concatenate(names[1:])]


def _alone(now: Moment, tokens: Array) -> Float[Array, "token answer"]:
    """The outputs for sequences of one token, read there."""
    run = jax.vmap(now.model, (None, 0, None))
    return run(now.params, tokens[:, None], jnp.zeros(1, jnp.int32)).outputs[:, 0]


def symmetric_part(matrix: Float[Array, "token answer"], N: int) -> Symmetric:
    """The twelve numbers nearest to a matrix: means over entries that renaming exchanges."""
    numbers = []
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        block = matrix[row * N : (row + 1) * N, column * N : (column + 1) * N]
        diagonal = jnp.trace(block) / N
        rest = (jnp.sum(block) - jnp.trace(block)) / (N * (N - 1))
        numbers += [diagonal - rest, rest]
    # (relation, bridges or objects, N): α is what a relation says of bridges, β of objects
    relations = jnp.mean(matrix[2 * N :].reshape(2, 2, N), axis=-1)
    return Symmetric(*numbers, *relations[:, 0], *relations[:, 1])


def symmetric_matrix(part: Float[Array, " twelve"], N: int) -> Float[Array, "token answer"]:
    """The matrix of twelve numbers, as a sum of the theory's: it is linear in them."""
    basis = np.stack([Symmetric(*unit).matrix(N) for unit in np.eye(len(Symmetric._fields))])
    return jnp.tensordot(part, jnp.asarray(basis), axes=1)


def _structured(probe: Probe, now: Moment) -> TwoHop:
    match now.task:
        case (
            TwoHop(complexity=1, hops=2, tokens_per_entity=1, form="alone" | "first relation") as t
        ):
            return t
    raise ConfigError(
        f"{type(probe).__name__} is about TwoHop with two hops of complexity one, and identity "
        "alone or with the first relation"
    )
