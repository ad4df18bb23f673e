"""What the document leaves open: declared before any map. N and the GPT-2 are known; d, m, λ, σ₀,
learning rates and numbers of steps did not survive."""

import math
from collections.abc import Mapping
from typing import Any

from ....models.one_layer import OneLayer
from ....tasks.analogy import Analogy
from ...region import Between, Fit, OneOf, Predicted, Region


def balance_margin(experiments: Mapping[str, Any]) -> float:
    """By what factor σ₀ is below 1/√(N d)."""
    (each,) = experiments.values()
    task, model = each.task, each.model
    assert isinstance(task, Analogy) and isinstance(model, OneLayer)
    return -math.log(model.scale * math.sqrt(task.tuples * model.width))


_ONE_LAYER = (
    Between("model.scale", 1e-5, 1e-2, "σ₀ is lost; the theory wants it small", "log"),
    Between("task.ratio", 1.0, 8.0, "κ: 1 to 8 in Table 4", "log"),
    Between("training.0.learning_rate", 0.5, 8.0, "lost", "log"),
    OneOf("model.width", 512, 1024, why="d is lost"),
    OneOf("task.tuples", 50, 100, why="100 in the paper"),
)
BALANCE = Region(
    _ONE_LAYER,
    theory=Predicted("σ₀ < 1/√(N d), an order of magnitude", balance_margin),
)
JOINT_ANALOGY = Region(_ONE_LAYER, trained=(Fit("train loss", below=0.1),))

# GPT-2s of four layers of width 256 and 50 tuples, 120 steps a phase at 1e-3.
_PHASES = (
    Between("training.*.learning_rate", 2e-4, 3e-3, "AdamW's is lost", "log"),
    OneOf("training.*.steps", "x1", "x2", why="lost"),
    Between("model.scale", 0.5, 2.0, "GPT-2's own deviation is 0.02", "times"),
    OneOf("model.width", 128, 256, why="768 in the paper"),
    OneOf("model.depth", 4, 8, why="12 in the paper"),
    Between("task.ratio", 1.0, 8.0, "κ: 1 to 8 in Table 4", "log"),
)
# a phase counts if it fitted what it trained on
LATE_SIMILARITY_REGION = Region(_PHASES, trained=(Fit("remaining loss", below=0.2, of="late"),))
LATE_ATTRIBUTION_REGION = Region(_PHASES, trained=(Fit("attribution loss", below=0.2),))
