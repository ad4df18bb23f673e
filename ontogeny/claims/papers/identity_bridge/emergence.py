"""Beyond the paper: when two hops begin to compose, from descent in a few numbers."""

from collections.abc import Iterator, Mapping

from ....core.curves import prediction
from ....core.evidence import Evidence
from ....core.run import Run
from ....core.types import Experiment
from ....models.embedding_mlp import EmbeddingMLP
from ....probes.behaviour import Accuracy, Loss
from ....tasks.two_hop import TwoHop
from ....theory.two_hop_descent import composed, descent
from ....training.descent import GradientDescent
from ...claim import claim
from .setting import PAPER, SMALL_GAMMA

WIDTH, LEARNING_RATE, STEPS = 512, 2.0, 3000
SERIES = "first step at which half the compositions are right"


def _trained(subjects: int) -> Experiment:
    stage = GradientDescent(steps=STEPS, learning_rate=LEARNING_RATE)
    probes = {"train loss": Loss("train"), "accuracy": Accuracy("composed")}
    model = EmbeddingMLP(width=WIDTH, gamma=SMALL_GAMMA)
    return Experiment(TwoHop(subjects=subjects), model, (stage,), probes, evaluations=300)


def predicted(subjects: int) -> int:
    """The step at which a very wide model begins to compose; one more than all if never."""
    # a row of E has `width` entries of variance width^(-2γ): their squares sum to width^(1-2γ)
    path = descent(subjects, STEPS, LEARNING_RATE, size=WIDTH ** (1 - 2 * SMALL_GAMMA))
    leads = (composed(state.twelve(subjects)) > 0 for state in path)
    return next((step for step, right in enumerate(leads) if right), STEPS + 1)


@claim(
    PAPER,
    "Section 4, when composition appears (ours)",
    departures=(f"width {WIDTH}, learning rate {LEARNING_RATE:g}, evaluations every 10 steps",),
    by_subjects={subjects: _trained(subjects) for subjects in (10, 20, 40, 80)},
)
def forty_numbers_predict_when_two_hops_compose(
    by_subjects: Mapping[int, Run],
) -> Iterator[Evidence]:
    """Descent followed exactly in forty numbers, for any number of subjects, says at which step the
    embedding-MLP begins to compose; nothing is fitted."""
    for subjects, run in by_subjects.items():
        found, theory = run.first_step_above("accuracy", 0.5), predicted(subjects)
        yield found.within_factor(theory, 1.25)
        yield found.beside(None, series=SERIES, x=subjects)
        yield prediction(theory, found).beside(None, series=SERIES, x=subjects)
