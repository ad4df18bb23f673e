"""The headline, and Tables 1 to 4."""

from collections.abc import Iterator
from itertools import pairwise

from ....core.evidence import Evidence
from ....core.run import Run
from ...claim import claim
from .setting import (
    ALL_RATIOS,
    FIRST_PHASE,
    JOINT,
    LATE_ATTRIBUTION,
    LATE_SIMILARITY,
    ONE_LAYER,
    PAPER,
    RATIOS,
    RELU,
    SEPARATED,
    SMALL_GPT,
    gpt2,
    gpt2_two_hops,
    one_layer,
    one_layer_two_hops,
    relu,
)

# ----------------------------------------------------------------------------------- the headline


@claim(
    PAPER,
    "Sections 4 and 5",
    headline=True,
    departures=ONE_LAYER + SEPARATED,
    joint=one_layer(*JOINT),
    late_attribution=one_layer(*LATE_ATTRIBUTION),
    late_similarity=one_layer(*LATE_SIMILARITY),
)
def similarity_must_come_before_attributes(
    joint: Run, late_attribution: Run, late_similarity: Run
) -> Iterator[Evidence]:
    """Trained jointly, or on similarity first, the model concludes by analogy; shown part of the
    similarity last, it fits all premises and does not, because source and target stay unlike."""
    yield joint.final("accuracy").above(0.99, paper=1.0)
    yield late_attribution.final("accuracy").above(0.99, paper=1.0)
    yield late_similarity.final("remaining loss").below(0.05, paper=0.0061)
    yield late_similarity.final("accuracy").below(0.05, paper=0.0)
    yield joint.final("resemblance").exceeds(late_similarity.final("resemblance"), by=0.5)
    yield late_attribution.final("resemblance").exceeds(
        late_similarity.final("resemblance"), by=0.5
    )


# ------------------------------------------------------------------------------- Table 1, ten rows


@claim(PAPER, "Table 1, joint, one-layer", departures=ONE_LAYER, joint=one_layer(*JOINT))
def joint_training_yields_analogy_in_one_layer(joint: Run) -> Iterator[Evidence]:
    """Joint training fits the premises, aligns source and target, and concludes by analogy."""
    yield joint.final("train loss").below(0.05, paper=0.001)
    yield joint.final("resemblance").near(0.9202, within=0.05, paper=0.9202)
    yield joint.final("accuracy").above(0.99, paper=1.0)


@claim(PAPER, "Table 1, joint, GPT-2", departures=SMALL_GPT, joint=gpt2("train"))
def joint_training_yields_analogy_in_gpt2(joint: Run) -> Iterator[Evidence]:
    """Joint training of a GPT-2 fits the premises, aligns source and target, and concludes."""
    yield joint.final("train loss").below(0.05, paper=0.0077)
    yield joint.final("resemblance").above(0.9, paper=0.995)
    yield joint.final("accuracy").above(0.99, paper=1.0)


@claim(
    PAPER,
    "Table 1, late attribution, one-layer",
    departures=ONE_LAYER,
    late=one_layer(*LATE_ATTRIBUTION),
)
def late_attribution_yields_analogy_in_one_layer(late: Run) -> Iterator[Evidence]:
    """Similarity first, attribution after: the model still concludes by analogy."""
    yield late.at("similarity loss", FIRST_PHASE).below(0.05)
    yield late.final("attribution loss").below(0.05, paper=0.0024)
    yield late.final("resemblance").near(0.9689, within=0.05, paper=0.9689)
    yield late.final("accuracy").above(0.99, paper=1.0)


@claim(
    PAPER,
    "Table 1, late attribution, GPT-2",
    departures=SMALL_GPT,
    late=gpt2("similarity", "attribution"),
)
def late_attribution_yields_analogy_in_gpt2(late: Run) -> Iterator[Evidence]:
    """A GPT-2 that learns similarity first and attribution after concludes by analogy."""
    yield late.final("attribution loss").below(0.1, paper=0.0845)
    yield late.final("resemblance").above(0.7, paper=0.7983)
    yield late.final("accuracy").above(0.99, paper=1.0)


@claim(
    PAPER,
    "Table 1, late similarity, one-layer",
    departures=ONE_LAYER + SEPARATED,
    late=one_layer(*LATE_SIMILARITY),
)
def late_similarity_yields_no_analogy_in_one_layer(late: Run) -> Iterator[Evidence]:
    """Similarity last: each premise is fitted in its turn, features stay unlike, no analogy."""
    yield late.at("separated loss", FIRST_PHASE).below(0.05)
    yield late.final("remaining loss").below(0.05, paper=0.0061)
    yield late.final("resemblance").near(0.0014, within=0.05, paper=0.0014)
    yield late.final("accuracy").below(0.05, paper=0.0)


@claim(
    PAPER,
    "Table 1, late similarity, GPT-2",
    departures=SMALL_GPT + SEPARATED,
    late=gpt2("separated", "remaining"),
)
def late_similarity_yields_no_analogy_in_gpt2(late: Run) -> Iterator[Evidence]:
    """A GPT-2 that learns part of the similarity last aligns features less, and no analogy."""
    yield late.final("remaining loss").below(0.1, paper=0.0085)
    yield late.final("resemblance").below(0.5, paper=0.4326)
    yield late.final("accuracy").below(0.05, paper=0.007)


