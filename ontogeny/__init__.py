"""Ontogeny: a laboratory of how reasoning emerges in transformers while they train."""

from importlib import import_module
from typing import Any

# Everything heavy is imported when first used, so that `ontogeny --help` answers at once.
_HOMES = {
    "core": (
        "Batch",
        "Experiment",
        "Model",
        "Moment",
        "Probe",
        "Stage",
        "Task",
        "Trace",
        "Until",
    ),
    "fields": ("Invalid",),
    "engine": ("execute",),
    "evidence": ("Evidence", "Measurement", "Outcome", "Run"),
    "store": ("Store",),
    "claim": ("Paper", "judge"),
    "tasks.analogy": ("Analogy", "TwoHop"),
    "tasks.labelled": ("Labelled",),
    "models.one_layer": ("OneLayer", "ReluLayer"),
    "models.gpt2": ("GPT2",),
    "models.deep_linear": ("DeepLinear",),
    "regimes.descent": ("AdamW", "Descent"),
    "regimes.readout": ("ReadoutDescent",),
    "probes.behaviour": ("Loss", "Success"),
    "probes.resemblance": ("PairResemblance", "Resemblance", "ResemblanceByLayer"),
    "probes.attention": ("Imbalance",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
