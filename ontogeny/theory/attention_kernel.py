"""The random-features kernel of a transformer layer (arXiv 2310.09753, equation (3)).

    K_attn(X, Y) = E[softmax(β m(X))ᵀ (X Yᵀ + γ² I) softmax(β m(Y))],  m(X) = X w + γ p,

over scores w of tokens and p of positions, standard normal. Strings are rows of token numbers. The
kernel depends on them by the pattern of equalities alone, so each pattern is computed once.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

Strings = Int[np.ndarray, "string length"]


class Estimate(NamedTuple):
    """Means over scrambled quasi-random points, and their standard errors."""

    value: Float[np.ndarray, "..."]
    error: Float[np.ndarray, "..."]


def attention_kernel(
    X: Strings,
    Y: Strings,
    beta: float,
    gamma: float,
    points: int = 1024,
    scrambles: int = 8,
    seed: int = 0,
) -> Estimate:
    """K_attn between all strings of X and all of Y."""
    pairs = np.concatenate([np.repeat(X, len(Y), axis=0), np.tile(Y, (len(X), 1))], axis=1)
    known = pair_kernel(pairs, beta, gamma, points, scrambles, seed)
    return Estimate(*(part.reshape(len(X), len(Y)) for part in known))


def pair_kernel(
    pairs: Strings,
    beta: float,
    gamma: float,
    points: int = 1024,
    scrambles: int = 8,
    seed: int = 0,
) -> Estimate:
    """K_attn of the two halves of each row."""
    patterns, which = _distinct(_either_way(pairs))
    known = _estimate(patterns, pairs.shape[1] // 2, beta, gamma, points, scrambles, seed)
    return Estimate(*(part[which] for part in known))


def _either_way(pairs: Strings) -> Strings:
    """The pattern of each pair or of the pair turned round, whichever is first in the dictionary:
    the kernel is the same."""
    one = canonical(pairs)
    other = canonical(np.roll(pairs, pairs.shape[1] // 2, axis=1))
    # where both are equal argmax says 0, and any place will do
    place = np.argmax(one != other, axis=1)[:, None]
    earlier = np.take_along_axis(one, place, axis=1) <= np.take_along_axis(other, place, axis=1)
    return np.where(earlier, one, other)


def _distinct(
    patterns: Strings,
) -> tuple[Int[np.ndarray, "pattern length"], Int[np.ndarray, " string"]]:
    """The patterns that occur, and which of them each string has; short ones as single numbers."""
    length = patterns.shape[1]
    # up to 16 places hold at most 16 tokens: four bits each, 64 in all
    if length > 16:
        found, which = np.unique(patterns, axis=0, return_inverse=True)
        return found, which.ravel()
    codes = (patterns.astype(np.uint64) << (4 * np.arange(length, dtype=np.uint64))).sum(axis=1)
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return patterns[first], which.ravel()


def canonical(strings: Strings) -> Strings:
    """Each string with its tokens renamed by the order of their first appearance."""
    same = strings[:, :, None] == strings[:, None, :]
    first = np.argmax(same, axis=2)  # the place where each token appears first
    new = first == np.arange(strings.shape[1])
    rank = np.cumsum(new, axis=1) - 1
    return np.take_along_axis(rank, first, axis=1)


def _estimate(
    patterns: Strings,
    length: int,
    beta: float,
    gamma: float,
    points: int,
    scrambles: int,
    seed: int,
) -> Estimate:
    """Means per pattern of a pair, each scramble giving an independent estimate."""
    tokens = int(patterns.max()) + 1
    means = np.empty((scrambles, len(patterns)))
    for scramble, random in enumerate(np.random.default_rng(seed).spawn(scrambles)):
        # one score per position for both strings: this is the γ² I in the covariance of m(X), m(Y)
        normal = beta * normal_points(points, tokens + length, random)
        normal = np.concatenate([normal, -normal])  # and their mirror images
        # softmax ignores the shift by the largest score, and exp does not overflow at a large β
        scores = np.exp(normal[:, :tokens] - normal[:, :tokens].max(axis=1, keepdims=True))
        means[scramble] = _means(patterns, scores, np.exp(gamma * normal[:, tokens:]), gamma)
    # points of one scramble depend on each other: only the scrambles tell how far off the mean is
    error = means.std(axis=0, ddof=1) / scrambles**0.5
    return Estimate(means.mean(axis=0), error)


def _means(
    patterns: Strings,
    scores: Float[np.ndarray, "point token"],
    places: Float[np.ndarray, "point half"],
    gamma: float,
) -> Float[np.ndarray, " string"]:
    """The kernel of each pattern over points, from exponentials of scores and of positions.

    First halves are few, one per template: their attention is kept.
    """
    length = places.shape[1]

    def attention(half: bytes) -> Float[np.ndarray, "point half"]:
        grown = scores[:, np.frombuffer(half, patterns.dtype)] * places
        return np.asarray(grown / grown.sum(axis=1, keepdims=True))

    kept = cache(attention)
    means = np.empty(len(patterns))
    for number, pair in enumerate(patterns):
        x, y = pair[:length], pair[length:]
        meet = (x[:, None] == y[None, :]) + gamma**2 * np.eye(length)
        # (half, point) @ (point, half): summed over points before X Yᵀ + γ² I is applied, once
        products = kept(x.tobytes()).T @ attention(y.tobytes())
        means[number] = np.sum(meet * products) / len(scores)
    return means


def normal_points(
    points: int, dimensions: int, random: np.random.Generator
) -> Float[np.ndarray, "point dimension"]:
    """Quasi-random points, scrambled, as normal as random ones and more even."""
    from scipy.stats import qmc  # here, since it takes two seconds to import

    # a scrambled point may be 0, whose normal quantile is infinite
    sobol = qmc.Sobol(dimensions, rng=random).random(points)
    return np.asarray(ndtri(np.clip(sobol, 1e-12, 1 - 1e-12)))


def softmax(logits: Float[np.ndarray, "... length"]) -> Float[np.ndarray, "... length"]:
    """Along the last axis."""
    grown = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


def transformer_kernel(
    own_x: Float[np.ndarray, " x"],
    own_y: Float[np.ndarray, " y"],
    between: Float[np.ndarray, "x y"],
    frequency: float = 1.0,
    phase: float = 0.0,
) -> Float[np.ndarray, "x y"]:
    """E[φ(u) φ(v)] for φ(t) = cos(b₁ t + b₂) and (u, v) normal with K_attn as covariance."""
    # cos x cos y = ½ cos(x - y) + ½ cos(x + y), and a centred normal t has E[cos t] = exp(-var/2):
    # b₂ cancels in the difference and doubles in the sum
    b = frequency**2
    damped = np.exp(-b * (own_x[:, None] + own_y[None, :]) / 2)
    return np.asarray(
        0.5 * damped * (np.exp(b * between) + np.cos(2 * phase) * np.exp(-b * between))
    )


def ridge(
    kernel: Float[np.ndarray, "n n"], labels: Float[np.ndarray, " n"], weight: float
) -> Float[np.ndarray, " n"]:
    """Kernel ridge regression: c = (K + λ I)⁻¹ y, and then f(x) = k(x)ᵀ c."""
    return np.asarray(np.linalg.solve(kernel + weight * np.eye(len(kernel)), labels))
