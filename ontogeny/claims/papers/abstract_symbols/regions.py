"""What the document leaves open, or what differs here: declared before any map."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ....models.kernel_machine import KernelMachine
from ....tasks.templates import Templates
from ....theory.template_kernel import learning_curve, of_templates
from ....training.kernel import KernelRidge
from ...region import Between, Fit, OneOf, Predicted, Region


def learning_curve_margin(experiments: Mapping[str, Any]) -> float:
    """By what factor the loss that N predicts for the most samples is below the claim's 0.1."""
    most = max(experiments.values(), key=lambda each: each.task.samples)
    task, model, (stage,) = most.task, most.model, most.training
    assert isinstance(task, Templates) and isinstance(model, KernelMachine)
    assert isinstance(stage, KernelRidge)
    templates = task.parsed
    labels = np.array([template.value for template in templates])
    kernel = of_templates(templates, beta=model.beta, gamma=model.gamma)
    lifted = kernel.lifted(frequency=model.frequency, phase=model.phase)
    (loss,) = learning_curve(lifted, labels, np.array([task.samples]), stage.ridge)
    return float(np.log(0.1 / loss))


# Theorem 4.4 holds for "almost any" kernel of its family and gives no numbers. Where regression is
# solved, the ridge is free as well.
KERNEL_SETTINGS = (
    Between("model.beta", 0.5, 16.0, "any inverse temperature above 0", "log"),
    Between("model.gamma", 0.1, 4.0, "any strength of positions above 0", "log"),
    Between("model.frequency", 0.25, 4.0, "almost any b₁", "log"),
    Between("model.phase", 0.0, 3.14, "almost any b₂, up to a half turn"),
    Between("training.*.ridge", 1e-6, 1e-1, "vanishing, at an unknown rate", "log"),
)
SAMPLES_REGION = Region(
    KERNEL_SETTINGS,
    theory=Predicted(
        "the loss that N predicts for all samples is below 0.1", learning_curve_margin
    ),
)
DIVERSITY_REGION = Region(KERNEL_SETTINGS)

# Figure 1 at 256 samples. The document trains depth 2, width 128, 16 heads of 64, full batches at
# the best of several rates; a laptop's width, batch and steps are smaller, the factor of a is lost.
IDENTITY_REGION = Region(
    (
        Between("training.*.learning_rate", 3e-4, 1e-2, "published: the best of a grid", "log"),
        Between("kq_identity.model.kq_identity", 1.0, 64.0, "what multiplies a is not told", "log"),
        OneOf("model.width", 32, 64, 128, why="published: 128"),
        OneOf("model.heads", 4, 8, 16, why="published: 16"),
        OneOf("training.*.batch_size", 32, 128, why="published: all samples"),
        Between("model.scale", 0.5, 2.0, "the published program's initial scales", "times"),
    ),
    trained=(Fit("train loss", below=0.1),),
)
