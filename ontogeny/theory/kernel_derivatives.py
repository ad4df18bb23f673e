"""Derivatives of the attention kernel at β = γ = 0, exactly (arXiv 2310.09753, Appendix F.1).

In β and γ the kernel is a power series whose coefficients are expectations of polynomials in
normal variables. Series are multiplied as series, and Gauss-Hermite nodes integrate polynomials
without error; so no derivative is approximated and nothing is sampled.
"""

from itertools import product
from math import factorial
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

Matrix: TypeAlias = Float[np.ndarray, "length token"]
Series: TypeAlias = Any  # coefficients: an array [order in β, order in γ, …]

# The published formulas: coefficient, power of 1/k, and factors. `XXXY` stands for 1ᵀXXᵀXYᵀ1, and
# `tr XY` for the trace of XYᵀ; k is the length. They hold for strings: rows of X and Y are one-hot.
FORMULAS: dict[tuple[int, int], tuple[tuple[int, int, str], ...]] = {
    (0, 0): ((1, 2, "XY"),),
    (2, 2): ((-8, 3, "XY"), (8, 2, "tr XY")),
    (4, 0): (
        *((12, 2, "XY"), (-96, 3, "XXXY"), (-96, 3, "XYYY")),
        *((192, 4, "XXXXXY"), (192, 4, "XYYXXY"), (192, 4, "YXXYYY")),
        *((36, 4, "XY * XX"), (36, 4, "XY * XY"), (36, 4, "XY * YY")),
        *((-144, 5, "XXXY * XX"), (-48, 5, "XYYY * XX"), (-168, 5, "XY * XXXY")),
        *((-168, 5, "XYYY * XY"), (-48, 5, "XXXY * YY"), (-144, 5, "XYYY * YY")),
        *((-72, 5, "XY * XXXX"), (-72, 5, "XY * YYYY")),
        *((72, 6, "XY * XX * XX"), (72, 6, "XY * XY * XX"), (48, 6, "XY * XY * XY")),
        *((24, 6, "XY * XX * YY"), (72, 6, "XY * XY * YY"), (72, 6, "XY * YY * YY")),
    ),
    (4, 2): (
        *((-168, 3, "XY"), (72, 2, "tr XY"), (576, 4, "XXXY"), (-336, 3, "tr XXXY")),
        *((576, 4, "XYYY"), (-336, 3, "tr XYYY"), (-432, 5, "XY * XX"), (96, 4, "tr XY * XX")),
        *((-384, 5, "XY * XY"), (144, 4, "XY * tr XY"), (-432, 5, "XY * YY"), (144, 4, "XYXY")),
        *((96, 4, "tr XY * YY"), (192, 4, "YXYY"), (192, 4, "XXYX"), (48, 4, "XXYY")),
        *((-48, 5, "YY * XX"),),
    ),
}


def published(order: tuple[int, int], X: Matrix, Y: Matrix) -> float:
    """A formula of the table, for these strings as one-hot rows."""
    length, sides = len(X), {"X": X, "Y": Y}

    def factor(word: str) -> float:
        letters = word.removeprefix("tr ")
        matrix = np.eye(length)
        for left, right in zip(letters[::2], letters[1::2], strict=True):
            matrix = matrix @ sides[left] @ sides[right].T
        return float(np.trace(matrix) if word.startswith("tr ") else matrix.sum())

    terms = [
        coefficient / length**power * np.prod([factor(word) for word in words.split(" * ")])
        for coefficient, power, words in FORMULAS[order]
    ]
    return float(np.sum(terms))


def exact(order: tuple[int, int], X: Matrix, Y: Matrix) -> float:
    """∂β^a ∂γ^b of K_attn at zero, from its power series."""
    beta, gamma = order
    # every β comes with one normal variable, so that β^a has a polynomial of degree a
    nodes, weights = _nodes(X.shape[1] + len(X), degree=beta)
    scores, places = nodes[:, : X.shape[1]], nodes[:, X.shape[1] :]
    left, right = (_softmax(scores @ Z.T, places, order) for Z in (X, Y))
    # softmaxᵀ (X Yᵀ + γ² I) softmax
    total = _times(left @ (X @ Y.T), right).sum(axis=-1)
    if gamma >= 2:
        # γ² I moves a series on by two orders
        total[:, 2:] += _times(left, right).sum(axis=-1)[:, :-2]
    return float(factorial(beta) * factorial(gamma) * (total[beta, gamma] @ weights))


def _nodes(
    dimensions: int, degree: int
) -> tuple[Float[np.ndarray, "node dimension"], Float[np.ndarray, " node"]]:
    """Points and weights that integrate polynomials of this degree against a standard normal."""
    # n nodes are exact to degree 2n - 1; the grid is their product over all dimensions, which keeps
    # this to short strings
    points, weights = np.polynomial.hermite_e.hermegauss(degree // 2 + 1)
    weights = weights / weights.sum()
    grid = np.array(list(product(range(len(points)), repeat=dimensions)))
    return points[grid], weights[grid].prod(axis=1)


def _softmax(
    m: Float[np.ndarray, "node length"], p: Float[np.ndarray, "node length"], order: tuple[int, int]
) -> Series:
    """softmax(β (m + γ p)) as a series in β and γ, node by node."""
    beta, gamma = order
    linear = np.zeros((beta + 1, gamma + 1, *m.shape))
    if beta >= 1:
        linear[1, 0] = m
        if gamma >= 1:
            linear[1, 1] = p
    power = np.zeros_like(linear)
    power[0, 0] = 1.0
    grown = power
    for n in range(1, beta + 1):
        # the next term of exp, linearⁿ / n!; it starts at order n in β, so that the sum ends
        power = _times(power, linear) / n
        grown = grown + power
    return _divided(grown, grown.sum(axis=-1, keepdims=True))


def _times(one: Series, other: Series) -> Series:
    """The product of two series, cut at the same order."""
    total: Series = np.zeros(np.broadcast_shapes(one.shape, other.shape))
    for a, b in np.ndindex(*one.shape[:2]):
        shifted = other[: total.shape[0] - a, : total.shape[1] - b]
        total[a:, b:] += one[a, b] * shifted
    return total


def _divided(one: Series, other: Series) -> Series:
    """The quotient of two series, coefficient by coefficient; `other` starts with a constant."""
    quotient = np.zeros_like(one)
    for a, b in np.ndindex(*one.shape[:2]):
        # in this order all lower coefficients are known, and this one is still 0 in the product
        quotient[a, b] = (one - _times(quotient, other))[a, b] / other[0, 0]
    return quotient
