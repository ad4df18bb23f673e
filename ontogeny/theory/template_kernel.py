"""A set of templates as a kernel sees it (arXiv 2310.09753, sections 4.1 and 4.2, Appendix D).

Two strings that share no symbol are as alike as their templates say, whatever the symbols:
K(sub(z_i, s), sub(z_j, s')) = N_ij. If symbols are many, the kernel of a training set is therefore
made of blocks N_ij, and what regression predicts of unseen symbols follows from N alone.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import combinations, permutations
from math import comb, factorial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Real

from .attention_kernel import normal_points, pair_kernel, softmax, transformer_kernel
from .template import Template, substituted

Pairs = Int[np.ndarray, "pair both"]
Square = Float[np.ndarray, "template template"]
_CLS = -1_000_000  # a token of its own, after every string


class TemplateKernel(NamedTuple):
    """Between disjoint substitutions of templates (N), and of each string with itself; estimated
    several times over, independently."""

    each: Float[np.ndarray, "estimate template template"]
    own: Float[np.ndarray, " template"]

    @property
    def N(self) -> Square:  # noqa: N802
        """The mean of the estimates."""
        return np.asarray(self.each.mean(axis=0))

    @property
    def least_eigenvalue(self) -> tuple[float, float]:
        """Above zero, kernel regression can tell the templates apart (Lemma 4.5). And its standard
        error: that of vᵀNv along the eigenvector found."""
        # to first order an eigenvalue moves by vᵀ dN v
        values, vectors = np.linalg.eigh(self.N)
        along = np.einsum("i,eij,j->e", vectors[:, 0], self.each, vectors[:, 0])
        return float(values[0]), _standard_error(along)

    @property
    def permutation_gap(self) -> tuple[float, float]:
        """By how much Σ N_ii exceeds Σ N_iσ(i) for the best σ that moves something (equation (9)),
        and its standard error.

        N is a Gram matrix, of each template's mean features; so the sum falls by half the squared
        distance of every template to its image, and the best σ swaps the two nearest templates.
        """
        diagonal = np.einsum("eii->ei", self.each)
        # the squared distance of two templates, which is what (9) loses by swapping them
        apart = diagonal[:, :, None] + diagonal[:, None, :] - 2 * self.each
        pairs = apart[:, *np.triu_indices(len(self.own), 1)]
        nearest = pairs.mean(axis=0).argmin()
        return float(pairs[:, nearest].mean()), _standard_error(pairs[:, nearest])

    def lifted(self, frequency: float, phase: float) -> "TemplateKernel":
        """The kernel after a wide MLP layer with activation cos(b₁ t + b₂)."""

        def lift(between: Square) -> Square:
            return transformer_kernel(self.own, self.own, between, frequency, phase)

        own = np.diag(lift(np.diag(self.own)))
        return TemplateKernel(np.array([lift(N) for N in self.each]), own)


@cache
def of_templates(
    templates: tuple[Template, ...],
    beta: float,
    gamma: float,
    points: int = 1024,
    inner: int = 32,
    estimates: int = 8,
    seed: int = 0,
) -> TemplateKernel:
    """The attention kernel of a set of templates, each string ended by [CLS].

    Given the scores of positions and regular tokens, strings without a common symbol are
    independent, so N_ij is the mean product of two conditional means. Each is taken twice, with
    symbols of its own, which keeps products unbiased; and with the same chances for all templates,
    so that what tells two templates apart is not drowned in what they share.
    """
    strings = _ended(substituted(templates))
    names = np.unique(strings[strings < 0])  # of regular tokens
    most = max(1, *(len(z.wildcards) for z in templates))
    each = []
    for random in np.random.default_rng(seed).spawn(estimates):
        outer = normal_points(points, len(names) + strings.shape[1], random)
        outer = np.concatenate([outer, -outer])
        left, right = (
            np.array([_mean_features(z, names, outer, drawn, beta, gamma) for z in strings])
            for drawn in random.normal(size=(2, len(outer), inner, most))
        )
        # left and right have drawn their symbols apart: the mean of a product, not of a square
        N = np.einsum("ipf,jpf->ij", left, right, optimize=True) / len(outer)
        each.append((N + N.T) / 2)
    # a string and itself do share their symbols
    own = pair_kernel(np.concatenate([strings, strings], axis=1), beta, gamma, points)
    return TemplateKernel(np.array(each), own.value)


def _mean_features(
    string: Int[np.ndarray, " length"],
    names: Int[np.ndarray, " regular"],
    outer: Float[np.ndarray, "point score"],
    drawn: Float[np.ndarray, "point inner wildcard"],
    beta: float,
    gamma: float,
) -> Float[np.ndarray, "point feature"]:
    """Where a string's attention lies on average over its symbols: by position (times γ), and by
    regular token."""
    known = string < 0
    tokens, places = outer[:, : len(names)], outer[:, len(names) :]
    scores = np.empty((*drawn.shape[:2], len(string)))
    scores[..., known] = tokens[:, None, np.searchsorted(names, string[known])]
    symbols = np.unique(string[~known], return_inverse=True)[1]
    scores[..., ~known] = drawn[..., symbols]
    attention = softmax(beta * (scores + gamma * places[:, None])).mean(axis=1)
    # two such rows have the inner product aᵀ (X Yᵀ + γ² I) a′ of (3), as symbols never meet
    return np.concatenate([gamma * attention, attention @ (string[:, None] == names)], axis=1)


def _standard_error(values: Float[np.ndarray, " estimate"]) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


def inner_product(templates: Sequence[Template], of: Callable[[float], float]) -> Square:
    """N of a kernel κ(⟨x, y⟩) on one-hots side by side, as an MLP has: symbols do not count."""
    tokens = [np.array(z) for z in substituted(templates)]
    return np.array([[of(float(np.sum((x == y) & (x < 0)))) for y in tokens] for x in tokens])


def idealised(
    N: Square,
    counts: Float[np.ndarray, " template"],
    sums: Float[np.ndarray, " template"],
    weight: float,
) -> Float[np.ndarray, " template"]:
    """What ridge regression says of each template's unseen strings, if no two samples share a
    symbol (16): counts and sums are of the labels of each template's samples."""
    # r × r instead of n × n: all samples of a template are one row of the idealised kernel
    moments = np.diag(counts) @ N + weight * np.eye(len(N))
    return np.asarray(N @ np.linalg.solve(moments, sums))


