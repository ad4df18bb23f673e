"""Experiments that run in no time."""

from ontogeny import (
    Analogy,
    Descent,
    Experiment,
    Imbalance,
    Loss,
    OneLayer,
    ReadoutDescent,
    Resemblance,
    Success,
)

PROBES = {
    "train loss": Loss("train"),
    "success": Success("conclusion"),
    "resemblance": Resemblance("sources", "targets"),
    "imbalance": Imbalance("train"),
}


def tiny(rate=1.0, ratio=2.0, width=16, steps=20, looks=5, **changes):
    """An experiment that runs in no time: three tuples, two stages."""
    regime = (
        Descent(steps=steps, rate=rate, parts=("key_query", "value")),
        ReadoutDescent(steps=steps, rate=rate),
    )
    model = OneLayer(width=width, scale=0.1)
    fields = {"task": Analogy(tuples=3, ratio=ratio), "model": model, "regime": regime}
    return Experiment(**(fields | {"probes": PROBES, "looks": looks} | changes))
