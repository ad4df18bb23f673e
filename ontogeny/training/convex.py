"""The theorem's model: templates that solve a convex program, without descending to them."""

import math
from collections.abc import Iterable
from typing import cast

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..core.fields import ConfigError, Example, choice, split
from ..core.types import Model, Moment, Params, Solver, Task
from ..models.embedding_mlp import EmbeddingMLP, Factors, TokenSum
from ..tasks.two_hop import TwoHop
from ..theory.minimal_norm import Norm, Unsolved, minimal_norm
from ..theory.two_hop import with_first_relation, with_identity, without_identity
from ..theory.two_hop_program import smallest
from ..theory.two_hop_symmetry import Form, Structure


class MinimalNorm(Solver):
    """The template matrix of least norm that answers a split with margin one, and its factors.

    Any task whose questions have one answer token, any model that sums token rows.
    """

    # nuclear: program (2) of arXiv 2509.24653. Frobenius: where a merged matrix goes instead
    norm: str = choice("nuclear", "frobenius", doc="which norm of the template matrix is least")
    split: str = split("train", doc="the split that is to be answered with margin one")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = TwoHop(subjects=2)
        return [Example(cls(), task, EmbeddingMLP(width=8)), Example(cls(), task, TokenSum())]

    def seconds(self, task: Task, model: Model) -> float:
        entries = float(task.vocab * task.answers)
        return 0.1 + 1e-5 * entries * math.sqrt(entries)  # as measured with SCS

    def solve(self, now: Moment) -> Params:
        batch = now.batch(self.split)
        if batch.at.shape[1] > 1:
            raise ConfigError("MinimalNorm needs one answer token: tokens_per_entity=1")
        fields = (batch.inputs, batch.at, batch.targets, batch.weights)
        inputs, at, targets, weights = map(np.asarray, fields)
        asked = weights[:, 0] > 0
        counts = np.zeros((len(inputs), now.task.vocab))
        for position in range(inputs.shape[1]):  # up to where the answer is read
            rows = np.flatnonzero(position <= at[:, 0])
            np.add.at(counts, (rows, inputs[rows, position]), 1.0)
        norm = cast(Norm, self.norm)
        try:
            solution = minimal_norm(counts[asked], targets[asked, 0], now.task.answers, norm)
        except Unsolved as error:
            raise ConfigError(str(error)) from error
        return as_params(now, solution.W)


class SymmetricOptimum(Solver):
    """Two hops by symmetry: the optimum for any number of subjects, any complexity and any form.

    With complexity one and identity alone, with the first relation, or none, it is a closed form.
    """

    @classmethod
    def examples(cls) -> Iterable[Example]:
        tasks = [TwoHop(subjects=4, identity=part) for part in (0.0, 1.0)]
        tasks.append(TwoHop(subjects=4, form="first relation"))
        tasks.append(TwoHop(subjects=3, complexity=2, form="own relation"))
        return [Example(cls(), task, EmbeddingMLP(width=24)) for task in tasks]

    def solve(self, now: Moment) -> Params:
        task = now.task
        if not isinstance(task, TwoHop):
            raise ConfigError(f"SymmetricOptimum is about TwoHop, not {type(task).__name__}")
        wanted = {"hops": 2, "tokens_per_entity": 1, "noise": 0.0, "start": "first"}
        wanted |= {"map": "collapsed"} if task.complexity > 1 else {}
        for name, value in wanted.items():
            if getattr(task, name) != value:
                raise ConfigError(f"SymmetricOptimum needs TwoHop.{name}={value!r}")
        if task.identity not in (0.0, 1.0) or task.slice != task.subjects:
            raise ConfigError(
                "SymmetricOptimum needs a bridge for each subject, and identity=0 or 1"
            )
        subjects, bridges, objects = map(np.asarray, now.world.names)
        relations = np.arange(task.symbols, task.vocab)
        templates = np.zeros((task.vocab, task.answers))
        # without identity examples a relation of their own is a token that never occurs
        known = _optimum(task)
        rows = np.concatenate([subjects, bridges, relations])[: len(known)]
        columns = np.concatenate([bridges, objects])
        templates[np.ix_(rows, columns)] = known
        return as_params(now, templates)


def _optimum(task: TwoHop) -> Float[np.ndarray, "token answer"]:
    closed = {"alone": with_identity, "first relation": with_first_relation}
    form = cast(Form, task.form) if task.identity else "none"
    solve = without_identity if form == "none" else closed.get(form)
    if task.complexity == 1 and solve:
        return solve(task.subjects).matrix(task.subjects)
    structure = Structure(task.subjects, task.complexity, form)
    try:
        return structure.matrix(smallest(structure).values)
    except Unsolved as error:
        raise ConfigError(str(error)) from error


def as_params(now: Moment, templates: Float[np.ndarray, "token answer"]) -> Params:
    """Parameters of the moment's model that have these templates, with balanced factors."""
    match now.model:
        case TokenSum():
            return {"templates": jnp.asarray(templates)}
        case EmbeddingMLP(width=width):
            left, sizes, right = np.linalg.svd(templates, full_matrices=False)
            # below that are the solver's rounding errors, not directions of the solution
            rank = int(np.sum(sizes > 1e-6 * sizes[0]))
            if width < rank:
                raise ConfigError(f"EmbeddingMLP.width={width} is below the solution's rank {rank}")
            # balanced factors, U√S and √S Vᵀ: those that gradient flow from zero would reach
            root = np.sqrt(sizes[:rank])
            empty = ((0, 0), (0, width - rank))
            embed = np.pad(left[:, :rank] * root, empty)
            project = np.pad(right[:rank].T * root, empty).T
            return Factors(jnp.asarray(embed), jnp.asarray(project))
    raise ConfigError(f"{type(now.model).__name__} has no templates: use EmbeddingMLP or TokenSum")
