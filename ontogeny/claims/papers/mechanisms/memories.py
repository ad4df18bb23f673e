"""Weights as associative memories: gradients write them, and parameters bound them."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ....core.curves import exponent, falls_below, prediction
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....core.types import Experiment, Until
from ....models.memory import LinearMemory, MLPMemory
from ....probes.behaviour import Accuracy, Loss
from ....probes.memory import LemmaError
from ....tasks.associations import Associations
from ....theory.memory import LAYERED, LINEAR, capacity, one_step_recall
from ....training.descent import AdamW, GradientDescent
from ...claim import claim
from ...scale import Scale, Sizes
from .regions import ONE_STEP
from .setting import PAPER

Runs = Mapping[float, Run]
STORED = 0.99  # of the items recalled

# ------------------------------------------------------------------------------ gradients write


def _step(items: int, width: int) -> Experiment:
    """One step of descent on all items, from nothing."""
    return Experiment(
        Associations(most=items, items=float(items)),
        LinearMemory(width=width),
        (GradientDescent(steps=1, learning_rate=float(items), trainable=("weights",)),),  # η/N = 1
        {"recall": Accuracy("train")},
        evaluations=1,
    )


@claim(
    PAPER,
    "Slides: lemma (gradients as memories)",
    departures=("N = 100 items in 32 dimensions, along 40 steps of descent",),
    descending=Experiment(
        Associations(most=100, items=100.0),
        LinearMemory(width=32),
        (GradientDescent(steps=40, learning_rate=300.0, trainable=("weights",)),),
        {"lemma error": LemmaError(), "train loss": Loss("train"), "recall": Accuracy("train")},
        evaluations=10,
    ),
)
def gradients_are_associative_memories(descending: Run) -> Iterator[Evidence]:
    """The gradient of the cross-entropy in W is a sum of memories u_k e_zᵀ, each as strong as the
    model's probability of k after z is off the true one; at every point of training, exactly."""
    yield descending.peak("lemma error").below(1e-6, paper=0.0)
    yield descending.initial("train loss").exceeds(descending.final("train loss"), by=1.0)


STEP_WIDTHS = (16, 32, 64, 128, 256)


@claim(
    PAPER,
    "Slides: lemma, corollary (one gradient step)",
    departures=("N = 256 items; embeddings are uniform on the sphere",),
    region=ONE_STEP,
    by_width={width: _step(256, width) for width in STEP_WIDTHS},
)
def one_gradient_step_recalls(by_width: Runs) -> Iterator[Evidence]:
    """After a single step on the population loss a matrix recalls nearly every one of N items, if
    its dimension is well above √(N log N), here 38; and few of them if it is well below."""
    for width, run in by_width.items():
        yield run.final("recall").beside(None, series="recalled", x=width)
    yield by_width[256].final("recall").above(0.999, paper=1.0)
    yield by_width[128].final("recall").above(0.99, paper=1.0)
    yield by_width[16].final("recall").below(0.2)


STEP_LOADS = (0.125, 0.25, 0.5, 1.0, 2.0)  # items, in units of d² / log d²


@claim(
    PAPER,
    "Slides: lemma, corollary, made quantitative (ours)",
    departures=("embeddings are uniform on the sphere",),
    by_width={
        width: {
            load: _step(int(load * width**2 / math.log(width**2)), width) for load in STEP_LOADS
        }
        for width in (64, 128)
    },
)
def interference_predicts_what_one_step_recalls(
    by_width: Mapping[int, Runs],
) -> Iterator[Evidence]:
    """How much one step recalls follows from the overlap of random directions, with nothing fitted,
    from nearly everything down to next to nothing."""
    for width, runs in by_width.items():
        for load, run in runs.items():
            recall = run.final("recall")
            items = int(load * width**2 / math.log(width**2))
            expected = one_step_recall(items, width)
            yield recall.beside(None, series=f"width {width}", x=items)
            series = f"width {width}"
            yield prediction(expected, recall).beside(None, series=series, x=items)
            yield recall.near(expected, within=0.05)


# ------------------------------------------------------------------------------ parameters bound

MEMORY_LOADS = (0.6, 0.8, 1.0, 1.25, 1.6)  # items, in units of the published guide line
SEARCH = "N on a grid around the guide line, the crossing interpolated; the paper's: binary search"


def _filled(
    model: LinearMemory | MLPMemory,
    guide: float,
    trainable: tuple[str, ...],
    learning_rate: float,
    steps: int,
    classes: int = 0,
) -> dict[float, Experiment]:
    """A memory trained on ever more items, by their number over the guide line's."""
    most = round(MEMORY_LOADS[-1] * guide)
    stage = AdamW(
        steps=steps,
        learning_rate=learning_rate,
        trainable=trainable,
        # as published
        until=Until("recall", STORED, "above"),
    )
    probes = {"recall": Accuracy("train"), "train loss": Loss("train")}

    def one(part: float) -> Experiment:
        task = Associations(most=most, items=float(round(part * guide)), classes=classes)
        return Experiment(task, model, (stage,), probes, evaluations=16)

    return {part: one(part) for part in MEMORY_LOADS}


def _stored(runs: Runs) -> Measurement:
    """Where along the grid a memory no longer recalls 99 %, in units of the guide line."""
    return falls_below({part: run.peak("recall") for part, run in runs.items()}, STORED)


