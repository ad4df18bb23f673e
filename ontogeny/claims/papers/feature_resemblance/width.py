"""Propositions 2 and 3 to a million dimensions, in the span of the rows."""

from collections.abc import Iterator

from ....core.curves import exponent
from ....core.evidence import Evidence
from ....core.run import Run
from ....core.types import Experiment
from ....models.span import SpanOneLayer
from ....tasks.analogy import Analogy
from ...claim import claim
from .setting import LIMIT, PAPER, stage_one

HUGE_WIDTHS = (1e3, 1e4, 1e5, 1e6)


TUPLES = (10, 100)
SPANNED = (*LIMIT, "σ₀ = 1e-5 · 512/d; computed in the span of the rows, which is exact")


def spanned(split: str, width: float, tuples: int = 30) -> Experiment:
    """Stage 1 at any width. σ₀ falls as 1/d, as small as the theorem wants it: the softmax stays as
    flat as with 512 dimensions."""
    narrow = stage_one(split)
    model = SpanOneLayer(width=width, scale=1e-5 * 512 / width)
    return Experiment(Analogy(tuples=tuples), model, narrow.training, narrow.probes)


@claim(
    PAPER,
    "Propositions 2 and 3, to d = 10⁶ (ours)",
    departures=SPANNED,
    first={width: spanned("similarity", width) for width in HUGE_WIDTHS},
    last={width: spanned("separated", width) for width in HUGE_WIDTHS},
)
def a_million_dimensions_align_and_separate(
    first: dict[float, Run], last: dict[float, Run]
) -> Iterator[Evidence]:
    """Similarity first, source and target become one direction; similarity last, they stay as
    random directions are, with cosines that fall as the root of the dimension."""
    yield first[1e6].final("resemblance").above(0.999)
    yield first[1e6].final("resemblance").exceeds(first[1e3].final("resemblance"))
    sizes = [(width, last[width].final("resemblance of each").magnitude()) for width in HUGE_WIDTHS]
    yield exponent(sizes).near(-0.5, within=0.05)
    # random directions have 1/√d = .001; written before -1/(V-1) was known, see below
    yield sizes[-1][1].below(0.002)


@claim(
    PAPER,
    "Proposition 3, at d = 10⁶ (ours)",
    departures=SPANNED,
    by_tuples={tuples: spanned("separated", 1e6, tuples) for tuples in TUPLES},
)
def late_similarity_leaves_a_cosine_set_by_the_vocabulary(
    by_tuples: dict[int, Run],
) -> Iterator[Evidence]:
    """Similarity last, the cosine does not go to 0 with the dimension alone: features are pushed
    away from the mean of all answers, and of V such directions any two have cosine -1/(V-1)."""
    for tuples, run in by_tuples.items():
        limit = 1 / (Analogy(tuples=tuples).vocab - 1)
        yield run.final("resemblance").near(-limit, within=0.1 * limit)
