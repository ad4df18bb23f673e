"""Beyond the paper: how many samples a task takes, predicted from its templates alone."""

from collections.abc import Iterator, Mapping

import numpy as np

from ....core.curves import falls_below, prediction
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....models.kernel_machine import KernelMachine
from ....theory.template import parse_all
from ....theory.template_kernel import TemplateKernel, learning_curve, samples_to_learn
from ....theory.template_sets import random_templates
from ....training.kernel import seen_by
from ...claim import COSTLY, claim
from ...scale import Sizes
from .setting import KERNEL, OURS, PAPER, RIDGE, TASKS, learnt, regressed_upto, trained

# ±1 for ±5: answering 0 then errs by 1 as in the other tasks, and one level suits all
GIVING = (
    "If α gives β 5 γ , how many γ does β gain ?: +1",
    "If α gives β 5 γ , how many γ does α gain ?: -1",
)
NINE_TASKS = {
    **TASKS,
    "three at random": random_templates(3, 4, seed=1),
    "with a regular token": random_templates(2, 3, regular=1, seed=2),
    "word problem": GIVING,
}
REGRESSION_SAMPLES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
LEVEL = 0.25


def _theory(name: str) -> tuple[TemplateKernel, np.ndarray]:
    """A task's kernel between templates, and their labels."""
    templates = parse_all(NINE_TASKS[name])
    labels = np.array([template.value for template in templates], float)
    return seen_by(KernelMachine(), templates), labels


@claim(
    PAPER,
    "Lemma 4.5, made quantitative (ours)",
    seeds=COSTLY,
    departures=KERNEL,
    by_task={
        name: regressed_upto(templates, REGRESSION_SAMPLES)
        for name, templates in NINE_TASKS.items()
    },
)
def the_template_matrix_predicts_sample_complexity(
    by_task: Mapping[str, Mapping[int, Run]],
) -> Iterator[Evidence]:
    """How many samples kernel regression takes until its error on unseen symbols is a quarter
    follows from N and from how much a string resembles itself, with nothing fitted."""
    for name, runs in by_task.items():
        kernel, labels = _theory(name)
        losses = {n: run.final("test loss") for n, run in runs.items()}
        curve = learning_curve(kernel, labels, np.array(list(losses), float), RIDGE)
        for (n, loss), said in zip(losses.items(), curve, strict=True):
            yield loss.beside(None, series=name, x=n)
            yield prediction(said, loss).beside(None, series=name, x=n)
        known = samples_to_learn(kernel, labels, LEVEL, RIDGE)
        # points of the sweep are a factor of 2 apart
        yield falls_below(losses, LEVEL).within_factor(known, 1.5)


TRAINED_SAMPLES = Sizes(
    laptop=(64, 128, 256, 512, 1024, 2048), paper=(64, 128, 256, 512, 1024, 2048, 8192)
)


@claim(
    PAPER,
    "Section 4.3, conditioning and sample efficiency of trained transformers (ours)",
    seeds=5,
    departures=OURS,
    by_task=lambda scale: {
        name: trained(scale, templates, TRAINED_SAMPLES(scale))
        for name, templates in NINE_TASKS.items()
    },
)
def predicted_sample_complexity_ranks_tasks_for_transformers(
    by_task: Mapping[str, Mapping[int, Run]],
) -> Iterator[Evidence]:
    """Over nine tasks, the number of samples that a trained transformer needs grows with the number
    that N predicts for regression: their ranks correlate."""
    predicted = np.array([samples_to_learn(*_theory(name), 0.5, RIDGE) for name in by_task])
    found = {name: learnt(runs, 0.5) for name, runs in by_task.items()}
    for name, number in zip(by_task, predicted, strict=True):
        yield found[name].beside(None, series="measured against predicted", x=float(number))
    # [seed, task]: a correlation for each seed, so that seeds decide
    measured = np.stack([each.values for each in found.values()], axis=1)
    ranks = [_rank_correlation(predicted, row) for row in measured]
    yield Measurement.of("rank correlation of measured and predicted", ranks).above(0.6)


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's; zero if either is constant."""
    from scipy.stats import spearmanr  # here, since it takes two seconds to import

    return float(spearmanr(one, other).statistic) if np.ptp(one) and np.ptp(other) else 0.0