def learning_curve(
    kernel: TemplateKernel,
    labels: Float[np.ndarray, " template"],
    samples: Real[np.ndarray, " n"],
    weight: float,
) -> Float[np.ndarray, " n"]:
    """The squared error on unseen symbols that N predicts after so many samples, templates being
    equally likely.

    A sample resembles itself by more than its block says, and that excess acts on the idealised
    estimator like more ridge: s = λ + mean(K_ii - N_ii). With n/r samples of each of r templates
    the label's part along an eigenvector of N with eigenvalue ν is short by 1/(1 + nν/(rs)).
    """
    values, vectors = np.linalg.eigh(kernel.N)
    excess = weight + np.mean(kernel.own - np.diag(kernel.N))
    parts = (vectors.T @ labels) ** 2 / len(labels)
    # an estimated eigenvalue near 0 may come out negative: such a part is never learnt
    short = 1 / (1 + np.outer(samples, np.maximum(values, 0)) / (len(labels) * excess))
    return np.asarray(short**2 @ parts)


def samples_to_learn(
    kernel: TemplateKernel, labels: Float[np.ndarray, " template"], level: float, weight: float
) -> float:
    """Where the predicted curve falls below a level."""
    grid = np.geomspace(1, 1e9, 20_000)
    return float(grid[np.argmax(learning_curve(kernel, labels, grid, weight) < level)])


def all_pairs(templates: Sequence[Template]) -> Pairs:
    """Every way in which two strings of the templates can share symbols, each string with [CLS]."""
    lists = [list(z.wildcards) for z in templates]
    one = substituted(templates)
    starts = np.cumsum([0, *map(len, lists)])
    pairs = []
    for i, x in enumerate(one):
        for j, y in enumerate(one):
            fresh = np.where(y < 0, y, y + 100_000)  # nothing shared yet
            for mine, theirs in _matchings(len(lists[i]), len(lists[j])):
                met = fresh.copy()
                for a, b in zip(mine, theirs, strict=True):
                    met[y == starts[j] + b] = starts[i] + a
                pairs.append(np.concatenate([x, [_CLS], met, [_CLS]]))
    return np.array(pairs)


def number_of_pairs(templates: Sequence[Template]) -> int:
    """How many `all_pairs` would give."""
    sizes = [len(z.wildcards) for z in templates]
    return sum(
        sum(comb(m, k) * comb(n, k) * factorial(k) for k in range(min(m, n) + 1))
        for m in sizes
        for n in sizes
    )


def _matchings(one: int, other: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Which of some things are the same as which of others, each at most once."""
    for size in range(min(one, other) + 1):
        for mine in combinations(range(one), size):
            for theirs in permutations(range(other), size):
                yield mine, theirs


def _ended(strings: Sequence[Int[np.ndarray, " length"]]) -> Int[np.ndarray, "string place"]:
    rows = np.array(strings)
    return np.concatenate([rows, np.full((len(rows), 1), _CLS)], axis=1)
