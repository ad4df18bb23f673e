"""The smallest logit matrix that answers a training set with margin one (arXiv 2509.24653, (2)).

The logits of a sequence are the sum of its tokens' rows of W. Gradient descent on the factors of
W = E P seeks the smallest nuclear norm, descent on W itself the smallest Frobenius norm:

    minimise |W|  over W,  such that  (c W)_y - (c W)_k ≥ 1  for each row c → y and all k ≠ y.

The dual is to maximise Σ λ such that |Aᵀλ| ≤ 1 in the dual norm, λ ≥ 0. Neither bound is taken from
the solver's word: W is scaled until it is feasible, λ until it is, and what remains is the gap.
"""

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

Norm = Literal["nuclear", "frobenius"]
NORMS: dict[Norm, tuple[Literal["nuc", "fro"], Literal[2, "fro"]]] = {
    "nuclear": ("nuc", 2),  # numpy's name of the norm and of its dual
    "frobenius": ("fro", "fro"),
}


class Unsolved(ValueError):  # noqa: N818
    """There is no solution to show, and the message says why."""


class Infeasible(Unsolved):
    """No matrix answers all rows."""


class Inaccurate(Unsolved):
    """The solver stopped before its answer could be certified."""


class Solution(NamedTuple):
    """A feasible W, its norm, and a certified lower bound on the norm of every feasible one."""

    W: Float[np.ndarray, "token answer"]
    multipliers: Float[np.ndarray, "row answer"]  # λ ≥ 0, of the distinct rows in sorted order
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """How far from optimal W may be, as a fraction of its norm."""
        return (self.primal - self.dual) / self.primal


def minimal_norm(
    counts: Float[np.ndarray, "row token"],
    targets: Int[np.ndarray, " row"],
    answers: int,
    norm: Norm = "nuclear",
    tolerance: float = 1e-4,
    iterations: int = 50_000,
) -> Solution:
    """The smallest W that answers every row of token counts with margin one, with a certificate.

    `tolerance` is the largest gap that passes for optimal.
    """
    # `first` keeps the rows' own numbers, by which errors name them
    counts, targets, first = _distinct(counts, targets)
    W, multipliers, status = _solve(counts, targets, answers, norm, tolerance, iterations)
    if W is None or multipliers is None:
        raise _explain(counts, targets, first, answers, status)
    least = float(np.min(_gaps(counts @ W, targets)[_others(targets, answers)]))
    if least <= 0:
        raise _explain(counts, targets, first, answers, status)
    size, dual_size = NORMS[norm]
    # weak duality: Σ λ is a lower bound once Aᵀλ has dual norm at most 1
    pull = counts.T @ _adjoint(multipliers, targets)
    multipliers = multipliers / np.linalg.norm(pull, dual_size)
    W = W / least
    solution = Solution(W, multipliers, float(np.linalg.norm(W, size)), float(multipliers.sum()))
    if solution.gap > tolerance:
        raise Inaccurate(
            f"the solver stopped ({status}) with a gap of {solution.gap:.2g} between the norm "
            f"{solution.primal:g} and its bound {solution.dual:g}: raise `iterations`"
        )
    return solution


def margins(
    W: Float[np.ndarray, "token answer"],
    counts: Float[np.ndarray, "row token"],
    targets: Int[np.ndarray, " row"],
) -> Float[np.ndarray, " row"]:
    """By how much each row's target leads its best rival."""
    gaps = _gaps(counts @ W, targets)
    return np.asarray(np.where(_others(targets, W.shape[1]), gaps, np.inf).min(axis=1))


def directions(
    solution: Solution,
    counts: Float[np.ndarray, "row token"],
    targets: Int[np.ndarray, " row"],
    inside: Float[np.ndarray, "token answer"] | None = None,
    accuracy: float = 1e-3,
) -> Float[np.ndarray, "direction token answer"]:
    """The directions in which other optima of the nuclear norm may lie: none if there is one.

    With G = Aᵀλ of the dual, each optimum is U M Vᵀ, M ≥ 0, U and V the singular vectors of G whose
    value is 1, and meets the constraints with λ > 0 with equality: a linear system in M, whose null
    space this is. M ≥ 0 is used only by `inside`, a W in whose row and column space all optima are
    known to lie. That of an average is one: where renaming tokens and answers makes optima of
    optima and leaves one optimum alone unchanged, that one is the average of each with its renamed
    copies, and a sum of M ≥ 0 vanishes only where all of them do.
    """
    multipliers = solution.multipliers
    counts, targets, _ = _distinct(counts, targets)
    spaces = counts.T @ _adjoint(multipliers.copy(), targets) if inside is None else inside
    left, sizes, right = np.linalg.svd(spaces)
    # of G the singular values 1, of W those that are not 0
    rank = int(np.sum(sizes > (1 - accuracy if inside is None else accuracy)))
    tight = multipliers > accuracy * multipliers.max()
    basis = np.array(
        [
            np.outer(left[:, i], right[j]) + np.outer(left[:, j], right[i])
            for i, j in zip(*np.triu_indices(rank), strict=True)
        ]
    )
    system = np.stack([_gaps(counts @ each, targets)[tight] for each in basis], axis=1)
    _, sizes, free = np.linalg.svd(system)
    settled = int(np.sum(sizes > accuracy))
    return np.tensordot(free[settled:], basis, axes=1)


