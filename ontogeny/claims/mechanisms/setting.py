"""The source, and what its claims share."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...claim import Paper, Sizes
from ...evidence import Measurement

PAPER = Paper(
    "mechanisms",
    "Some Mechanisms in Transformers and their Emergence (talk, 2025) and the papers it rests on",
    "https://arxiv.org/abs/2306.00802",
)
SEEDS = 5


def lazily(size: Callable[[str], Any]) -> Sizes:
    """What a function makes of each scale, once it is asked for."""
    made = cache(size)
    return Sizes(lambda: made("laptop"), lambda: made("paper"))


def told(value: float, like: Measurement, what: str = "") -> Measurement:
    """A number of theory, as often as there are seeds."""
    return Measurement(what, np.full(len(like.values), value))
