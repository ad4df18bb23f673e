"""Two hops in the embedding-MLP, by symmetry (arXiv 2509.24653, Theorems 1 and 2).

Subjects, bridges and objects are N each, s_i r1 → b_i, b_i r2 → o_i and perhaps b_i → b_i. Averaged
over renamings, a smallest matrix has blocks x₁ I + x₂ J (J all ones) and constant relation rows:

                bridges           objects
    subjects    a₁ I + a₂ J       b₁ I + b₂ J
    bridges     c₁ I + c₂ J       d₁ I + d₂ J
    r1          α₁ 1ᵀ             β₁ 1ᵀ
    r2          α₂ 1ᵀ             β₂ 1ᵀ

Any complexity and any form of identity: `two_hop_symmetry` and `two_hop_program`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from .minimal_norm import Inaccurate, Unsolved

SQRT2 = 2**0.5
Number: TypeAlias = Any  # a float; or an array, or an expression of a program


class Symmetric(NamedTuple):
    """The twelve numbers of the symmetric form."""

    a1: Number
    a2: Number
    b1: Number
    b2: Number
    c1: Number
    c2: Number
    d1: Number
    d2: Number
    alpha1: Number
    alpha2: Number
    beta1: Number
    beta2: Number

    def matrix(self, N: int) -> Float[np.ndarray, "token answer"]:
        """The whole matrix: rows subjects, bridges, r1, r2; columns bridges, objects."""
        eye, ones, row = np.eye(N), np.ones((N, N)), np.ones((1, N))
        return np.block(
            [
                [self.a1 * eye + self.a2 * ones, self.b1 * eye + self.b2 * ones],
                [self.c1 * eye + self.c2 * ones, self.d1 * eye + self.d2 * ones],
                [self.alpha1 * row, self.beta1 * row],
                [self.alpha2 * row, self.beta2 * row],
            ]
        )

    def norm(self, N: int) -> float:
        """Lemma 2: the nuclear norm, from p, q, s of WᵀW in closed form."""
        a1, a2, b1, b2, c1, c2, d1, d2, alpha1, alpha2, beta1, beta2 = self
        # [[P, Q], [Q, S]] is WᵀW on the direction of ones of each block
        P = (a1 + N * a2) ** 2 + (c1 + N * c2) ** 2 + N * (alpha1**2 + alpha2**2)
        S = (b1 + N * b2) ** 2 + (d1 + N * d2) ** 2 + N * (beta1**2 + beta2**2)
        Q = (
            (a1 + N * a2) * (b1 + N * b2)
            + (c1 + N * c2) * (d1 + N * d2)
            + N * (alpha1 * beta1 + alpha2 * beta2)
        )
        # σ₁ + σ₂ = √(σ₁² + σ₂² + 2 σ₁σ₂), of 2 × 2: squares of its entries, and its determinant
        apart = a1**2 + b1**2 + c1**2 + d1**2 + 2 * abs(a1 * d1 - b1 * c1)
        # at the optimum the second part has rank one: rounding may turn P S - Q² negative
        together = P + S + 2 * max(P * S - Q**2, 0.0) ** 0.5
        return float((N - 1) * apart**0.5 + together**0.5)

    def slacks(self, identity: bool) -> dict[str, Number]:
        """By how much each constraint of the training set is more than met."""
        a1, a2, b1, b2, c1, c2, d1, d2, alpha1, alpha2, beta1, beta2 = self
        first, second, same = a1 + a2 + alpha1, d1 + d2 + beta2, c1 + c2
        # the constraints (4); those of identity are (5)
        slacks = {
            "first hop, other bridges": a1 - 1,
            "first hop, own object": first - (b1 + b2 + beta1) - 1,
            "first hop, other objects": first - (b2 + beta1) - 1,
            "second hop, other objects": d1 - 1,
            "second hop, own bridge": second - (c1 + c2 + alpha2) - 1,
            "second hop, other bridges": second - (c2 + alpha2) - 1,
        }
        if identity:
            slacks |= {
                "identity, other bridges": c1 - 1,
                "identity, own object": same - (d1 + d2) - 1,
                "identity, other objects": same - d2 - 1,
            }
        return slacks

    def margins(self) -> dict[str, Number]:
        """Theorems 1 and 2: by how much s r1 r2 prefers its object to each kind of rival."""
        own = self.b1 + self.b2 + self.beta1 + self.beta2
        return {
            "other objects": self.b1,
            "own bridge": own - (self.a1 + self.a2 + self.alpha1 + self.alpha2),
            "other bridges": own - (self.a2 + self.alpha1 + self.alpha2),
        }


def _at_least_two(N: int) -> None:
    if N < 2:
        raise Unsolved(f"N={N}: two hops need at least 2 subjects, or there is nothing to confuse")


def _from_blocks(apart: Any, together: Any, N: int) -> Symmetric:
    """The twelve numbers from what W does to differences between entities and, scaled by 1/√N, to
    their sums."""
    # ones/√N see x₁ + N x₂, scaled by 1/√N as above; a row α 1ᵀ is seen as α √N / √N
    rest = [[(N**0.5 * together[i, j] - apart[i, j]) / N for j in (0, 1)] for i in (0, 1)]
    return Symmetric(
        *(apart[0, 0], rest[0][0], apart[0, 1], rest[0][1]),
        *(apart[1, 0], rest[1][0], apart[1, 1], rest[1][1]),
        *(together[2, 0], together[3, 0], together[2, 1], together[3, 1]),
    )


# --------------------------------------------------------------- with identity: Lemma 3 and beyond


class Stationary(NamedTuple):
    """A minimum of Lemma 3's objective and how well the KKT conditions hold there."""

    solution: Symmetric
    value: float
    kkt_residual: float  # of the gradient, relative, after the best multipliers ≥ 0


