"""Claims whose truth over a region is planted: nothing is trained."""

import numpy as np
from small import tiny

from ontogeny import Paper, Run
from ontogeny.claims.claim import Claim
from ontogeny.claims.region import Between, OneOf

PAPER = Paper("test", "A test", "https://example.org")
RATIO, RATE = (
    Between("task.ratio", 0.5, 8, spaced="log"),
    Between("training.*.learning_rate", 0.1, 10, spaced="times"),
)
WIDTH = OneOf("model.width", 8, 16, 32)


def made(region, name="made", probe="accuracy"):
    def evidence(x):
        yield x.final(probe).above(0.5)

    return Claim(name, "It is made.", PAPER, "here", {"x": tiny()}, evidence, region=region)


def answering(accuracy, loss=lambda experiment: 0.0, asked=None):
    """An executor that trains nothing: what an experiment answers follows from its fields."""

    def execute(experiments, n, failures=None):
        if asked is not None:
            asked.append((n, len(experiments)))
        return {
            label: Run(
                label,
                np.array([0]),
                {
                    "accuracy": np.full((n, 1), float(accuracy(each))),
                    "train loss": np.full((n, 1), float(loss(each))),
                },
                tuple(range(n)),
                units={"accuracy": "fraction"},
            )
            for label, each in experiments.items()
        }

    return execute


def below_three(experiment):
    return 1.0 if experiment.task.ratio < 3 else 0.0
