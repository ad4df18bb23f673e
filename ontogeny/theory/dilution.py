"""How attention thins out in a longer context when every other clause draws as much of it.

An answer is given its next by two clauses: a predicate and itself. After t answers to a chain of L
actions, L + t - 1 other clauses are in sight. If each of them weighs w times as much as those two
together, the attention leakage to them has the odds w (L + t - 1).
"""

import numpy as np
from jaxtyping import Float


def others(chain: int) -> Float[np.ndarray, " answer"]:
    """How many clauses each answer can see besides the two it needs."""
    # L - 1 predicates, and the answers before its own
    return chain - 1.0 + np.arange(chain)


def weight(leakage: Float[np.ndarray, "*seed answer"]) -> Float[np.ndarray, "*seed"]:
    """What another clause weighs, given what every answer of a chain loses."""
    odds = leakage / (1 - leakage)
    return np.asarray(np.mean(odds / others(leakage.shape[-1]), axis=-1))


def diluted(weight: Float[np.ndarray, "*seed"], chain: int) -> Float[np.ndarray, "*seed answer"]:
    """What every answer of a chain loses, given what another clause weighs."""
    odds = weight[..., None] * others(chain)
    return np.asarray(odds / (1 + odds))
