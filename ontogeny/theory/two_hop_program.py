"""The smallest templates for two hops, by symmetry: one program for two papers.

minimise |W|_*  such that every trained question prefers its answer by one or more, over all W that
no renaming changes (averaging over renamings never raises the norm). Identity as b → b is program
(2) of arXiv 2509.24653; as b r1 → b it is the two-hop setting of arXiv 2603.05143.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .minimal_norm import Inaccurate, Unsolved, optimise, solver
from .two_hop_symmetry import Question, Structure


class Optimum(NamedTuple):
    """A feasible W, its norm, and a certified bound below the norm of every feasible one."""

    structure: Structure
    values: Float[np.ndarray, " orbit"]
    primal: float
    dual: float

    def margin(self, question: Question) -> float:
        """By how much the right answer to a kind of question leads the best other."""
        return self.structure.margin(self.values, question)

    def margins(self, question: Question) -> dict[str, float]:
        """The same against each kind of rival."""
        candidates = self.structure.candidates(question)
        return dict(zip(candidates.names[1:], candidates.gaps @ self.values, strict=True))


def smallest(structure: Structure, tolerance: float = 1e-9) -> Optimum:
    """The program, for any N and k, with its certificate."""
    if structure.subjects < 2:
        raise Unsolved(
            f"N={structure.subjects}: two hops need at least 2 subjects, or there is nothing to "
            "confuse"
        )
    cvxpy = solver()
    blocks, total = structure.blocks, structure.product(frozenset(structure.sizes))
    # so scaled, all numbers are of order one: a direction of ones sees a sum over all it is of
    scales = [(total / structure.product(block.differ)) ** 0.5 for block in blocks]
    weights = [b.copies * scale / total for b, scale in zip(blocks, scales, strict=True)]
    entries = np.concatenate(
        [np.full(np.prod(b.shape), s) for b, s in zip(blocks, scales, strict=True)]
    )
    values = np.linalg.inv(structure.to_blocks) * entries  # of the orbits, from the scaled blocks
    gaps = np.concatenate([structure.candidates(q).gaps for q in structure.trained]) @ values
    parts = [cvxpy.Variable(block.shape) for block in blocks]
    flat = cvxpy.hstack([cvxpy.vec(part, order="C") for part in parts])
    objective = sum(w * cvxpy.normNuc(part) for w, part in zip(weights, parts, strict=True))
    constraint = gaps @ flat >= 1
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [constraint])
    optimise(problem, tolerance, iterations=200_000)
    if flat.value is None or constraint.dual_value is None:
        raise Inaccurate(f"the solver stopped at {structure}: {problem.status}")
    least = float(np.min(gaps @ flat.value))
    multipliers = np.maximum(constraint.dual_value, 0.0)
    # weak duality: Σ λ bounds the objective once its pull has dual norms within the weights
    pulls = zip(weights, structure.split(multipliers @ gaps), strict=True)
    bound = total * float(multipliers.sum() / max(np.linalg.norm(p, 2) / w for w, p in pulls))
    found = values @ flat.value / least if least > 0 else flat.value
    primal = structure.norm(found) if least > 0 else np.inf
    if not primal - bound <= 1e-5 * bound:
        raise Inaccurate(f"the solver stopped at {structure} ({problem.status}), not at an optimum")
    return Optimum(structure, found, primal, bound)