@claim(
    PAPER,
    "Table 1, with identity bridge, one-layer",
    departures=ONE_LAYER,
    bridged=one_layer_two_hops(identity=1.0),
)
def bridges_yield_two_hops_in_one_layer(bridged: Run) -> Iterator[Evidence]:
    """With identity bridges two hops compose, as an analogy between an entity and its bridge."""
    yield bridged.final("train loss").below(0.1, paper=0.075)
    yield bridged.final("resemblance").near(0.9132, within=0.05, paper=0.9132)
    yield bridged.final("accuracy").above(0.99, paper=1.0)


@claim(
    PAPER,
    "Table 1, with identity bridge, GPT-2",
    departures=SMALL_GPT,
    bridged=gpt2_two_hops(identity=1.0),
)
def bridges_yield_two_hops_in_gpt2(bridged: Run) -> Iterator[Evidence]:
    """With identity bridges a GPT-2 composes two hops that it never saw together."""
    yield bridged.final("train loss").below(0.1, paper=0.0953)
    yield bridged.final("resemblance").above(0.9, paper=0.9642)
    yield bridged.final("accuracy").above(0.95, paper=0.997)


@claim(
    PAPER,
    "Table 1, without identity bridge, one-layer",
    departures=ONE_LAYER,
    plain=one_layer_two_hops(identity=0.0),
)
def without_bridges_no_two_hops_in_one_layer(plain: Run) -> Iterator[Evidence]:
    """Without bridges both hops are learnt, entity and bridge stay unlike, and nothing composes."""
    yield plain.final("train loss").below(0.1, paper=0.0676)
    yield plain.final("resemblance").near(0.006, within=0.05, paper=0.006)
    yield plain.final("accuracy").below(0.05, paper=0.017)


@claim(
    PAPER,
    "Table 1, without identity bridge, GPT-2",
    departures=SMALL_GPT,
    plain=gpt2_two_hops(identity=0.0),
)
def without_bridges_no_two_hops_in_gpt2(plain: Run) -> Iterator[Evidence]:
    """Without bridges a GPT-2 learns both hops and composes nothing."""
    yield plain.final("train loss").below(0.1, paper=0.1024)
    yield plain.final("resemblance").below(0.2, paper=0.016)
    yield plain.final("accuracy").below(0.05, paper=0.0)


# -------------------------------------------------------------------------------- Tables 2, 3 and 4


@claim(PAPER, "Table 3, joint", departures=RELU, joint=relu("train"))
def joint_training_yields_analogy_end_to_end(joint: Run) -> Iterator[Evidence]:
    """Trained end to end with a ReLU, all premises at once, the one-layer model concludes too."""
    yield joint.final("train loss").below(0.05, paper=0.0133)
    yield joint.final("resemblance").near(0.9413, within=0.1, paper=0.9413)
    yield joint.final("accuracy").above(0.99, paper=1.0)


@claim(
    PAPER,
    "Table 3, late attribution",
    departures=RELU,
    late=relu("similarity", "attribution"),
)
def late_attribution_yields_analogy_end_to_end(late: Run) -> Iterator[Evidence]:
    """Trained end to end, attribution last, the model concludes, though the second phase undoes
    some of the resemblance."""
    yield late.final("attribution loss").below(0.05, paper=0.0198)
    yield late.final("resemblance").near(0.7116, within=0.1, paper=0.7116)
    yield late.final("accuracy").above(0.99, paper=1.0)


@claim(
    PAPER,
    "Table 3, late similarity",
    departures=RELU + SEPARATED,
    late=relu("separated", "remaining"),
)
def late_similarity_yields_no_analogy_end_to_end(late: Run) -> Iterator[Evidence]:
    """Trained end to end, similarity last, features come halfway together and no analogy."""
    yield late.final("remaining loss").below(0.05, paper=0.0138)
    yield late.final("resemblance").near(0.4367, within=0.1, paper=0.4367)
    yield late.final("accuracy").below(0.05, paper=0.0067)


@claim(
    PAPER,
    "Table 4, one-layer",
    departures=ONE_LAYER + ALL_RATIOS,
    by_ratio={ratio: one_layer(*JOINT, ratio=ratio) for ratio in RATIOS},
)
def more_similarity_aligns_more_in_one_layer(by_ratio: dict[float, Run]) -> Iterator[Evidence]:
    """The more the similarity premises count, the more alike source and target become; analogy
    succeeds throughout."""
    reported = {1.0: 0.6706, 4.0: 0.9202, 8.0: 0.9405}
    for ratio, run in by_ratio.items():
        yield run.final("resemblance").near(reported[ratio], within=0.05, paper=reported[ratio])
        yield run.final("accuracy").above(0.99, paper=1.0)
    for less, more in pairwise(RATIOS):
        yield (
            by_ratio[more]
            .final("resemblance")
            .exceeds(by_ratio[less].final("resemblance"), paper=reported[more] - reported[less])
        )


@claim(
    PAPER,
    "Table 4, GPT-2",
    departures=SMALL_GPT + ALL_RATIOS,
    by_ratio={ratio: gpt2("train", ratio=ratio) for ratio in RATIOS},
)
def more_similarity_aligns_more_in_gpt2(by_ratio: dict[float, Run]) -> Iterator[Evidence]:
    """In a GPT-2, too, similarity premises that count more make source and target more alike;
    analogy succeeds throughout."""
    reported = {1.0: 0.9756, 4.0: 0.995, 8.0: 0.9979}
    for run in by_ratio.values():
        yield run.final("accuracy").above(0.99, paper=1.0)
    for less, more in pairwise(RATIOS):
        yield (
            by_ratio[more]
            .final("resemblance")
            .exceeds(by_ratio[less].final("resemblance"), paper=reported[more] - reported[less])
        )
