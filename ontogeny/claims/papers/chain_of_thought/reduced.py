"""The theorems in their own regime: their model as a few numbers, at a vocabulary of any size."""

from collections.abc import Iterator
from functools import partial

from ....core.curves import exponent
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....theory.groups import named
from ....theory.lego_features import ratio
from ....training.lego_reduced import EXCESSES, ReducedLego
from ...claim import claim
from ...scale import Sizes
from .setting import CYCLIC, PAPER, curve, solved
from .theorems import SYMMETRIC_GROUP

# where σ₀ = d^-½ is so small that neurons differ from one another by more than they take to learn
LARGE = 1e9
VOCAB = 1e6
GROUPS = Sizes(laptop=("C6", "S4", "D6", "A4"), paper=("C6", "S5", "A5", "D6"))
DOUBLINGS = Sizes(laptop=4, paper=6)
REDUCED = (
    "gradient flow, not steps, of the numbers that the model's symmetry leaves; what slots of "
    "variables draw at the start is left out, as it is small beside the bias",
    "32 neurons a class, q = 4, ρ = 1 and C_B = 2 are ours: the paper's are asymptotic",
    "neurons train for |G| |Y| d^(4/3) / λ, the longest that the paper's ϖ allows, logarithms "
    "left out; attention until its loss is twice its floor, or what is said",
)
theory = partial(claim, PAPER, departures=REDUCED)


def _neurons(action: str) -> ReducedLego:
    return ReducedLego(action=action, vocab=LARGE, steps=1, evaluations=1)


def _shape(run: Run, kind: int, name: str) -> Measurement:
    return run.final("features").map(lambda x: x[..., kind].mean(axis=(1, 2)), f"V({name}) / B")


@theory(
    "Equations 17 and 18, Theorem C.1",
    learnt=lambda scale: {action: _neurons(action) for action in GROUPS(scale)},
)
def neurons_take_the_shape_of_the_theorems_where_the_vocabulary_is_large(
    learnt: dict[str, Run],
) -> Iterator[Evidence]:
    """With a vocabulary of 10⁹ the neuron of a combination has V(g) + V(y) = 2B, in the ratio of
    Theorem C.1 for the group, and what shares half of its combination is cancelled."""
    for action, run in learnt.items():
        share = ratio(*named(action).table.shape)
        value, others, fitting, rest = (
            _shape(run, kind, f"{name}, {action}")
            for kind, name in enumerate(("y", "other values", "g", "other actions"))
        )
        # a tenth of B: more than ρ (1 - 1/q) = ¾, which is what B of output takes beyond B of input
        for found, known in (
            (fitting, 2 * share / (1 + share)),
            (value, 2 / (1 + share)),
            (rest, -2 / (1 + share)),
            (others, -2 * share / (1 + share)),
        ):
            yield found.near(known, within=0.1, paper=known)


@theory(
    "Equation 16, Definitions B.3 and C.4",
    cyclic=_neurons(CYCLIC),
    symmetric=lambda scale: _neurons(SYMMETRIC_GROUP(scale)),
)
def combinations_are_learnt_in_the_greedy_order_of_their_first_responses(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """With a vocabulary of 10⁹ combinations are learnt in the order of the paper's curriculum: the
    largest first response that is left, a neuron for each."""
    for run in (cyclic, symmetric):
        yield run.final("order").above(0.95, paper=1.0)


def _attention(action: str, excess: float = EXCESSES[-1]) -> ReducedLego:
    return ReducedLego(action=action, vocab=VOCAB, excess=excess)


@theory("Section 6.2.1, Stages 2.1 to 2.3", cyclic=_attention(CYCLIC))
def the_predicate_leads_before_the_gap_closes(cyclic: Run) -> Iterator[Evidence]:
    """In a cyclic group Q43 comes to lead Q44, as first only the first answer can be learnt; at the
    end attention is on the two clauses, and alike."""
    # Ω(1/log d) has no constant: what is decided is who leads
    yield cyclic.final("largest lead")[0].named("largest lead of Q43 over Q44").above(0.0)
    yield cyclic.final("gap").magnitude().below(0.05, paper=0.0)
    yield cyclic.final("attention leakage").below(0.01, paper=0.0)


@theory(
    "Theorem 4.1 and Section 5, why self-training is needed",
    cyclic=_attention(CYCLIC),
    symmetric=lambda scale: _attention(SYMMETRIC_GROUP(scale)),
)
def chains_of_two_carry_a_cyclic_group_far_and_a_symmetric_one_not(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """In the theorems' own model, trained on chains of two alone until the loss is near its floor,
    a cyclic group is solved at lengths that grow as the loss comes down, and a symmetric one only
    up to some tens: right answers are clipped before attention has closed."""
    reaches = {}
    for run in (cyclic, symmetric):
        found = run.final("reach on the way")
        # what is tried ends at 4,096: an exponent is at least what it seems
        points = [(1 / excess, found[at]) for at, excess in enumerate(EXCESSES)]
        for x, reach in points:
            yield reach.beside(None, series=run.name, x=x)
        reaches[run.name] = exponent(points[1:])
    # ε falls with the excess, and reach is 1/ε: an exponent of 1 for as long as nothing is clipped
    yield reaches[cyclic.name].above(0.5)
    yield reaches[symmetric.name].below(0.25)
    yield cyclic.final("reach").exceeds(symmetric.final("reach"), by=160)


def _made(action: str, imbalance: float) -> ReducedLego:
    return ReducedLego(action=action, vocab=VOCAB, imbalance=imbalance, excess=EXCESSES[-1])


@theory(
    "Section 5, why distractors would weaken attention",
    exact="neurons are made, and attention learns from all chains of two",
    free=_made("C4", 1.0),
    free_but_imbalanced=_made("C4", ratio(24, 4)),
    distracted_but_balanced=_made("S4", 1.0),
    distracted=_made("S4", ratio(24, 4)),
)
def imbalance_and_not_distractors_keeps_attention_from_closing(
    free: Run, free_but_imbalanced: Run, distracted_but_balanced: Run, distracted: Run
) -> Iterator[Evidence]:
    """What stops a symmetric group is that V(g) is larger than V(y), so that right answers are
    clipped early. With V(g) = V(y) it is solved as far as a cyclic one, for all its distractors;
    with its imbalance a cyclic one, which has none, is stopped as soon."""
    for imbalanced in (free_but_imbalanced, distracted):
        for balanced in (free, distracted_but_balanced):
            yield balanced.final("reach").exceeds(imbalanced.final("reach"), by=160)


@theory(
    "Theorem 5.1, Corollary 5.1",
    trained=lambda scale: ReducedLego(
        action=SYMMETRIC_GROUP(scale),
        vocab=VOCAB,
        steps=2 + DOUBLINGS(scale),
        evaluations=2 + DOUBLINGS(scale),
    ),
)
def each_round_of_self_training_doubles_what_a_symmetric_group_solves(
    trained: Run,
) -> Iterator[Evidence]:
    """From chains of two a symmetric group does not solve those of 32; then each round of
    self-training, on chains twice as long as the last, solves chains twice as long again."""
    steps = [int(step) for step in trained.steps]
    before = solved(trained, steps[2])
    yield before[32].below(0.5)
    for step in steps[3:]:
        chain = 2 ** (step - 1)
        yield trained.at("right labels", step).above(0.99, paper=1.0)
        yield solved(trained, step)[2 * chain].above(0.95, paper=1.0)
        yield from curve(trained, f"trained on chains of {chain}", step)
    yield trained.final("reach").exceeds(trained.at("reach", steps[2]), by=100)
