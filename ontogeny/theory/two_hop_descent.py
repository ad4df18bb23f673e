"""Gradient descent of the embedding-MLP on two hops, exactly, for any number N of subjects.

The model is W = E P. Descent on E and P closes in W, E Eᵀ and Pᵀ P (width is never seen again):

    W′    = W - η (E Eᵀ G + G Pᵀ P) + η² G Wᵀ G         G = ∂L/∂W
    E Eᵀ′ = E Eᵀ - η (G Wᵀ + W Gᵀ) + η² G Pᵀ P Gᵀ
    Pᵀ P′ = Pᵀ P - η (Wᵀ G + Gᵀ W) + η² Gᵀ E Eᵀ G

From a start that no renaming of subjects changes (W = 0, E Eᵀ and Pᵀ P multiples of the identity,
as in a wide network) every block stays x I + y J. Such matrices are numbers twice: x on what
differs between entities, x + N y on their sum. So all is a few small matrices, whatever N.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .two_hop import Symmetric


class Products(NamedTuple):
    """W, E Eᵀ and Pᵀ P on one kind of directions."""

    templates: Float[np.ndarray, "token answer"]
    tokens: Float[np.ndarray, "token token"]
    answers: Float[np.ndarray, "answer answer"]

    def speed(self, G: Float[np.ndarray, "token answer"]) -> "Products":
        """How fast they change in gradient flow."""
        W, E, P = self
        return Products(-(E @ G + G @ P), -(G @ W.T + W @ G.T), -(W.T @ G + G.T @ W))

    def after(self, G: Float[np.ndarray, "token answer"], learning_rate: float) -> "Products":
        """What a step of descent makes of them."""
        W, E, P = self
        # the η² terms: steps, not flow, so that it agrees with training to rounding
        bends = G @ W.T @ G, G @ P @ G.T, G.T @ E @ G
        moved = zip(self, self.speed(G), bends, strict=True)
        return Products(
            *(old + learning_rate * speed + learning_rate**2 * bend for old, speed, bend in moved)
        )


class Descended(NamedTuple):
    """The model on what differs between entities (subjects, bridges × bridges, objects), and on
    their sums (subjects, bridges, r1, r2 × bridges, objects)."""

    apart: Products
    together: Products

    def twelve(self, N: int) -> Symmetric:
        """The numbers of its symmetric form."""
        x = self.apart.templates
        y = (self.together.templates[:2] - x) / N
        # a row α 1ᵀ sees the unit vector of ones as α √N
        rows = self.together.templates[2:] / N**0.5
        (a1, b1), (c1, d1) = x.tolist()
        (a2, b2), (c2, d2) = y.tolist()
        (alpha1, beta1), (alpha2, beta2) = rows.tolist()
        return Symmetric(a1, a2, b1, b2, c1, c2, d1, d2, alpha1, alpha2, beta1, beta2)


def begun(size: float) -> Descended:
    """A wide network before training: rows of E and columns of P have squared length `size`."""
    return Descended(
        # in a wide network independent rows are orthogonal: W = E P is 0 beside both products
        Products(np.zeros((2, 2)), size * np.eye(2), size * np.eye(2)),
        Products(np.zeros((4, 2)), size * np.eye(4), size * np.eye(2)),
    )


def descent(
    N: int, steps: int, learning_rate: float, size: float, identity: bool = True, ratio: float = 1.0
) -> Iterator[Descended]:
    """The model before training and after each step on the mean cross-entropy of the training set:
    first hops and identities count `ratio` times as much as last hops."""
    state = begun(size)
    yield state
    for _ in range(steps):
        apart, together = _gradient(state.twelve(N), N, identity, ratio)
        state = Descended(
            state.apart.after(apart, learning_rate), state.together.after(together, learning_rate)
        )
        yield state


def composed(twelve: Symmetric) -> float:
    """How far, asked s r1 r2, the right object leads the likeliest other answer (of N > 1)."""
    a1, a2, b1, b2, _, _, _, _, alpha1, alpha2, beta1, beta2 = twelve
    bridges = max(a1, 0.0) + a2 + alpha1 + alpha2
    right, other = b1 + b2 + beta1 + beta2, b2 + beta1 + beta2
    return float(right - max(bridges, other))


def _gradient(
    twelve: Symmetric, N: int, identity: bool, ratio: float
) -> tuple[Float[np.ndarray, "2 2"], Float[np.ndarray, "4 2"]]:
    """∂L/∂W on both kinds of directions."""
    a1, a2, b1, b2, c1, c2, d1, d2, alpha1, alpha2, beta1, beta2 = twelve
    whole = 1.0 + ratio + ratio * identity
    first = _residual((a1, a2 + alpha1), (b1, b2 + beta1), 0, N) * ratio / whole / N
    last = _residual((c1, c2 + alpha2), (d1, d2 + beta2), 1, N) / whole / N
    same = _residual((c1, c2), (d1, d2), 0, N) * ratio * identity / whole / N
    subjects, bridges = first, last + same
    own, others = np.stack([subjects, bridges]).transpose(2, 0, 1)  # each token × answer
    apart = own - others
    sums = apart + N * others
    # r1 occurs in every first hop, r2 in every last one; √N, as its row is met along ones/√N
    relations = N**0.5 * np.stack([_whole(first, N), _whole(last, N)])
    return apart, np.concatenate([sums, relations])


def _whole(residual: Float[np.ndarray, "answer 2"], N: int) -> Float[np.ndarray, " answer"]:
    """What all questions of a kind say to one answer."""
    return np.asarray(residual[:, 0] + (N - 1) * residual[:, 1])


def _residual(
    bridges: tuple[float, float], objects: tuple[float, float], target: int, N: int
) -> Float[np.ndarray, "answer 2"]:
    """Softmax less the target, for the own and for each other bridge, and likewise object; a family
    is given by how far its own leads and where the others are."""
    logits = np.array([(lead + rest, rest) for lead, rest in (bridges, objects)])
    counts = np.array([1.0, N - 1.0])
    grown = np.exp(logits - logits.max())
    chances = grown / (grown * counts).sum()
    chances[target, 0] -= 1.0
    return np.asarray(chances)


def flow(
    N: int, times: Sequence[float], size: float, identity: bool = True, ratio: float = 1.0
) -> list[Descended]:
    """Gradient flow, at some times (steps × learning rate), for any N in a second."""
    from scipy.integrate import solve_ivp

    start = begun(size)
    shapes = [part.shape for products in start for part in products]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])

    def read(flat: np.ndarray) -> Descended:
        parts = [
            piece.reshape(shape)
            for piece, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)
        ]
        return Descended(Products(*parts[:3]), Products(*parts[3:]))

    def speed(_: float, flat: np.ndarray) -> np.ndarray:
        state = read(flat)
        gradients = _gradient(state.twelve(N), N, identity, ratio)
        moved = [part for p, G in zip(state, gradients, strict=True) for part in p.speed(G)]
        return np.concatenate([part.ravel() for part in moved])

    flat = np.concatenate([part.ravel() for products in start for part in products])
    found = solve_ivp(
        speed, (0.0, max(times)), flat, "LSODA", t_eval=sorted(times), rtol=1e-8, atol=1e-10
    )
    if not found.success:
        raise ArithmeticError(f"the flow for N = {N} was not followed to its end: {found.message}")
    return [read(column) for column in found.y.T]
