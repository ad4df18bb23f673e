"""Associative memories: what a matrix of gradients recalls, and how much fits into one.

With random unit vectors e_z and u_y in d dimensions, one step of descent on N associations leaves
W = Σ_z (u_f(z) - mean u) e_zᵀ up to a factor. Asked with e_z,

    the right answer scores    1 + c,              c ~ N(0, (N - 1) / d²)
    another, u' of e', scores  r u'·v + e'·e_z,    r² = 1 + (N - 1) / d + 2 c

where r v, v a unit vector, is the sum of all answers, each as far as its key resembles e_z. Both
inner products are those of random directions. The item is recalled if the right answer is
above all N - 1 others (`one_step_recall`).
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betainc, lambertw, roots_gegenbauer

LINEAR = 1.3  # d² for each N log N of a matrix (arXiv 2412.06538, Figure 1, its code)
LAYERED = 0.35  # m d for each N log N of an MLP of width m


def stored(
    answers: Float[np.ndarray, "answer width"],
    keys: Float[np.ndarray, "item width"],
    wanted: Int[np.ndarray, " item"],
) -> Float[np.ndarray, "width width"]:
    """W = Σ u_f(z) e_zᵀ."""
    memory: np.ndarray = answers[wanted].T @ keys
    return memory


def gradient(
    answers: Float[np.ndarray, "answer width"],
    keys: Float[np.ndarray, "item width"],
    predicted: Float[np.ndarray, "item answer"],
    true: Float[np.ndarray, "item answer"],
    often: Float[np.ndarray, " item"],
) -> Float[np.ndarray, "width width"]:
    """The lemma: Σ_k E_z[(p̂(k|z) - p(k|z)) u_k e_zᵀ] is the gradient of the cross-entropy."""
    slope: np.ndarray = answers.T @ ((predicted - true) * often[:, None]).T @ keys
    return slope


def recalled(
    weights: Float[np.ndarray, "width width"],
    answers: Float[np.ndarray, "answer width"],
    keys: Float[np.ndarray, "item width"],
    wanted: Int[np.ndarray, " item"],
) -> float:
    """R(W, W*): how often the right answer has the top score."""
    return float(np.mean(np.argmax(keys @ weights.T @ answers.T, axis=1) == wanted))


def one_step_recall(items: float, width: int) -> float:
    """How much one step recalls, were the scores of different answers independent."""
    # over c, by Gauss-Hermite nodes; their weights sum to √(2π)
    normal, chance = np.polynomial.hermite_e.hermegauss(61)
    own = np.sqrt(items - 1) / width * normal[:, None]
    # the outermost nodes can make r² negative, where c has next to no weight
    length = np.sqrt(np.maximum(1 + (items - 1) / width + 2 * own, 0.0))
    # the density of an inner product of directions is (1 - x²)^((d-3)/2): tails are lighter than
    # normal ones, with which recall came out too low
    along, mass = roots_gegenbauer(200, (width - 2) / 2)  # the first inner product
    below = _inner_product_below(1 + own - length * along, width) @ mass
    # below^(N-1) in logarithms: N is large, and need not be whole
    recalled = np.exp((items - 1) * np.log(np.maximum(below / mass.sum(), 1e-300)))
    return float(recalled @ chance / np.sqrt(2 * np.pi))


def _inner_product_below(
    level: Float[np.ndarray, "*shape"], width: int
) -> Float[np.ndarray, "*shape"]:
    """The chance that two random directions have an inner product below a level."""
    inside = np.clip(level, -1.0, 1.0)
    # the square of such an inner product is Beta(1/2, (d-1)/2)
    chance: np.ndarray = 0.5 + 0.5 * np.sign(inside) * betainc(0.5, (width - 1) / 2, inside**2)
    return chance


def capacity(parameters: float, constant: float) -> float:
    """The N with N log N = parameters / constant."""
    # N = exp(x) turns N log N = w into x exp(x) = w, which is Lambert's function
    wanted = parameters / constant
    return float(np.exp(lambertw(wanted).real))
