"""How far a chain of thought generalizes beyond the lengths in training."""

from collections.abc import Iterator, Mapping

from ....core.evidence import Evidence
from ....core.quantity import FRACTION
from ....core.run import Run
from ....core.types import Experiment, Probe, Stage
from ....models.clauses import ClauseTransformer
from ....probes.behaviour import Accuracy, Loss
from ....tasks.lego import Lego, split_of
from ....training.descent import AdamW
from ....training.lego import ChainAdamW, RequireAccuracy
from ...claim import COSTLY, claim
from ...scale import Scale, Sizes
from .regions import NETWORK
from .setting import (
    CYCLIC,
    EVALUATIONS,
    LEARNING_RATE,
    MODEL,
    PAPER,
    SIZES,
    SYMMETRIC,
    TRAIN_SIZE,
    TRAINED,
    adam,
    as_in_the_text,
    curve,
    length_generalization,
    of_both_groups,
    rollout,
    solved,
    solved_length,
    trained_on_c6,
)

PUBLISHED = {5: 1.0, 10: 1.0, 20: 1.0, 40: 0.997}  # C6; its conference version


@of_both_groups("Figure 1a", region=NETWORK)
def c6_generalizes_farther_in_length_than_s5(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """Trained on chains of five, a transformer solves chains of 160 of the cyclic group C6, and
    next to none of the symmetric group S5."""
    last = int(cyclic.steps[-1])
    for run in (cyclic, symmetric):
        yield run.final(rollout(5)).above(0.95, paper=1.0)
        yield from curve(run, run.name, last, PUBLISHED if run is cyclic else {})
    yield cyclic.final(rollout(160)).above(0.9, paper=1.0)
    # the paper has S5 reach a constant factor of its five actions
    yield symmetric.final(rollout(160)).below(0.1)
    yield solved_length(cyclic, last).exceeds(solved_length(symmetric, last))


# ------------------------------------------------------------------------------ self-training


# a stage is cut into six equal parts by its evaluations, hence such numbers
ROUNDS = Sizes(
    laptop={10: 1002, 20: 498, 40: 252}, paper={10: 18000, 20: 18000, 40: 18000}
)  # steps by length


def _self_trained(scale: Scale) -> Experiment:
    """Trained on chains of five, then on its own answers to chains of 10, 20 and 40."""
    return as_in_the_text(scale, SYMMETRIC, *_self_training(ROUNDS(scale), LEARNING_RATE(scale)))


def _self_training(rounds: Mapping[int, int], learning_rate: float) -> tuple[Stage, ...]:
    """Rounds on its own answers, of so many steps by length; if chains of five are solved."""
    return (
        # a model that fails at five would learn its own mistakes
        RequireAccuracy("5 steps", least=0.5),
        *(
            ChainAdamW(
                steps=steps, learning_rate=learning_rate, split=split_of(chain), labels="self"
            )
            for chain, steps in rounds.items()
        ),
    )


@claim(
    PAPER,
    "Figure 1b",
    seeds=5,
    departures=(*TRAINED, "the steps of a round are ours"),
    student=_self_trained,
)
def self_training_extends_length_generalization_on_s5(student: Run) -> Iterator[Evidence]:
    """Self-trained on its own answers to chains of 10, 20 and 40, a transformer solves ever longer
    chains of the symmetric group S5, in the end of 160."""
    yield from _rounds(student)
    yield student.final(rollout(160)).above(0.9, paper=1.0)


def _rounds(student: Run) -> Iterator[Evidence]:
    """Each round extends the solved length; its labels were mostly right, and it learns to 40."""
    ends = student.ends[1:]  # from when it was found able to on
    for number, step in enumerate(ends):
        yield from curve(student, f"round {number}" if number else "before self-training", step)
    for number, chain in enumerate((10, 20, 40)):
        # as the round begins: these are the labels it was taught with
        labels = student.at(rollout(chain), ends[number])
        yield labels.named(f"right labels of {split_of(chain)}", FRACTION).above(0.5)
        yield solved_length(student, ends[number + 1]).exceeds(solved_length(student, ends[number]))
    yield student.final(rollout(40)).above(0.9, paper=1.0)


# ------------------------------------------------------------------------------ no chain of thought


def _without_chain_of_thought(scale: Scale, chain: int) -> Experiment:
    """The word problem: the last value, right after the first."""
    task = Lego(action=CYCLIC, chain=chain, train_size=TRAIN_SIZE(scale), chain_of_thought=False)
    probes: dict[str, Probe] = {"train loss": Loss("train")}
    probes |= {f"accuracy, {split_of(each)}": Accuracy(split_of(each)) for each in task.chains}
    return Experiment(task, MODEL, (adam(scale),), probes, evaluations=EVALUATIONS)


# from the conference version, by the length in training; chance is 1/6
GUESSED = {5: {5: 0.164, 10: 0.169, 20: 0.151, 40: 0.192}, 10: {10: 0.184, 20: 0.166, 40: 0.174}}


@claim(
    PAPER,
    "Conference version: without a chain of thought",
    seeds=5,
    departures=TRAINED,
    five=lambda scale: _without_chain_of_thought(scale, 5),
    ten=lambda scale: _without_chain_of_thought(scale, 10),
    with_chain_of_thought=trained_on_c6,
)
def without_chain_of_thought_accuracy_stays_near_chance(
    five: Run, ten: Run, with_chain_of_thought: Run
) -> Iterator[Evidence]:
    """Asked for the last value at once, a transformer trained on chains of five or of ten stays
    near chance among the six values of C6, whatever the length; with a chain of thought it learns
    chains of five."""
    for run, chain in ((five, 5), (ten, 10)):
        last, said = int(run.steps[-1]), GUESSED[chain]
        yield from curve(run, f"trained on {split_of(chain)}", last, said)
        for length, found in solved(run, last).items():
            yield found.below(0.25, paper=said.get(length))
    yield with_chain_of_thought.final("accuracy").above(0.95)


# ------------------------------------------------------------ residual streams and positions


RESIDUAL_STEPS = Sizes(laptop=4200, paper=30000)


def with_residual_stream(scale: Scale, action: str, positions: str = "none") -> Experiment:
    """Trained on fresh chains of five every step, with a residual stream."""
    return _residual(action, positions, AdamW(steps=RESIDUAL_STEPS(scale), learning_rate=1e-3))


def _residual(action: str, positions: str, *training: Stage) -> Experiment:
    task = Lego(action=action)
    model = ClauseTransformer(residual=True, positions=positions)
    return Experiment(task, model, training, length_generalization(task), evaluations=EVALUATIONS)


RESIDUAL = (
    SIZES,
    "steps and a learning rate of 1e-3 are ours; learnt embeddings, a residual stream, fresh "
    "samples every step",
)


@claim(
    PAPER,
    "Figure 1a, with a residual stream and fresh samples (ours)",
    seeds=COSTLY,
    departures=RESIDUAL,
    cyclic=lambda scale: with_residual_stream(scale, CYCLIC),
    symmetric=lambda scale: with_residual_stream(scale, SYMMETRIC),
)
def with_a_residual_stream_both_groups_generalize_as_far(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """With a residual stream and fresh samples every step, S5 generalizes in length as far as C6:
    both solve most chains of eight times the length in training."""
    last = int(cyclic.steps[-1])
    for run in (cyclic, symmetric):
        yield from curve(run, run.name, last)
        yield run.final(rollout(40)).above(0.8)
    yield symmetric.final(rollout(40)).agrees(cyclic.final(rollout(40)), within=0.15)


def _residual_self_training(scale: Scale) -> Experiment:
    first, rounds = SOON(scale)
    training = (AdamW(steps=first, learning_rate=1e-3), *_self_training(rounds, 1e-3))
    return _residual(SYMMETRIC, "none", *training)


# 702: as soon as chains of five are learnt, when longer ones are still to be won
SOON = Sizes(
    laptop=(702, {10: 300, 20: 150, 40: 60}), paper=(702, {10: 6000, 20: 6000, 40: 6000})
)  # steps on true labels; on its own, by length


@claim(
    PAPER,
    "Figure 1b, with a residual stream and fresh samples (ours)",
    seeds=COSTLY,
    departures=(*RESIDUAL, "702 steps on true labels; the steps of a round are ours"),
    student=_residual_self_training,
)
def self_training_extends_length_generalization_with_a_residual_stream(
    student: Run,
) -> Iterator[Evidence]:
    """With a residual stream and fresh samples, and self-training as soon as chains of five are
    learnt, a transformer solves ever longer chains of S5, in the end most of 160."""
    yield from _rounds(student)
    yield student.final(rollout(160)).above(0.5)


@claim(
    PAPER,
    "Section 8, no positions",
    seeds=5,
    departures=RESIDUAL,
    nope=lambda scale: with_residual_stream(scale, CYCLIC),
    learned=lambda scale: with_residual_stream(scale, CYCLIC, "learned"),
    rotary=lambda scale: with_residual_stream(scale, CYCLIC, "rotary"),
)
def nope_generalizes_in_length_and_positions_do_not(
    nope: Run, learned: Run, rotary: Run
) -> Iterator[Evidence]:
    """All learn the length in training; at four times that length a transformer without positions
    (NoPE) solves the chains, one with learned positions does not, and one with rotary positions
    solves far fewer."""
    last = int(nope.steps[-1])
    for run in (nope, learned, rotary):
        yield from curve(run, run.name, last)
        yield run.final(rollout(5)).above(0.95)
    yield nope.final(rollout(20)).above(0.9)
    # expected of learned positions: those beyond five actions are untrained
    yield learned.final(rollout(20)).below(0.1)
    yield nope.final(rollout(20)).exceeds(rotary.final(rollout(20)), by=0.2)
