"""Experiments that run in no time."""

from pathlib import Path

from ontogeny import (
    Accuracy,
    Analogy,
    Experiment,
    GradientDescent,
    Imbalance,
    Loss,
    OneLayer,
    ReadoutDescent,
    Resemblance,
)

TESTS = Path(__file__).parent
ROOT = TESTS.parent

PROBES = {
    "train loss": Loss("train"),
    "success": Accuracy("conclusion"),
    "resemblance": Resemblance("sources", "targets"),
    "imbalance": Imbalance("train"),
}


def tiny(learning_rate=1.0, ratio=2.0, width=16, steps=20, evaluations=5, **changes):
    """An experiment that runs in no time: three tuples, two stages."""
    training = (
        GradientDescent(steps=steps, learning_rate=learning_rate, trainable=("key_query", "value")),
        ReadoutDescent(steps=steps, learning_rate=learning_rate),
    )
    model = OneLayer(width=width, scale=0.1)
    fields = {"task": Analogy(tuples=3, ratio=ratio), "model": model, "training": training}
    return Experiment(**(fields | {"probes": PROBES, "evaluations": evaluations} | changes))
