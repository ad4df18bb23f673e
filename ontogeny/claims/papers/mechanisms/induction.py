"""Induction heads: three memories, their order, and how few gradient steps build them."""

from collections.abc import Iterator, Mapping
from typing import Any

from ....core.evaluations import Log
from ....core.evidence import Evidence
from ....core.run import Run
from ....core.types import Experiment, Probe, Stage
from ....models.decoder import Decoder
from ....models.induction import MEMORIES, InductionPair, OneHotPair
from ....probes.behaviour import Accuracy, Loss
from ....probes.induction import InductionScore, MemoryRecall, PreviousTokenScore
from ....tasks.triggers import Triggers
from ....training.descent import AdamW
from ....training.induction import BuiltHead
from ....training.momentum import Momentum
from ....training.population import PopulationStep
from ...claim import COSTLY, claim
from ...scale import Scale, Sizes
from .regions import INDUCTION
from .setting import PAPER

COPYING, MATCHING, PREVIOUS = "OV copying score", "QK matching score", "previous-token score"
SCORES: dict[str, Probe] = {
    COPYING: MemoryRecall("copying"),
    MATCHING: MemoryRecall("matching"),
    PREVIOUS: MemoryRecall("previous"),
}
BEHAVIOUR: dict[str, Probe] = {
    "train loss": Loss("train"),
    "accuracy": Accuracy("test"),
    "previous-token attention": PreviousTokenScore(),
    "induction score": InductionScore(),
}

# ------------------------------------------------------------------------------ full transformers

FULL: Sizes[dict[str, Any]] = Sizes(
    laptop={"length": 128, "rows": 32}, paper={"length": 256, "rows": 64}
)
FULL_STEPS = Sizes(laptop=500, paper=2000)
FULL_WIDTH = Sizes(laptop=64, paper=128)
FULL_LEARNING_RATE = Sizes(laptop=3e-3, paper=1e-2)


def full(scale: Scale, depth: int) -> Experiment:
    """A transformer with everything in it, trained on all positions."""
    task = Triggers(**FULL(scale), read="everywhere", reads=64)
    # parallel: the published program's feed-forward layers read the input of their block
    model = Decoder(width=FULL_WIDTH(scale), depth=depth, parallel=True)
    stage = AdamW(
        steps=FULL_STEPS(scale), learning_rate=FULL_LEARNING_RATE(scale), weight_decay=0.01, b2=0.95
    )
    probes = (
        BEHAVIOUR if depth > 1 else {name: BEHAVIOUR[name] for name in ("train loss", "accuracy")}
    )
    return Experiment(task, model, (stage,), probes, evaluations=20)


@claim(
    PAPER,
    "Slides: one-layer and two-layer transformers",
    seeds=COSTLY,
    departures=("how long the paper trained is not known: 2,000 steps at its scale are ours",),
    one=lambda scale: full(scale, 1),
    two=lambda scale: full(scale, 2),
)
def two_layers_predict_from_context_and_one_does_not(one: Run, two: Run) -> Iterator[Evidence]:
    """What a trigger is followed by in this sequence, a transformer of two layers predicts nearly
    always from the second time on; one of a single layer about every other time."""
    yield one.peak("accuracy").near(0.55, within=0.15, paper=0.55)
    yield two.final("accuracy").above(0.95, paper=0.99)
    yield two.final("induction score").above(0.9)


# ------------------------------------------------------------------------------ three memories

PAIR: Sizes[dict[str, Any]] = Sizes(
    laptop={"length": 64, "rows": 64, "reads": 32}, paper={"rows": 512}
)
PAIR_WIDTH = Sizes(laptop=128, paper=256)
PAIR_LEARNING_RATE = Sizes(laptop=0.1, paper=0.03)
PAIR_STEPS = Sizes(laptop=400, paper=1000)


def pair(scale: Scale, *stages: tuple[int, tuple[str, ...]], **task: Any) -> Experiment:
    """The simplified transformer: a stage trains some weights for some percent of the steps."""
    steps, learning_rate = PAIR_STEPS(scale), PAIR_LEARNING_RATE(scale)
    plan = stages or ((100, MEMORIES),)
    training: tuple[Stage, ...] = tuple(
        Momentum(
            steps=steps * percent // 100,
            learning_rate=learning_rate,
            weight_decay=1e-4,
            trainable=names,
        )
        for percent, names in plan
    )
    model = InductionPair(width=PAIR_WIDTH(scale))
    # log-spaced: what is learnt first is learnt in a tenth of the steps
    return Experiment(
        Triggers(**{**PAIR(scale), **task}),
        model,
        training,
        {**BEHAVIOUR, **SCORES},
        evaluations=Log(60),
    )


@claim(
    PAPER,
    "Slides: empirically probing the dynamics",
    region=INDUCTION,
    joint=pair,
)
def three_memories_make_an_induction_head(joint: Run) -> Iterator[Evidence]:
    """Training nothing but W_K¹, W_K² and W_O² of a transformer with random embeddings makes an
    induction head, and each of the three is found to be the memory that theory expects."""
    yield joint.final("accuracy").above(0.95, paper=0.99)
    yield joint.final(COPYING).above(0.95, paper=1.0)
    yield joint.final(MATCHING).above(0.95, paper=1.0)
    yield joint.final(PREVIOUS).above(0.5)
    yield joint.final("induction score").above(0.95)


