"""Learning facts in order: first the relation, then the subject, in six numbers.

Linear attention over one-hot tokens, every weight α at first (arXiv 2412.06538). Tokens of a kind
stay alike, noise and the end cancel, and gradient descent on the population loss is exactly a map
of six numbers: how much subjects and relations are attended to, and what each says of answers that
fit it and of those that do not. Of a subject and a relation, with D answers to each of R relations:

    the right answer            1            attended to by both
    others of the relation      D - 1        by the relation
    the subject's elsewhere     R - 1        by the subject
    all others                  (R-1)(D-1)   by neither
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


class Learning(NamedTuple):
    """The loss, the relation's part of it and the chance of the right relation, step by step."""

    steps: Int[np.ndarray, " evaluation"]
    loss: Float[np.ndarray, " evaluation"]
    relation_loss: Float[np.ndarray, " evaluation"]

    def falls_below(self, level: float, every: int = 1) -> float:
        """The first of every so many steps with a loss below a level; not a number if none is."""
        below = np.flatnonzero(self.loss[::every] < level)
        return float(self.steps[every * below[0]]) if len(below) else float("nan")


def sequential(
    subjects: int, relations: int, choices: int, learning_rate: float, start: float, steps: int
) -> Learning:
    """Descent from equal weights `start`, on the population loss."""
    S, R, D = subjects, relations, choices
    sizes = np.array([1, D - 1, R - 1, (R - 1) * (D - 1)], float)
    ws, wr = start, start
    s_fits, s_not, r_fits, r_not = start, start, start, start
    losses = np.zeros((steps + 1, 2))
    for step in range(steps + 1):
        logits = np.array(
            [
                ws * s_fits + wr * r_fits,
                ws * s_not + wr * r_fits,
                ws * s_fits + wr * r_not,
                ws * s_not + wr * r_not,
            ]
        )
        weights = sizes * np.exp(logits - logits.max())
        right, same, elsewhere, other = weights / weights.sum()
        losses[step] = -np.log(right), -np.log(right + same)
        # a kind without answers has nothing to share: 0 / 1, not 0 / 0
        one_same = same / max(D - 1, 1)
        one_elsewhere = elsewhere / max(R - 1, 1)
        one_other = other / max((R - 1) * (D - 1), 1)
        # the chance that an answer is given too much, on average over what is asked
        over_s_fits = ((right - 1) + (R - 1) * one_elsewhere) / R
        over_s_not = (one_same + (R - 1) * one_other) / R
        # an answer of a relation fits one subject in D: exact for a table in order if D divides S
        over_r_fits = ((right - 1) + (D - 1) * one_same) / D
        over_r_not = (one_elsewhere + (D - 1) * one_other) / D
        # p̂ - p, summed over the answers that fit; over the others the sum is its negative
        fits_s, fits_r = right + elsewhere, right + same
        slopes = (
            (s_fits * (fits_s - 1) + s_not * (1 - fits_s)) / S,
            (r_fits * (fits_r - 1) + r_not * (1 - fits_r)) / R,
            ws * over_s_fits / S,
            ws * over_s_not / S,
            wr * over_r_fits / R,
            wr * over_r_not / R,
        )
        ws, wr, s_fits, s_not, r_fits, r_not = (
            number - learning_rate * slope
            for number, slope in zip((ws, wr, s_fits, s_not, r_fits, r_not), slopes, strict=True)
        )
    return Learning(np.arange(steps + 1), losses[:, 0], losses[:, 1])
