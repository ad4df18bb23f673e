"""What Power et al. and Nanda et al. say of grokking, judged on a small network.

Bounds were written before the runs that are judged; the README says what was tried before them.
"""

from collections.abc import Iterator

from ontogeny import Accuracy, AdamW, Evidence, Experiment, Log, Paper, Run, claim
from ontogeny.core.curves import monotone

from .model import SquareMLP
from .probes import FourierConcentration, SquaredWeights
from .task import ModularAddition

POWER = Paper(
    "grokking",
    "Grokking: Generalization Beyond Overfitting on Small Algorithmic Datasets",
    "https://arxiv.org/abs/2201.02177",
    "Power, Alethea and Burda, Yuri and Edwards, Harri and Babuschkin, Igor and Misra, Vedant",
)
NANDA = Paper(
    "progress-measures",
    "Progress measures for grokking via mechanistic interpretability",
    "https://arxiv.org/abs/2301.05217",
    "Nanda, Neel and Chan, Lawrence and Lieberum, Tom and Smith, Jess and Steinhardt, Jacob",
)
SMALLER = (
    "p = 31 and one hidden layer of squared units; the paper trains transformers with a larger p",
    "3,000 steps at a learning rate of 0.01; the paper takes more, at a tenth of the rate",
)


def addition(fraction: float = 0.4, weight_decay: float = 1.0) -> Experiment:
    """A network trained on a fraction of the table of addition modulo 31."""
    return Experiment(
        task=ModularAddition(p=31, fraction=fraction),
        model=SquareMLP(width=128),
        training=(
            AdamW(steps=3000, learning_rate=0.01, weight_decay=weight_decay, b2=0.98),  # both have
        ),
        probes={
            "train accuracy": Accuracy("train"),
            "test accuracy": Accuracy("test"),
            "Fourier concentration": FourierConcentration(),
            "squared weights": SquaredWeights(),
        },
        # as many per factor of ten, whether it is the first steps or the last
        evaluations=Log(60),
    )


@claim(
    POWER,
    "Figure 1",
    seeds=10,
    headline=True,
    departures=(*SMALLER, "the paper's figure is of division, and half of its table"),
    decayed=addition(),
)
def test_accuracy_rises_long_after_train_accuracy(decayed: Run) -> Iterator[Evidence]:
    """Test accuracy passes 95 % more than ten times as many steps into training as train accuracy
    does."""
    trained = decayed.first_step_above("train accuracy", 0.95)
    tested = decayed.first_step_above("test accuracy", 0.95)
    # "long after" in the paper is a factor of a thousand; of ten it would be read as long, too
    yield (tested / trained).above(10, paper=1000)
    yield decayed.final("test accuracy").above(0.95)
    # chance is 1/31: while training data are memorised, no more than a fifth of the rest is known
    yield decayed.at("test accuracy", 30).below(0.2)


@claim(
    POWER,
    "Section 3.3",
    seeds=10,
    departures=(*SMALLER, "the paper compares how much data is needed within a number of steps"),
    decayed=addition(),
    plain=addition(weight_decay=0.0),
)
def without_weight_decay_nothing_is_grokked_in_the_same_steps(
    decayed: Run, plain: Run
) -> Iterator[Evidence]:
    """Without weight decay the training data are memorised and, in the steps in which the decayed
    network generalizes, nothing else is learnt."""
    yield plain.final("train accuracy").above(0.99)
    yield plain.peak("test accuracy").below(0.2)
    yield decayed.final("test accuracy").exceeds(plain.final("test accuracy"), by=0.75)


@claim(
    POWER,
    "Section 3.1.1",
    seeds=10,
    departures=SMALLER,
    by_fraction={fraction: addition(fraction) for fraction in (0.4, 0.5, 0.6, 0.8)},
)
def a_larger_training_fraction_groks_sooner(by_fraction: dict[float, Run]) -> Iterator[Evidence]:
    """The larger the fraction of the table that is trained on, the fewer steps it takes until the
    rest is known, and by more than in proportion."""
    steps = {
        fraction: run.first_step_above("test accuracy", 0.95)
        for fraction, run in by_fraction.items()
    }
    yield monotone(steps, rises=False)
    # the paper sees steep growth as data get few: twice the data takes fewer than half the steps,
    # fewer than a third
    yield (steps[0.4] / steps[0.8]).above(3)


@claim(NANDA, "Section 5.2", seeds=10, departures=SMALLER, decayed=addition())
def fourier_concentration_rises_before_test_accuracy(decayed: Run) -> Iterator[Evidence]:
    """Units become cosines before test accuracy rises: more of their power is at one frequency
    than of random weights before a tenth of the rest is known, and half of it before half is."""
    measure, tested = "Fourier concentration", "test accuracy"
    yield decayed.initial(measure).below(0.25)  # random weights: 15 frequencies share the power
    yield decayed.first_step_above(tested, 0.1).exceeds(decayed.first_step_above(measure, 0.3))
    half = decayed.first_step_above(measure, 0.5)
    # evaluations are 15 % apart: a fifth is more than one of them
    yield (decayed.first_step_above(tested, 0.5) / half).above(1.2)
    yield decayed.final(measure).above(0.8)


@claim(NANDA, "Section 5.2", seeds=10, departures=SMALLER, decayed=addition())
def weights_shrink_after_a_peak(decayed: Run) -> Iterator[Evidence]:
    """What memorised the training data is cleaned up: the sum of squared weights peaks and then
    falls, to less than two thirds of its peak."""
    ratio = decayed.final("squared weights") / decayed.peak("squared weights")
    yield ratio.below(2 / 3)
    # a peak, and no fall from the start on: memorising takes larger weights than the first ones
    yield (decayed.peak("squared weights") / decayed.initial("squared weights")).above(1.2)