def _distinct(
    counts: Float[np.ndarray, "row token"], targets: Int[np.ndarray, " row"]
) -> tuple[Float[np.ndarray, "row token"], Int[np.ndarray, " row"], Int[np.ndarray, " row"]]:
    """The rows in the order of multipliers, with their own numbers: one said twice constrains
    once."""
    both = np.concatenate([counts, targets[:, None]], axis=1)
    found, first = np.unique(both, axis=0, return_index=True)
    return found[:, :-1], targets[first], first


def _solve(
    counts: Float[np.ndarray, "row token"],
    targets: Int[np.ndarray, " row"],
    answers: int,
    norm: Norm,
    tolerance: float,
    iterations: int,
) -> tuple[np.ndarray | None, np.ndarray | None, str]:
    cvxpy = solver()
    W = cvxpy.Variable((counts.shape[1], answers))
    others = _others(targets, answers)
    logits = counts @ W
    own = cvxpy.sum(cvxpy.multiply(~others, logits), axis=1, keepdims=True)
    # the target against itself is 0 ≥ 0: harmless, and the multipliers stay a rectangle
    constraint = own @ np.ones((1, answers)) - logits >= others.astype(float)
    objective = cvxpy.normNuc(W) if norm == "nuclear" else cvxpy.norm(W, "fro")
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [constraint])
    # the solver's own measure of accuracy is not ours: ask it for more than is needed
    optimise(problem, tolerance / 1000, iterations)
    if W.value is None or constraint.dual_value is None or problem.status == "infeasible":
        return None, None, problem.status
    return W.value, np.maximum(constraint.dual_value, 0) * others, problem.status


def solver() -> Any:
    """cvxpy, imported only when a program is solved: it takes seconds."""
    try:
        import cvxpy
    except ImportError:
        raise Unsolved(
            "solving the program needs cvxpy and SCS: pip install 'ontogeny[theory]'"
        ) from None
    return cvxpy


def optimise(problem: Any, accuracy: float, iterations: int) -> None:
    """Runs the solver. It warns of inaccuracy in vain: the certificate will show it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="SCS", eps_abs=accuracy, eps_rel=accuracy, max_iters=iterations)


def _others(targets: Int[np.ndarray, " row"], answers: int) -> Bool[np.ndarray, "row answer"]:
    return np.asarray(np.arange(answers)[None, :] != targets[:, None])


def _gaps(
    logits: Float[np.ndarray, "row answer"], targets: Int[np.ndarray, " row"]
) -> Float[np.ndarray, "row answer"]:
    return np.asarray(np.take_along_axis(logits, targets[:, None], axis=1) - logits)


def _adjoint(
    multipliers: Float[np.ndarray, "row answer"], targets: Int[np.ndarray, " row"]
) -> Float[np.ndarray, "row answer"]:
    """What the gaps' multipliers weigh on each logit."""
    weighed = -multipliers
    weighed[np.arange(len(targets)), targets] += multipliers.sum(axis=1)
    return weighed


def _explain(
    counts: Float[np.ndarray, "row token"],
    targets: Int[np.ndarray, " row"],
    first: Int[np.ndarray, " row"],
    answers: int,
    status: str,
) -> Unsolved:
    """Why there is no answer: rows that contradict each other, by Farkas; or the solver itself.

    If no W separates, some λ ≥ 0 has Aᵀλ = 0 and Σ λ = 1: a linear program finds one.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    rows, rivals = np.nonzero(_others(targets, answers))
    # one row of A for each constraint: + its tokens at the target, - its tokens at the rival
    pull = np.zeros((len(rows), counts.shape[1], answers))
    place = np.arange(len(rows))
    pull[place, :, targets[rows]] += counts[rows]
    pull[place, :, rivals] -= counts[rows]
    # no objective: any λ that cancels shows the contradiction
    certificate = linprog(
        np.zeros(len(rows)),
        A_eq=csr_array(np.vstack([pull.reshape(len(rows), -1).T, np.ones(len(rows))])),
        b_eq=np.append(np.zeros(counts.shape[1] * answers), 1.0),
    )
    if not certificate.success:
        return Inaccurate(f"the solver stopped ({status}) without an answer: raise `iterations`")
    guilty = sorted(set(rows[certificate.x > 1e-9].tolist()))
    named = "; ".join(
        f"row {first[row]}: {' + '.join(map(str, _tokens(counts[row])))} → {targets[row]}"
        for row in guilty[:6]
    )
    more = f"; and {len(guilty) - 6} more" if len(guilty) > 6 else ""
    return Infeasible(f"no matrix answers all rows: these contradict each other: {named}{more}")


def _tokens(counts: Float[np.ndarray, " token"]) -> list[int]:
    return [int(token) for token in np.repeat(np.arange(len(counts)), counts.astype(int))]
