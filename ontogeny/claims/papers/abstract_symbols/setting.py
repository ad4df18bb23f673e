"""The experiments of the paper, at both scales, and where they depart from it."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ....core.evidence import Evidence, Measurement, falls_below
from ....core.run import Run
from ....core.types import Experiment, Model, Probe, Until
from ....models.kernel_machine import KernelMachine
from ....models.transformer import Transformer
from ....probes.behaviour import ErrorRate, Loss
from ....probes.kernel import BlockError, Conditioning, IdealGap, PermutationGap
from ....tasks.templates import Templates
from ....training.descent import AdamW
from ....training.kernel import KernelRidge
from ...claim import Paper, Sizes, lazily
from .published import Curve

PAPER = Paper(
    "abstract-symbols",
    "When can transformers reason with abstract symbols?",
    "https://arxiv.org/abs/2310.09753",
)
SEEDS = 5

# ------------------------------------------------------------------------------ trained models

UPTO = Sizes(
    laptop=(4, 8, 16, 32, 64, 128, 256, 512, 1024),
    paper=(4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192),
)
FEW = Sizes(laptop=(32, 128, 512, 1024), paper=(32, 128, 512, 1024, 2048, 8192))
SMALL = {"width": 64, "heads": 8, "head_dim": 32, "mlp_width": 128}
IDENTITY = 16.0  # times a and b; the paper's factors are not known
STEPS = Sizes(laptop=400, paper=1000)  # for up to 1,024 samples
BATCH = Sizes(laptop=32, paper=1024)
EVALUATIONS = Sizes(laptop=20, paper=50)

OURS = (
    Sizes(
        laptop="a transformer of 2 layers of width 64 with 8 heads of 32 (the paper's: 128, 16 of "
        "64), 400 steps of 32 samples (the paper's: 1,000 epochs of batches of 1,024)",
        paper="samples of a batch are drawn anew, not dealt in epochs",
    ),
    "the best of 20 (at paper scale 50) evaluations by validation loss, not of 1,000 epochs",
    "training ends once the validation loss is below 0.001",
)
IDENTITIES = (*OURS, "what a and b add is multiplied by 16, and the rate is 3e-3 with them")

LOSSES: dict[str, Probe] = {
    "train loss": Loss("seen"),
    "validation loss": Loss("validation"),
    "test loss": Loss("test"),
    "test error": ErrorRate("test"),
}


def trained(
    templates: tuple[str, ...],
    samples: Sizes,
    *,
    model: Callable[..., Model] = Transformer,
    small: Mapping[str, Any] = SMALL,
    learning_rate: float = 1e-3,
    steps: Sizes = STEPS,
    batch_size: Sizes = BATCH,
    trainable: tuple[str, ...] = (),
    probes: Mapping[str, Probe] = LOSSES,
    **fields: Any,
) -> Sizes:
    """A model trained on ever more samples of a task, by their number."""

    def size(scale: str) -> dict[int, Experiment]:
        numbers = samples.at(scale)
        sizes = small if scale == "laptop" else {}

        def one(n: int) -> Experiment:
            epochs = math.ceil(n / 1024) if scale == "paper" else 1
            stage = AdamW(
                steps=steps.at(scale) * epochs,
                learning_rate=learning_rate,
                batch_size=batch_size.at(scale),
                trainable=trainable,
                until=Until("validation loss", 1e-3, "below"),
            )
            task = Templates.of(*templates, samples=float(n), most=max(numbers))
            made = model(**{**sizes, **fields})
            return Experiment(task, made, (stage,), dict(probes), evaluations=EVALUATIONS.at(scale))

        return {n: one(n) for n in numbers}

    return lazily(size)


def identities(
    templates: tuple[str, ...],
    samples: Sizes,
    *,
    kq_identity: bool = True,
    vo_identity: bool = False,
    **more: Any,
) -> Sizes:
    """The same with trainable identities, at the rate that suits them."""
    scaled = {"kq_identity": IDENTITY * kq_identity, "vo_identity": IDENTITY * vo_identity}
    return trained(templates, samples, **{"learning_rate": 3e-3, **scaled, **more})


def at(samples: int) -> Sizes:
    """A single number of samples, at both scales."""
    return Sizes((samples,), (samples,))


def only(sized: Sizes) -> Sizes:
    """The one experiment of a sweep over a single number."""
    return lazily(lambda scale: next(iter(sized.at(scale).values())))


def best(run: Run, probe: str = "test loss") -> Measurement:
    """A probe's answer in the best epoch, by validation loss."""
    return run.best(probe, by="validation loss")


def points(
    name: str, runs: Mapping[int, Run], paper: Curve, probe: str = "test loss"
) -> Iterator[Evidence]:
    """Our curve next to the paper's, number by number."""
    for n, run in runs.items():
        yield best(run, probe).beside(paper.get(n), series=name, x=n)


def learnt(runs: Mapping[int, Run], level: float, probe: str = "test loss") -> Measurement:
    """The number of samples at which the curve falls below a level."""
    return falls_below({n: best(run, probe) for n, run in runs.items()}, level)


def learnt_in(paper: Curve, level: float) -> float:
    """The same in a curve of the paper's."""
    whole = {n: Measurement("", np.array([value])) for n, value in paper.items()}
    return float(falls_below(whole, level).values[0])


# ------------------------------------------------------------------------------ kernel regression

RIDGE = 1e-3
KERNEL = (
    "β = 4, γ = 1, b₁ = 1, b₂ = ½ and ridge 0.001 are ours: the theorem says almost any will do",
)
SOLVED: dict[str, Probe] = {
    "train loss": Loss("seen"),
    "test loss": Loss("test"),
    "conditioning": Conditioning(),
    "permutation gap": PermutationGap(),
    "distance from blocks": BlockError(),
    "distance from the ideal": IdealGap(),
}


def regressed(
    templates: tuple[str, ...], samples: int = 1024, ridge: float = RIDGE, **fields: Any
) -> Experiment:
    """Kernel ridge regression on a task; `fields` are the machine's, or the task's."""
    own = {name: fields.pop(name) for name in ("alphabet", "noise") if name in fields}
    task = Templates.of(*templates, samples=float(samples), most=max(1024, samples), **own)
    return Experiment(task, KernelMachine(**fields), (KernelRidge(ridge=ridge),), SOLVED)


def regressed_upto(
    templates: tuple[str, ...], samples: tuple[int, ...], **fields: Any
) -> dict[int, Experiment]:
    """The same on ever more samples."""
    return {n: regressed(templates, n, **fields) for n in samples}
