"""Factual recall: how many facts fit, and in which order they are learnt."""

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from ....core.curves import exponent, falls_below, prediction
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....core.types import Experiment, Probe, Until
from ....models.recall import RECALLING, RecallAttention, UniformAttention
from ....probes.behaviour import Accuracy, Loss
from ....probes.facts import Hallucination, RelationEntropy, RelationLoss, RelationMass
from ....tasks.facts import Facts
from ....theory.hallucination import sequential
from ....training.descent import AdamW, GradientDescent
from ...claim import COSTLY, claim
from ...scale import Scale, Sizes
from .setting import PAPER

# ------------------------------------------------------------------------------ how many fit

PER_PARAMETER = 0.15  # facts, in the paper's code
HEADS = 8
FACTS_STEPS = Sizes(laptop=8192, paper=16384)
FACTS_LENGTH = Sizes(laptop=8, paper=32)
FACTS_ROWS = Sizes(laptop=256, paper=1024)
ONE_RATE = "learning rate 0.01 (the paper's: the best of three)"


def recalling(
    scale: Scale,
    subjects: int,
    most: int,
    width: int,
    heads: int,
    head_dim: int,
    mlp_width: int,
    steps: Sizes[int] = FACTS_STEPS,
) -> Experiment:
    """A layer of attention, and of an MLP if `mlp_width`, trained on S × S facts."""
    task = Facts(
        most=most,
        subjects=float(subjects),
        relations=float(subjects),
        length=FACTS_LENGTH(scale),
        rows=FACTS_ROWS(scale),
    )
    stage = AdamW(
        steps=steps(scale),
        learning_rate=1e-2,
        trainable=RECALLING if mlp_width else RECALLING[:-1],
        # as published: it stops there, so that its best recall is what counts
        until=Until("recall", 0.99, "above"),
    )
    model = RecallAttention(width=width, heads=heads, head_dim=head_dim, mlp_width=mlp_width)
    probes: dict[str, Probe] = {"train loss": Loss("train"), "recall": Accuracy("test")}
    return Experiment(task, model, (stage,), probes, evaluations=16)


def parameters(width: int, heads: int, head_dim: int, mlp_width: int) -> int:
    """What is trained: queries, keys, values and outputs, and two layers."""
    return 4 * heads * head_dim * width + 2 * mlp_width * width


FACTS_WIDTHS = Sizes(laptop=(8, 12, 16), paper=(8, 11, 16, 23, 32, 45, 64, 91, 128, 181))
# the line is for facts, S R = S²: half the subjects are a quarter of the facts
FACTS_LOADS = (0.35, 0.5, 0.7, 1.0)  # subjects, in units of the guide line's


def _shape(width: int) -> tuple[int, int, int, int]:
    """α = β = 4: heads and MLP units are four times the width together, each."""
    return width, HEADS, 4 * width // HEADS, 4 * width


def _facts_guide(width: int) -> float:
    """Subjects, and relations, of as many facts as the guide line gives."""
    return math.sqrt(PER_PARAMETER * parameters(*_shape(width)))


def _squared(part: np.ndarray, guide: float) -> np.ndarray:
    """As many facts as there are subjects times relations."""
    return np.asarray((part * guide) ** 2)


def _by_width(scale: Scale) -> dict[int, dict[float, Experiment]]:
    def one(width: int) -> dict[float, Experiment]:
        most = math.ceil(_facts_guide(width))
        numbers = {part: round(part * _facts_guide(width)) for part in FACTS_LOADS}
        return {p: recalling(scale, n, most, *_shape(width)) for p, n in numbers.items()}

    return {width: one(width) for width in FACTS_WIDTHS(scale)}


@claim(
    PAPER,
    "Slides: factual recall, theorem; arXiv 2412.06538, Figure 4, left",
    departures=(ONE_RATE, "subjects on a grid below the guide line, the crossing interpolated"),
    by_width=_by_width,
)
def facts_stored_grow_with_parameters(
    by_width: Mapping[int, Mapping[float, Run]],
) -> Iterator[Evidence]:
    """The number of facts that one layer of attention with an MLP recalls is proportional to its
    parameters: about 0.15 facts for each."""
    points: list[tuple[float, Measurement]] = []
    for width, runs in by_width.items():
        part = falls_below({p: run.peak("recall") for p, run in runs.items()}, 0.99)
        size, guide = parameters(*_shape(width)), _facts_guide(width)
        facts = part.map(partial(_squared, guide=guide), "facts recalled")
        yield facts.beside(PER_PARAMETER * size, series="facts recalled", x=size)
        each = facts.map(partial(np.multiply, 1 / size), f"facts per parameter, width {width}")
        yield each.within_factor(PER_PARAMETER, 2, paper=PER_PARAMETER)
        points.append((float(size), facts))
    yield exponent(points).near(1.0, within=0.25, paper=1.0)


# Subjects and relations 32, width 32, heads of 8: the published boundary in (attention, MLP)
# parameters is MLP = 2300 - attention / 2, where attention counts H d d_h.
TRADE_STEPS = Sizes(laptop=4096, paper=16384)
TRADES = {
    # H d d_h = 5,120: beyond 4,700 no MLP is needed
    "attention alone, ample": (20, 0),
    # 1,024: below 1,280 no MLP is enough in their grid
    "attention alone, scarce": (4, 0),
    "both, above the boundary": (12, 32),
    "both, below the boundary": (6, 8),
    "mostly MLP": (8, 64),
}


