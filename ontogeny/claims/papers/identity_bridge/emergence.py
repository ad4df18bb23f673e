"""Beyond the paper: when two hops compose, from descent in a few numbers, and why complexity hurts.

Everything here is about the embedding-MLP, which descent of a few small matrices follows exactly.
"""

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from ....core.curves import monotone, prediction
from ....core.evidence import Evidence
from ....core.run import Run
from ....core.types import Experiment
from ....models.embedding_mlp import EmbeddingMLP
from ....probes.behaviour import Accuracy, Loss
from ....tasks.two_hop import TwoHop
from ....theory.two_hop_descent import Descent
from ....theory.two_hop_symmetry import COMPOSED, Structure
from ....training.convex import SymmetricOptimum
from ....training.descent import GradientDescent
from ...claim import claim
from .setting import PAPER, SMALL_GAMMA, SOLVED, SOLVED_EXACTLY, solved

WIDTH, LEARNING_RATE, STEPS = 512, 2.0, 3000
SERIES = "first step at which half the compositions are right"
WIDE = f"width {WIDTH}, learning rate {LEARNING_RATE:g}"
FACTOR = 1.25  # how near in time a prediction has to be


def _trained(task: TwoHop, evaluations: int | tuple[int, ...]) -> Experiment:
    stage = GradientDescent(steps=STEPS, learning_rate=LEARNING_RATE)
    probes = {"train loss": Loss("train"), "accuracy": Accuracy("composed")}
    model = EmbeddingMLP(width=WIDTH, gamma=SMALL_GAMMA)
    return Experiment(task, model, (stage,), probes, evaluations=evaluations)


@cache
def flips(structure: Structure) -> tuple[int, ...]:
    """The steps at which a very wide model begins to compose, stops, begins again, and so on."""
    # a row of E has `width` entries of variance width^(-2γ): their squares sum to width^(1-2γ)
    path = Descent(structure).path(STEPS, LEARNING_RATE, size=WIDTH ** (1 - 2 * SMALL_GAMMA))
    right = [structure.margin(values, COMPOSED) > 0 for values in path]
    return tuple((np.flatnonzero(np.diff(right)) + 1).tolist())


@claim(
    PAPER,
    "Section 4, when composition appears (ours)",
    departures=(f"{WIDE}, evaluations every 10 steps",),
    by_subjects={
        subjects: _trained(TwoHop(subjects=subjects), 300) for subjects in (10, 20, 40, 80)
    },
)
def forty_numbers_predict_when_two_hops_compose(
    by_subjects: Mapping[int, Run],
) -> Iterator[Evidence]:
    """Descent followed exactly in forty numbers, for any number of subjects, says at which step the
    embedding-MLP begins to compose; nothing is fitted."""
    for subjects, run in by_subjects.items():
        found, theory = run.first_step_above("accuracy", 0.5), flips(Structure(subjects))[0]
        yield found.within_factor(theory, FACTOR)
        yield found.beside(None, series=SERIES, x=subjects)
        yield prediction(theory, found).beside(None, series=SERIES, x=subjects)


# ------------------------------------------------------ decline with complexity: bias or slowness

COMPLEXITIES_LOST = {2: (135, 363), 4: (357, 1707)}
"""With 20 subjects, between which steps the reduction has compositions wrong that were right
before (`flips`, tested)."""


@claim(
    PAPER,
    "Figure 2, the decline of the embedding-MLP: not the bias (ours)",
    departures=SOLVED,
    exact=SOLVED_EXACTLY,
    extra="theory",
    by_complexity={
        complexity: solved(SymmetricOptimum(), 20, identity=1.0, complexity=complexity)
        for complexity in (1, 2, 4, 8)
    },
)
def the_bias_composes_the_better_the_higher_the_complexity(
    by_complexity: Mapping[int, Run],
) -> Iterator[Evidence]:
    """The templates of least nuclear norm compose at every complexity, with a margin that grows
    with it: what declines with complexity is not what training is drawn to."""
    margins = {
        complexity: run.final("margin of each").least() for complexity, run in by_complexity.items()
    }
    for margin in margins.values():
        yield margin.above(0.5)
    yield monotone({complexity: margins[complexity] for complexity in (1, 2, 4)}, rises=True)


@claim(
    PAPER,
    "Figure 2, the decline of the embedding-MLP: slowness (ours)",
    departures=(WIDE,),
    by_complexity={
        complexity: _trained(
            TwoHop(subjects=20, complexity=complexity),
            ((lost + won) // 2, round(FACTOR * won)),
        )
        for complexity, (lost, won) in COMPLEXITIES_LOST.items()
    },
)
def complexity_delays_composition_in_the_embedding_mlp(
    by_complexity: Mapping[int, Run],
) -> Iterator[Evidence]:
    """At higher complexity compositions come to be right, are wrong again while single hops are
    learnt, and are right for good later, the later the higher the complexity: when, descent in a
    few numbers says."""
    for complexity, run in by_complexity.items():
        lost, won = COMPLEXITIES_LOST[complexity]
        yield run.at("accuracy", (lost + won) // 2).below(0.5)
        yield run.at("accuracy", round(FACTOR * won)).above(0.5)
