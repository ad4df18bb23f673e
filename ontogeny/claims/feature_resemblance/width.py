"""Propositions 2 and 3 to a million dimensions, in the span of the rows."""

from collections.abc import Iterator

from ...claim import claim
from ...core import Experiment
from ...evidence import Evidence, Run, exponent
from ...models.span import SpanOneLayer
from .setting import LIMIT, PAPER, stage_one

WIDTHS = (1e3, 1e4, 1e5, 1e6)


def spanned(split: str, width: float) -> Experiment:
    """Stage 1 at any width. σ₀ falls as 1/d, as small as the theorem wants it: the softmax stays as
    flat as with 512 dimensions."""
    narrow = stage_one(split)
    model = SpanOneLayer(width=width, scale=1e-5 * 512 / width)
    return Experiment(narrow.task, model, narrow.regime, narrow.probes)


@claim(
    PAPER,
    "Propositions 2 and 3, to d = 10⁶ (ours)",
    seeds=5,
    departures=(*LIMIT, "σ₀ = 1e-5 · 512/d; computed in the span of the rows, which is exact"),
    first={width: spanned("similarity", width) for width in WIDTHS},
    last={width: spanned("separated", width) for width in WIDTHS},
)
def a_million_dimensions_align_and_separate(
    first: dict[float, Run], last: dict[float, Run]
) -> Iterator[Evidence]:
    """Similarity first, source and target become one direction; similarity last, they stay as
    random directions are, with cosines that fall as the root of the dimension."""
    yield first[1e6].final("resemblance").above(0.999)
    yield first[1e6].final("resemblance").exceeds(first[1e3].final("resemblance"))
    sizes = [(width, last[width].final("resemblance of each").magnitude()) for width in WIDTHS]
    yield exponent(sizes).near(-0.5, within=0.05)
    yield sizes[-1][1].below(0.002)