@claim(
    PAPER,
    "Slides: natural learning order",
    region=INDUCTION,
    joint=pair,
)
def outputs_are_learnt_first_and_the_previous_token_last(joint: Run) -> Iterator[Evidence]:
    """Trained together, the memories are learnt from the top: first W_O² recalls half of what it
    will hold, then W_K², and W_K¹ last."""
    # as in the published program, W_O² is asked among all 65 tokens and W_K² among five triggers,
    # which is the easier test
    copying, matching, previous = (
        joint.first_step_above(name, 0.5) for name in (COPYING, MATCHING, PREVIOUS)
    )
    yield matching.exceeds(copying)
    yield previous.exceeds(matching)
    yield previous.exceeds(copying)


@claim(
    PAPER,
    "Slides: natural learning order, one part at a time (ours)",
    alone=lambda scale: {name: pair(scale, (100, (name,))) for name in MEMORIES},
)
def outputs_are_learnt_alone_and_keys_are_not(alone: Mapping[str, Run]) -> Iterator[Evidence]:
    """Trained alone, the outputs W_O² come to copy, but neither W_K² nor W_K¹ becomes its memory:
    where outputs do not copy, attention gains nothing."""
    yield alone["out2"].final(COPYING).above(0.5)
    yield alone["key2"].final(MATCHING).below(0.7)
    yield alone["key1"].final(PREVIOUS).below(0.3)


@claim(
    PAPER,
    "Slides: joint learning is faster",
    departures=("in turn: W_O² alone for a fifth of the steps, with W_K² for a fifth, then all",),
    joint=pair,
    # twice the steps in all, so that it may end what it began
    in_turn=lambda scale: pair(scale, (20, ("out2",)), (20, ("out2", "key2")), (160, MEMORIES)),
)
def memories_are_learnt_faster_together(joint: Run, in_turn: Run) -> Iterator[Evidence]:
    """Training all three memories from the start takes fewer steps to an induction head than
    training them one after the other, in the order in which they are learnt."""
    together = joint.first_step_above("accuracy", 0.9)
    yield in_turn.final("accuracy").above(0.9)
    yield in_turn.first_step_above("accuracy", 0.9).exceeds(together)


@claim(
    PAPER,
    "Slides: fixed triggers; arXiv 2306.00802, random triggers",
    # twice the steps: any of 65 tokens is to be matched, not one of 5
    drawn=lambda scale: pair(scale, (200, MEMORIES), fixed=False),
)
def random_triggers_are_matched_too(drawn: Run) -> Iterator[Evidence]:
    """Where each sequence draws its own triggers, so that any token may be one, the same memories
    are learnt, and W_K² matches tokens that were triggers at some time."""
    yield drawn.final("accuracy").above(0.8)
    yield drawn.final(MATCHING).above(0.8)


# ------------------------------------------------------------------------------ by hand

PROBES: dict[str, Probe] = {**BEHAVIOUR, **SCORES}


def built(model: InductionPair, task: Triggers) -> Experiment:
    """The head constructed by hand, and probed."""
    return Experiment(task, model, (BuiltHead(),), PROBES)


CONSTRUCTED = Triggers(source="uniform 30", length=32, triggers=3, again=False, test_rows=512)
ORTHONORMAL = OneHotPair(width=3 * 30 + 2 * 32)


@claim(
    PAPER,
    "Slides: induction head with associative memories",
    departures=("30 tokens, 3 triggers, 32 positions; random embeddings of width 512",),
    orthonormal=built(ORTHONORMAL, CONSTRUCTED),
    random=built(InductionPair(width=512), CONSTRUCTED),
)
def an_induction_head_can_be_constructed(orthonormal: Run, random: Run) -> Iterator[Evidence]:
    """Three sums of outer products of embeddings make an induction head whose scores are all
    near 1: within 0.001 if embeddings are orthonormal, within 0.05 if they are random."""
    seen = ("previous-token attention", "induction score", "accuracy")
    for probe in (COPYING, MATCHING, PREVIOUS, *seen):
        yield orthonormal.final(probe).above(0.999, paper=1.0)
        yield random.final(probe).above(0.95, paper=1.0)


POPULATION = Triggers(
    source="uniform 20", length=32, triggers=2, again=False, rows=4096, reads=1, test_rows=512
)
POPULATION_BATCHES = Sizes(laptop=48, paper=192)


def _three_steps(scale: Scale) -> Experiment:
    batches = POPULATION_BATCHES(scale)
    # the slide names W_KQ¹ twice; the paper's order is this. A larger second step saturates
    # attention, and the third has no gradient left
    learning_rates = {"out2": 1e3, "key2": 2e4, "key1": 1e6}
    training = tuple(
        PopulationStep(steps=batches, learning_rate=learning_rate, trainable=(name,))
        for name, learning_rate in learning_rates.items()
    )
    return Experiment(
        POPULATION, OneHotPair(width=3 * 20 + 2 * 32), training, PROBES, evaluations=1
    )


@claim(
    PAPER,
    "Slides: theorem (three gradient steps)",
    departures=(
        "20 tokens, 2 triggers that never follow each other, 32 positions",
        "the population is a number of sequences, new ones at each step",
        "learning rates 10³, 2·10⁴ and 10⁶: the theorem's are not known",
    ),
    stepped=_three_steps,
)
def three_gradient_steps_build_an_induction_head(stepped: Run) -> Iterator[Evidence]:
    """From nothing, one step of descent on the population loss in W_O², then one in W_K², then one
    in W_K¹ leave the three memories of an induction head, and it predicts."""
    # of 20 tokens 2 are triggers, which never follow one: nothing teaches to copy these
    able = f"final {COPYING}, of tokens that can be outputs"
    yield stepped.final(COPYING).map(lambda score: score * 20 / 18, able).above(0.99, paper=1.0)
    yield stepped.final(MATCHING).above(0.99, paper=1.0)
    yield stepped.final(PREVIOUS).above(0.85, paper=1.0)
    yield stepped.final("accuracy").above(0.8)
    yield stepped.initial("accuracy").below(0.2)
