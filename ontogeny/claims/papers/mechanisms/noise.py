"""Noise: what feed-forward layers learn at once, attention learns late, and truncation uncovers."""

from collections.abc import Iterator, Mapping
from typing import Any

from ....core.curves import exponent
from ....core.evaluations import Log
from ....core.evidence import Evidence
from ....core.run import Run
from ....core.types import Experiment, Probe
from ....models.induction import InductionPair, OneHotPair
from ....probes.behaviour import Accuracy, Loss
from ....probes.induction import InductionScore, MemoryRecall, NoiseMargin, NoiseProbability
from ....probes.weights import SoftRank, TruncatedAccuracy
from ....tasks.triggers import Triggers
from ....training.descent import GradientDescent
from ....training.momentum import Momentum
from ...claim import COSTLY, claim
from ...scale import Scale, Sizes
from .setting import PAPER

LAYERS = ("key1", "value1", "out1", "key2", "value2", "out2", "mlp1", "mlp2")
LAST = "mlp2.mlp_in"  # LASER keeps 0, .1 or .2 of its rank

NOISY: dict[str, Probe] = {
    "train loss": Loss("train"),
    "accuracy": Accuracy("test"),
    "probability of noise": NoiseProbability(),
    "margin of noise": NoiseMargin(),
    "induction score": InductionScore(),
    "OV copying score": MemoryRecall("copying"),
    "accuracy without the last layer": TruncatedAccuracy(LAST, keep=0.0),
    "accuracy with a tenth of it": TruncatedAccuracy(LAST, keep=0.1),
    "accuracy with a fifth of it": TruncatedAccuracy(LAST, keep=0.2),
    "accuracy without attention's outputs": TruncatedAccuracy("out2", keep=0.0),
    "soft rank of the last layer": SoftRank(LAST),
}
NOISE_SIZE: Sizes[dict[str, Any]] = Sizes(
    laptop={"length": 64, "rows": 64, "reads": 16}, paper={"rows": 512, "length": 256}
)
NOISE_STEPS = Sizes(laptop=600, paper=5000)
NOISE_WIDTH = Sizes(laptop=64, paper=256)


def _noisy(scale: Scale, noise: float = 0.5) -> Experiment:
    task = Triggers(triggers=1, noise=noise, **NOISE_SIZE(scale))
    model = InductionPair(width=NOISE_WIDTH(scale), mlp1="relu", mlp2="relu")
    stage = Momentum(
        steps=NOISE_STEPS(scale), learning_rate=0.03, weight_decay=1e-4, trainable=LAYERS
    )
    return Experiment(task, model, (stage,), NOISY, evaluations=Log(40))


@claim(
    PAPER,
    "Slides: distributional associations are learnt faster; arXiv 2406.03068",
    noisy=_noisy,
)
def the_common_token_is_learnt_first_and_in_the_feed_forward_layer(
    noisy: Run,
) -> Iterator[Evidence]:
    """Where half the time a common token follows the trigger, that token is learnt first, and by
    the last feed-forward layer alone; attention to what the context says comes later."""
    common = noisy.first_step_above("probability of noise", 0.4)
    yield noisy.first_step_above("margin of noise", 1.0).below(150)
    yield noisy.first_step_above("induction score", 0.9).exceeds(common)
    yield noisy.first_step_above("OV copying score", 0.5).exceeds(common)
    yield noisy.final("probability of noise").near(0.5, within=0.15, paper=0.5)
    yield noisy.final("margin of noise").above(0.5)


@claim(
    PAPER,
    "Slides: ablating late MLPs; arXiv 2406.03068 (LASER)",
    noisy=_noisy,
)
def truncation_turns_the_common_token_into_the_right_one(noisy: Run) -> Iterator[Evidence]:
    """Trained with noise, the model answers clean sequences about every other time with the common
    token; with the last feed-forward layer taken out it answers from the context."""
    whole, cut = noisy.final("accuracy"), noisy.final("accuracy without the last layer")
    yield cut.above(0.95, paper=1.0)
    yield cut.exceeds(whole, by=0.2)
    yield whole.below(0.8, paper=0.5)
    # the control: it is attention that knows the right answer
    yield noisy.final("accuracy without attention's outputs").below(0.2)
    tenth, fifth = (noisy.final(f"accuracy with a {part} of it") for part in ("tenth", "fifth"))
    for keep, accuracy in ((0.0, cut), (0.1, tenth), (0.2, fifth), (1.0, whole)):
        yield accuracy.beside(None, series="accuracy by the share of singular values kept", x=keep)


VOCABULARIES = Sizes(laptop=(16, 32, 64, 128), paper=(16, 32, 64, 128, 256))
POSITIONS = 24


def _sampled(vocab: int) -> Experiment:
    """One sequence a step, a small learning rate and no weights at first: gradients are summed."""
    task = Triggers(
        source=f"uniform {vocab}",
        length=POSITIONS,
        triggers=1,
        again=False,
        planted=True,
        noise=0.5,
        rows=1,
        reads=1,
        test_rows=16,
    )
    # tokens, answers and positions, and tokens and positions again as the first layer moves them
    model = OneHotPair(width=3 * vocab + 2 * POSITIONS, mlp2="linear")
    training = tuple(
        # a handful of samples is counted one by one, samples in proportion to N by the N
        GradientDescent(steps=steps, learning_rate=0.01, trainable=("out2", "mlp2"))
        for steps in (48, 48 * vocab)
    )
    probes: dict[str, Probe] = {
        "train loss": Loss("test"),
        "margin of noise": NoiseMargin(),
        "OV copying score": MemoryRecall("copying, noise aside"),
    }
    return Experiment(task, model, training, probes, evaluations=48)


@claim(
    PAPER,
    "Slides: theorem (O(1) against O(N) samples); arXiv 2406.03068",
    seeds=COSTLY,
    departures=(
        "one trigger, at both ends of 24 positions, one-hot embeddings, uniform bigrams",
        "one sequence a step at a learning rate of 0.01; the paper: one step on all sequences",
        "evaluated after each of 48 samples, then after every N",
    ),
    by_vocabulary=lambda scale: {n: _sampled(n) for n in VOCABULARIES(scale)},
)
def feed_forward_takes_few_samples_and_attention_as_many_as_tokens(
    by_vocabulary: Mapping[int, Run],
) -> Iterator[Evidence]:
    """The feed-forward layer puts the common token first after a handful of samples, however many
    tokens there are; the outputs of attention copy half the tokens after samples in proportion."""
    forward, attention = [], []
    for vocab, run in by_vocabulary.items():
        common = run.first_step_above("margin of noise", 0.005)
        copied = run.first_step_above("OV copying score", 0.5)
        yield common.beside(None, series="feed-forward", x=vocab)
        yield copied.beside(None, series="attention", x=vocab)
        forward.append((float(vocab), common))
        attention.append((float(vocab), copied))
    yield exponent(attention).near(1.0, within=0.3, paper=1.0)
    yield exponent(forward).near(0.0, within=0.3, paper=0.0)
    for _, samples in forward:
        yield samples.below(20)