def simplified(N: int) -> Stationary:
    """Lemma 3: with zero row sums (Assumption 2) eight numbers remain; reformulation (11).

    |a₁d₁ - b₁c₁| becomes a variable t above both signs, so that everything is smooth.
    """
    _at_least_two(N)

    def solution(z: np.ndarray) -> Symmetric:
        a1, b1, c1, d1, u, v, alpha1, alpha2, _ = z
        apart = np.array([[a1, b1], [c1, d1]])
        # Assumption 2: rows sum to zero. Then P = S = -Q, and √(P + S) is all of the second part
        together = np.array([[u, -u], [v, -v], [alpha1, -alpha1], [alpha2, -alpha2]])
        return _from_blocks(apart, together, N)

    def objective(z: np.ndarray) -> float:
        first = (np.sum(z[:4] ** 2) + 2 * z[8]) ** 0.5
        return float((N - 1) / N * first + SQRT2 * np.sum(z[4:8] ** 2) ** 0.5 / N**0.5)

    def constraints(z: np.ndarray) -> np.ndarray:
        difference = z[0] * z[3] - z[1] * z[2]
        slacks = solution(z).slacks(identity=True).values()
        return np.array([*slacks, z[8] - difference, z[8] + difference])

    from scipy.optimize import minimize  # takes a third of a second to import

    start = np.array([1.0, 0.5, 2.0, 1.0, 0.0, 0.0, 1.0, -2.0, 1.0])
    found = minimize(
        objective,
        start,
        method="SLSQP",
        constraints={"type": "ineq", "fun": constraints},
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    residual = _kkt(objective, constraints, found.x)
    if residual > 1e-4 or constraints(found.x).min() < -1e-6:
        raise Inaccurate(f"the solver stopped away from a KKT point at N={N}: {found.message}")
    numbers = Symmetric(*map(float, solution(found.x)))
    return Stationary(numbers, N * objective(found.x), residual)


def _kkt(
    objective: Callable[[np.ndarray], float],
    constraints: Callable[[np.ndarray], np.ndarray],
    z: np.ndarray,
) -> float:
    """|∇f - Σ λ ∇g| / |∇f| at its least over λ ≥ 0 of the tight constraints g."""
    from scipy.optimize import approx_fprime, nnls

    tight = constraints(z) < 1e-6
    slope = approx_fprime(z, objective, 1e-7)
    slopes = np.atleast_2d(approx_fprime(z, constraints, 1e-7))[tight]
    _, residual = nnls(slopes.T, slope)
    return float(residual / np.linalg.norm(slope))


def with_identity(N: int) -> Symmetric:
    """The optimum with identity bridges in one unknown (ours).

    At the optimum a₁ = d₁ = 1 and a₁d₁ = b₁c₁: the zero-sum part has rank one and norm b₁ + 1/b₁.
    Both remaining constraints are tight, which settles u, v and α by b₁, and b₁ minimises what
    Lemma 3 leaves. As N grows, b₁, the margin over other objects, falls to √(1 - 1/√2) = 0.5412.
    """
    _at_least_two(N)

    def solution(b1: float) -> Symmetric:
        spare = 1 - (1 - b1) * (1 - 1 / N)  # what the first hop still lacks
        alpha1 = spare / (2 * (1 + 1 / N))
        u = alpha1 / N**0.5
        v = N**0.5 / 2 * (1 - (1 / b1 - 1) * (1 - 1 / N))
        together = np.array([[u, -u], [v, -v], [alpha1, -alpha1], [-1.0, 1.0]])
        return _from_blocks(np.array([[1.0, b1], [1 / b1, 1.0]]), together, N)

    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda b1: solution(b1).norm(N) / N, bounds=(0.5, 1.0), options={"xatol": 1e-12}
    )
    return Symmetric(*map(float, solution(found.x)))


def with_first_relation(N: int) -> Symmetric:
    """The optimum with identity as b r1 → b (arXiv 2603.05143); its norm is 2(N-1) + √N (ours).

    What subjects and bridges say is the same, I - J/N of both families, and relations choose the
    family by ½ and -½. So s r2 leads by 1, as a last hop does; in s r1 r2 the relations cancel, and
    the object is level with its bridge.
    """
    _at_least_two(N)
    rest = -1 / N
    return Symmetric(1.0, rest, 1.0, rest, 1.0, rest, 1.0, rest, 0.5, -0.5, -0.5, 0.5)


def without_identity(N: int) -> Symmetric:
    """The optimum without identity bridges; its norm is 2(N-1) + 1/√(N+1).

    b₁ = c₁ = 0: subjects say nothing of objects. Asked s r1 r2 the bridge leads its object by
    N/(N+1), and by (N-1)/(N+1) asked s r2. There is no other optimum (`minimal_norm.directions`),
    so that Theorem 2 holds of every one.
    """
    _at_least_two(N)
    alpha = 1 / (2 * (N + 1))
    a2, b2 = (alpha - 1) / N, -alpha / N
    return Symmetric(1.0, a2, 0.0, b2, 0.0, b2, 1.0, a2, alpha, -alpha, -alpha, alpha)
