"""Gradient descent of the embedding-MLP on two hops, exactly, for any number N of subjects.

The model is W = E P. Descent on E and P closes in W, E Eᵀ and Pᵀ P (width is never seen again):

    W′    = W - η (E Eᵀ G + G Pᵀ P) + η² G Wᵀ G         G = ∂L/∂W
    E Eᵀ′ = E Eᵀ - η (G Wᵀ + W Gᵀ) + η² G Pᵀ P Gᵀ
    Pᵀ P′ = Pᵀ P - η (Wᵀ G + Gᵀ W) + η² Gᵀ E Eᵀ G

From a start that no renaming changes (W = 0, E Eᵀ and Pᵀ P multiples of the identity, as in a wide
network) none ever changes W, which so is a few small matrices (`two_hop_symmetry`), as both
products are: forty numbers with complexity one, whatever N.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .two_hop_symmetry import LAST, Structure

Orbits = Float[np.ndarray, " orbit"]


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


class Descent:
    """What descent on the mean cross-entropy of the training set does to two hops of a structure:
    first hops and identities count `ratio` times as much as last hops."""

    def __init__(self, structure: Structure, ratio: float = 1.0) -> None:
        self.structure = structure
        self._from_blocks = np.linalg.inv(structure.to_blocks)
        asked = [structure.candidates(question) for question in structure.trained]
        counts = [structure.product(question.labels) for question in structure.trained]
        # a mean over questions: there are more last hops than first ones if k is above one
        weights = [
            n * (1.0 if question == LAST else ratio)
            for n, question in zip(counts, structure.trained, strict=True)
        ]
        self._asked = [
            (each, weight / sum(weights)) for each, weight in zip(asked, weights, strict=True)
        ]

    def begun(self, size: float) -> list[Products]:
        """A wide network before training: rows of E, columns of P have squared length `size`."""
        # in a wide network independent rows are orthogonal: W = E P is 0 beside both products
        return [
            Products(np.zeros(block.shape), *(size * np.eye(n) for n in block.shape))
            for block in self.structure.blocks
        ]

    def values(self, state: Sequence[Products]) -> Orbits:
        """W, from its blocks."""
        entries = np.concatenate([products.templates.ravel() for products in state])
        return np.asarray(self._from_blocks @ entries)

    def gradient(self, state: Sequence[Products]) -> list[Float[np.ndarray, "token answer"]]:
        """∂L/∂W, block by block."""
        values = self.values(state)
        found = np.zeros(len(values))
        for asked, weight in self._asked:
            logits = asked.logits @ values
            grown = np.exp(logits - logits.max())
            errors = grown / (grown @ asked.counts)
            errors[0] -= 1.0  # the right answer
            found += weight * (asked.gradient @ errors)
        return self.structure.split(self.structure.to_blocks @ found)

    def path(self, steps: int, learning_rate: float, size: float) -> Iterator[Orbits]:
        """W before training and after each step."""
        state = self.begun(size)
        yield self.values(state)
        for _ in range(steps):
            moved = zip(state, self.gradient(state), strict=True)
            state = [products.after(G, learning_rate) for products, G in moved]
            yield self.values(state)

    def flow(self, times: Sequence[float], size: float) -> list[Orbits]:
        """W in gradient flow, at some times (steps × learning rate), for any N in a second."""
        from scipy.integrate import solve_ivp

        start = self.begun(size)
        shapes = [part.shape for products in start for part in products]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

        def read(flat: np.ndarray) -> list[Products]:
            pieces = zip(np.split(flat, ends), shapes, strict=True)
            parts = [piece.reshape(shape) for piece, shape in pieces]
            return [Products(*parts[n : n + 3]) for n in range(0, len(parts), 3)]

        def speed(_: float, flat: np.ndarray) -> np.ndarray:
            state = read(flat)
            moved = zip(state, self.gradient(state), strict=True)
            return np.concatenate([x.ravel() for products, G in moved for x in products.speed(G)])

        flat = np.concatenate([part.ravel() for products in start for part in products])
        found = solve_ivp(
            speed, (0.0, max(times)), flat, "LSODA", t_eval=sorted(times), rtol=1e-8, atol=1e-10
        )
        if not found.success:
            raise ArithmeticError(
                f"the flow of {self.structure} was not followed to its end: {found.message}"
            )
        return [self.values(read(column)) for column in found.y.T]
