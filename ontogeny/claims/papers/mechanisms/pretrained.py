"""What the talk says of a pretrained model, asked of one that a laptop holds."""

from collections.abc import Iterator

from ....core.evidence import Evidence
from ....core.run import Run
from ....llm.truncation import Truncation
from ...pretrained import pretrained_claim
from .setting import PAPER

DEPARTURES = (
    "{model} instead of Pythia-1B",
    "62 prompts like 'Madrid is located in'; each seed has a sixth of them to itself",
    "1 % of the singular values of what goes into a late feed-forward layer is kept",
)
LATE = 10
SHARES = 6  # of the prompts: as many seeds as there may be, so that none sees those of another


@pretrained_claim(
    PAPER,
    "Slides: Pythia-1B, 'Madrid is located in'",
    departures=(*DEPARTURES, "the layer is the one that is best for the other seeds' prompts"),
    truncated=Truncation(late=LATE, shards=SHARES),
)
def truncating_the_right_late_layer_favours_the_answer(truncated: Run) -> Iterator[Evidence]:
    """With the right late feed-forward layer truncated, a pretrained model gives the answer higher
    log-odds over the word that is merely common, and is right more often."""
    odds, accuracy = "chosen log-odds", "chosen accuracy"
    yield truncated.final(odds).on_average().exceeds(truncated.initial(odds).on_average(), by=0.5)
    yield truncated.final(accuracy).on_average().exceeds(truncated.initial(accuracy).on_average())


@pretrained_claim(
    PAPER,
    "Slides: Pythia-1B, 'Madrid is located in', whichever layer (ours)",
    departures=DEPARTURES,
    truncated=Truncation(late=LATE, shards=SHARES),
)
def truncating_any_late_layer_favours_the_answer(truncated: Run) -> Iterator[Evidence]:
    """On average over the last ten layers, truncating one of them raises the log-odds of the answer
    over the word that is merely common."""
    yield (
        truncated.final("log-odds").on_average().exceeds(truncated.initial("log-odds").on_average())
    )
    by_layer = truncated.final("log-odds by layer")
    for layer in range(len(by_layer)):
        yield by_layer[layer].beside(None, series="log-odds by late layer truncated", x=layer)
