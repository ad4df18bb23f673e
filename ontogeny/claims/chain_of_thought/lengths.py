"""How far a chain of thought reaches beyond the chains that taught it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from ...claim import Sizes, claim, lazily
from ...core import Experiment, Probe, Stage
from ...evidence import Evidence, Run
from ...models.clauses import ClauseTransformer
from ...probes.behaviour import Loss, Success
from ...regimes.descent import AdamW
from ...regimes.lego import Able, ChainAdam
from ...tasks.lego import Lego, split_of
from .setting import (
    CYCLE,
    CYCLIC,
    LOOKS,
    MODEL,
    PAPER,
    PERMUTATIONS,
    RATE,
    SENTENCES,
    SIZES,
    SYMMETRIC,
    TAUGHT,
    as_in_the_text,
    curve,
    half_right,
    reach,
    solved,
    taught,
)

PUBLISHED = {5: 1.0, 10: 1.0, 20: 1.0, 40: 0.997}  # C6; its conference version


@claim(PAPER, "Figure 1a", departures=TAUGHT, cyclic=CYCLE, symmetric=PERMUTATIONS)
def a_cyclic_group_reaches_farther_than_a_symmetric_one(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """Taught by chains of five, a transformer solves chains of 160 of a cyclic group; of a
    symmetric one, only chains a few times as long as those that taught it."""
    last = int(cyclic.steps[-1])
    for run in (cyclic, symmetric):
        yield run.final("5 steps").above(0.95, paper=1.0)
        yield from curve(run, run.name, last, PUBLISHED if run is cyclic else {})
    yield cyclic.final("160 steps").above(0.9, paper=1.0)
    yield symmetric.final("160 steps").below(0.1)
    yield half_right(cyclic, last).exceeds(half_right(symmetric, last))


# ------------------------------------------------------------------------------ teaching itself


ROUNDS = Sizes(
    laptop={10: 1002, 20: 498, 40: 252}, paper={10: 18000, 20: 18000, 40: 18000}
)  # steps by length


def _self_taught(scale: str) -> Experiment:
    """Taught by chains of five, then by its own answers to chains of 10, 20 and 40."""
    return as_in_the_text(scale, SYMMETRIC, *_alone(ROUNDS.at(scale), RATE.at(scale)))


def _alone(rounds: Mapping[int, int], rate: float) -> tuple[Stage, ...]:
    """Rounds of its own answers, for so many steps by length; if it has any."""
    return (
        Able("5 steps", least=0.5),
        *(
            ChainAdam(steps=steps, rate=rate, split=split_of(chain), labels="own")
            for chain, steps in rounds.items()
        ),
    )


@claim(
    PAPER,
    "Figure 1b",
    departures=(
        *TAUGHT,
        Sizes(laptop="rounds of 1,002, 498 and 252 steps", paper="rounds of 18,000 steps"),
    ),
    pupil=lazily(_self_taught),
)
def answers_of_its_own_extend_a_symmetric_group(pupil: Run) -> Iterator[Evidence]:
    """Taught further by its own answers to chains of 10, 20 and 40, a transformer solves ever
    longer chains of a symmetric group, in the end of 160."""
    yield from _rounds(pupil)
    yield pupil.final("160 steps").above(0.9, paper=1.0)


def _rounds(pupil: Run) -> Iterator[Evidence]:
    """After each round it reaches farther; its labels were mostly right, and it learns to 40."""
    ends = [int(step) for step in pupil.steps[LOOKS + 1 :: LOOKS]]  # Able takes a step
    for number, step in enumerate(ends):
        yield from curve(pupil, f"round {number}" if number else "taught", step)
    for number, chain in enumerate((10, 20, 40)):
        labels = pupil.at(split_of(chain), ends[number])
        yield replace(labels, what=f"labels of {split_of(chain)}").above(0.5)
        yield half_right(pupil, ends[number + 1]).exceeds(half_right(pupil, ends[number]))
    yield pupil.final("40 steps").above(0.9, paper=1.0)


# ------------------------------------------------------------------------------ no chain of thought


def _unthought(scale: str, chain: int) -> Experiment:
    """The word problem: the last value, right after the first."""
    task = Lego(action=CYCLIC, chain=chain, known=SENTENCES.at(scale), thought=False)
    probes: dict[str, Probe] = {"train loss": Loss("train")}
    probes |= {split_of(each): Success(split_of(each)) for each in task.chains}
    return Experiment(task, MODEL, (taught(scale),), probes, looks=LOOKS)


GUESSED = {5: {5: 0.164, 10: 0.169, 20: 0.151, 40: 0.192}, 10: {10: 0.184, 20: 0.166, 40: 0.174}}


@claim(
    PAPER,
    "Conference version: without a chain of thought",
    departures=TAUGHT,
    five=lazily(partial(_unthought, chain=5)),
    ten=lazily(partial(_unthought, chain=10)),
    thought=CYCLE,
)
def without_a_chain_of_thought_it_guesses(five: Run, ten: Run, thought: Run) -> Iterator[Evidence]:
    """Asked for the last value at once, a transformer taught by chains of five or of ten guesses
    among the six values of a cyclic group, whatever the length."""
    for run, chain in ((five, 5), (ten, 10)):
        last, said = int(run.steps[-1]), GUESSED[chain]
        yield from curve(run, f"taught {split_of(chain)}", last, said)
        for length, found in solved(run, last).items():
            yield found.below(0.25, paper=said.get(length))
    yield thought.final("success").above(0.95)


# ------------------------------------------------------------------------------ streams and places


def streaming(scale: str, action: str, positions: str = "none") -> Experiment:
    """Taught by ever new chains of five, with a residual stream."""
    steps = Sizes(laptop=4200, paper=30000).at(scale)
    return _streamed(action, positions, AdamW(steps=steps, rate=1e-3))


def _streamed(action: str, positions: str, *regime: Stage) -> Experiment:
    task = Lego(action=action)
    model = ClauseTransformer(residual=True, positions=positions)
    return Experiment(task, model, regime, reach(task), looks=LOOKS)


STREAMED = (
    Sizes(laptop="4,200 steps of Adam at 1e-3", paper="30,000 steps of Adam at 1e-3"),
    SIZES + "; learnt embeddings, a residual stream, ever new sentences",
)


@claim(
    PAPER,
    "Figure 1a, with a residual stream and new sentences (ours)",
    departures=STREAMED,
    cyclic=lazily(partial(streaming, action=CYCLIC)),
    symmetric=lazily(partial(streaming, action=SYMMETRIC)),
)
def with_a_stream_both_groups_reach_as_far(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """With a residual stream and new sentences at every step, a symmetric group is learnt as well
    as a cyclic one and reaches no less far: eight times the length taught."""
    last = int(cyclic.steps[-1])
    for run in (cyclic, symmetric):
        yield from curve(run, run.name, last)
        yield run.final("40 steps").above(0.8)
    yield symmetric.final("40 steps").agrees(cyclic.final("40 steps"), within=0.15)


def _streaming_alone(scale: str) -> Experiment:
    first, rounds = SOON.at(scale)
    regime = (AdamW(steps=first, rate=1e-3), *_alone(rounds, 1e-3))
    return _streamed(SYMMETRIC, "none", *regime)


SOON = Sizes(
    laptop=(702, {10: 300, 20: 150, 40: 60}), paper=(702, {10: 6000, 20: 6000, 40: 6000})
)  # steps on true answers; on its own, by length


@claim(
    PAPER,
    "Figure 1b, with a residual stream and new sentences (ours)",
    departures=(
        Sizes(
            laptop="702 steps of Adam at 1e-3, then rounds of 300, 150 and 60",
            paper="702 steps of Adam at 1e-3, then rounds of 6,000",
        ),
        STREAMED[1],
    ),
    pupil=lazily(_streaming_alone),
)
def with_a_stream_answers_of_its_own_extend_it(pupil: Run) -> Iterator[Evidence]:
    """With a residual stream and new sentences, left off as soon as chains of five are learnt, a
    transformer teaches itself ever longer chains of a symmetric group, in the end most of 160."""
    yield from _rounds(pupil)
    yield pupil.final("160 steps").above(0.5)


@claim(
    PAPER,
    "Section 8, no positions",
    departures=STREAMED,
    none=lazily(partial(streaming, action=CYCLIC)),
    learned=lazily(partial(streaming, action=CYCLIC, positions="learned")),
    rotary=lazily(partial(streaming, action=CYCLIC, positions="rotary")),
)
def positions_hold_a_chain_to_the_length_taught(
    none: Run, learned: Run, rotary: Run
) -> Iterator[Evidence]:
    """All are learnt at the length taught; a transformer that is not told places solves longer
    chains, and one that learns embeddings of places, or turns by them, does not."""
    last = int(none.steps[-1])
    for run in (none, learned, rotary):
        yield from curve(run, run.name, last)
        yield run.final("5 steps").above(0.95)
    yield none.final("20 steps").above(0.9)
    yield learned.final("20 steps").below(0.1)
    yield none.final("20 steps").exceeds(rotary.final("20 steps"), by=0.2)