class Filled(NamedTuple):
    """A memory's parameters, the items that the guide line gives it, and what it stored of them."""

    parameters: int
    guide: float
    stored: Measurement

    @property
    def items(self) -> Measurement:
        """How many items were stored."""
        return self.stored.map(lambda stored: stored * self.guide, "items stored")


def _beside_the_guide(memories: list[Filled]) -> Iterator[Evidence]:
    for memory in memories:
        series = "items stored"
        yield memory.items.beside(memory.guide, series=series, x=memory.parameters)
        yield memory.stored.within_factor(1.0, 1.5, paper=1.0)


def _entropy(items: Measurement) -> Measurement:
    """N log N."""
    return items.map(lambda number: number * np.log(np.maximum(number, 1)), "N log N")


def _grows_with_parameters(memories: list[Filled]) -> Evidence:
    points = [(float(memory.parameters), _entropy(memory.items)) for memory in memories]
    return exponent(points).near(1.0, within=0.15, paper=1.0)


# powers of √2, as published
MATRICES = Sizes(laptop=(11, 16, 23, 32, 45), paper=(8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256))


def _matrices(scale: Scale) -> dict[int, dict[float, Experiment]]:
    def one(width: int) -> dict[float, Experiment]:
        guide = capacity(width**2, LINEAR)
        # the published rate of AdamW is 1,000, no slip of ours
        return _filled(LinearMemory(width=width), guide, ("weights",), 1000.0, 4096)

    return {width: one(width) for width in MATRICES(scale)}


@claim(
    PAPER,
    "Slides: capacity ≈ number of parameters; arXiv 2412.06538, Figure 1, left",
    departures=(SEARCH,),
    by_width=_matrices,
)
def a_matrix_stores_as_much_as_it_has_parameters(
    by_width: Mapping[int, Runs],
) -> Iterator[Evidence]:
    """The number N of items that a d × d matrix recalls between random embeddings grows like its
    parameters: N log N = d² / 1.3."""
    memories = [
        Filled(width**2, capacity(width**2, LINEAR), _stored(runs))
        for width, runs in by_width.items()
    ]
    yield from _beside_the_guide(memories)
    yield _grows_with_parameters(memories)


MLP_SHAPES = Sizes(
    laptop=((8, 8), (11, 22), (16, 16), (16, 32), (16, 64)),
    paper=tuple((d, a * d) for d in (8, 11, 16, 23, 32, 45, 64, 91) for a in (1, 2, 4, 8)),
)
FEW_SHAPES = Sizes(laptop=((8, 16), (16, 16), (16, 32)), paper=MLP_SHAPES.paper)
MLP_STEPS = Sizes(laptop=4096, paper=32768)
CLASSES, PER_CLASS = 32, 1.2  # with 32 answers N = m d / 1.2


def _mlps(
    scale: Scale, shapes: Iterable[tuple[int, int]], classes: int
) -> dict[str, dict[float, Experiment]]:
    def one(width: int, mlp_width: int) -> dict[float, Experiment]:
        model = MLPMemory(width=width, mlp_width=mlp_width)
        guide = _mlp_guide(mlp_width * width, classes)
        return _filled(model, guide, ("mlp_in", "mlp_out"), 3e-2, MLP_STEPS(scale), classes)

    return {f"{m} × {d}": one(d, m) for d, m in shapes}


def _mlp_guide(product: int, classes: int) -> float:
    return product / PER_CLASS if classes else capacity(product, LAYERED)


def _mlp_memories(by_size: Mapping[str, Runs], classes: int) -> list[Filled]:
    products = {name: math.prod(map(int, name.split(" × "))) for name in by_size}
    return [
        Filled(products[name], _mlp_guide(products[name], classes), _stored(runs))
        for name, runs in by_size.items()
    ]


@claim(
    PAPER,
    "Slides: extends to MLPs; arXiv 2412.06538, Figure 1, right",
    departures=(SEARCH,),
    by_size=lambda scale: _mlps(scale, MLP_SHAPES(scale), 0),
)
def an_mlp_stores_as_much_as_it_has_parameters(
    by_size: Mapping[str, Runs],
) -> Iterator[Evidence]:
    """The number N of items that an MLP of width m recalls between embeddings of dimension d grows
    like its parameters, whatever their shape: N log N = m d / 0.35."""
    memories = _mlp_memories(by_size, 0)
    yield from _beside_the_guide(memories)
    yield _grows_with_parameters(memories)


@claim(
    PAPER,
    "arXiv 2412.06538, Figure 6 (32 answers)",
    departures=(SEARCH,),
    by_size=lambda scale: _mlps(scale, FEW_SHAPES(scale), CLASSES),
)
def with_few_answers_storage_is_proportional(by_size: Mapping[str, Runs]) -> Iterator[Evidence]:
    """Where all items share 32 answers, an MLP stores in proportion to its parameters: no logarithm
    is left, N = m d / 1.2."""
    memories = _mlp_memories(by_size, CLASSES)
    yield from _beside_the_guide(memories)
    points = [(float(memory.parameters), memory.items) for memory in memories]
    yield exponent(points).near(1.0, within=0.15, paper=1.0)