@claim(
    PAPER,
    "arXiv 2412.06538, Figure 4, right",
    departures=(ONE_RATE, "five points of the published grid of 13 × 14"),
    by_shape=lambda scale: {
        name: recalling(scale, 32, 32, 32, heads, 8, mlp_width, TRADE_STEPS)
        for name, (heads, mlp_width) in TRADES.items()
    },
)
def attention_and_mlp_trade_off(by_shape: Mapping[str, Run]) -> Iterator[Evidence]:
    """Facts may be stored in attention or in the MLP: with enough of either, or of both together,
    1,024 facts are recalled; with too little of both they are not."""
    for name in ("attention alone, ample", "both, above the boundary", "mostly MLP"):
        yield by_shape[name].peak("recall").above(0.95, paper=0.99)
    for name in ("attention alone, scarce", "both, below the boundary"):
        yield by_shape[name].peak("recall").below(0.9)


# ------------------------------------------------------------------------------ in which order

GUESSING_EVALUATIONS = 128
GUESSING: dict[str, Probe] = {
    "train loss": Loss("train"),
    "relation loss": RelationLoss(),
    "relation mass": RelationMass(),
    "entropy inside the relation": RelationEntropy(),
    "divergence from p(a|r)": Hallucination(),
    "accuracy": Accuracy("test"),
}


def learning(
    subjects: int, relations: int, choices: int, steps: int = 8192, rows: int = 1024
) -> Experiment:
    """Descent of linear attention on one-hot tokens, all weights equal at first."""
    task = Facts(
        most=max(subjects, relations),
        subjects=float(subjects),
        relations=float(relations),
        choices=choices,
        table="in order",
        noise=subjects + relations,
        rows=rows,
    )
    stage = GradientDescent(steps=steps, learning_rate=0.1)  # rate, 1e-5 and 8,192 steps: published
    return Experiment(
        task, UniformAttention(scale=1e-5), (stage,), GUESSING, evaluations=GUESSING_EVALUATIONS
    )


ORDERED = "each step takes {} fresh samples; evaluations are {} steps apart"


@claim(
    PAPER,
    "Slides: training dynamics, theorem; arXiv 2412.06538, Figure 5",
    seeds=COSTLY,
    headline=True,
    departures=(ORDERED.format("1,024", 64),),
    trained=learning(16, 4, 8),
)
def a_model_hallucinates_before_it_recalls(trained: Run) -> Iterator[Evidence]:
    """Learning facts, linear attention first answers from the relation alone, as likely with any
    answer that fits it: the loss stays at log 8; later, and to the end, it comes to know them."""
    yield trained.initial("train loss").near(math.log(32), within=0.01, paper=math.log(32))
    yield trained.initial("relation loss").near(math.log(4), within=0.01, paper=math.log(4))
    # published: it falls between 1,500 and 1,900
    yield trained.first_step_below("relation loss", 0.7).near(1700, within=200, paper=1700)
    for step in (2400, 3000):
        yield trained.at("train loss", step).near(math.log(8), within=0.05, paper=math.log(8))
    yield trained.at("relation mass", 3000).above(0.95, paper=1.0)
    yield trained.at("entropy inside the relation", 3000).above(2.0, paper=math.log(8))
    yield trained.at("divergence from p(a|r)", 3000).below(0.1, paper=0.0)
    yield trained.at("accuracy", 3000).below(0.3, paper=1 / 8)
    yield trained.first_step_below("train loss", 1.9).within_factor(3800, 1.2, paper=3800)
    yield trained.first_step_below("train loss", 0.1).within_factor(4900, 1.2, paper=4900)
    yield trained.final("train loss").below(0.01, paper=0.0)
    yield trained.final("accuracy").above(0.999, paper=1.0)


OTHERS = {
    "16, 4, 8": (16, 4, 8),
    "8, 8, 4": (8, 8, 4),
    "32, 4, 4": (32, 4, 4),
    "12, 6, 6": (12, 6, 6),
}
LONGER = 12288


@claim(
    PAPER,
    "Slides: training dynamics, in six numbers (ours)",
    departures=(ORDERED.format(256, 96),),
    by_world={name: learning(*sizes, steps=LONGER, rows=256) for name, sizes in OTHERS.items()},
)
def six_numbers_predict_when_facts_are_learnt(by_world: Mapping[str, Run]) -> Iterator[Evidence]:
    """When the relation is learnt, how long the model hallucinates and when it knows its facts
    follow, for any number of subjects, relations and answers, from descent in six numbers."""
    for name, run in by_world.items():
        subjects, relations, choices = OTHERS[name]
        theory = sequential(subjects, relations, choices, 0.1, 1e-5, LONGER)
        levels = {
            # most of the way down to the plateau at log D, and some way down from it
            "relation": math.log(choices) + 0.15 * math.log(relations),
            "subject": math.log(choices) - 0.15 * math.log(choices),
        }
        for what, level in levels.items():
            found = run.first_step_below("train loss", level).named(f"{what} learnt at step")
            # theory is read at the same steps at which runs are evaluated
            known = theory.falls_below(level, every=LONGER // GUESSING_EVALUATIONS)
            yield found.within_factor(known, 1.05)
            yield found.beside(None, series=f"{what} learnt", x=subjects * relations)
            yield prediction(known, found).beside(
                None, series=f"{what} learnt", x=subjects * relations
            )
