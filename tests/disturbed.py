"""Experiments slow enough to be disturbed, and what they should answer all the same."""

import numpy as np
from small import tiny

SLOW = {"learning_rate": 0.05, "steps": 100, "evaluations": 100}
EXPERIMENTS = {"a": tiny(**SLOW), "b": tiny(width=20, **SLOW)}


def same(ours, theirs):
    for name in EXPERIMENTS:
        for probe, values in theirs[name].answers.items():
            np.testing.assert_allclose(ours[name].answers[probe], values, rtol=1e-5, atol=1e-6)
