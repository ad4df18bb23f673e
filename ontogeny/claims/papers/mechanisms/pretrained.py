"""What the talk says of a pretrained model, asked of one that a laptop holds."""

from collections.abc import Iterator

from ....core.evidence import Evidence
from ....core.run import Run
from ....llm.truncation import Truncation
from ...pretrained import pretrained_claim
from .setting import PAPER

DEPARTURES = (
    "{model} instead of Pythia-1B",
    "62 prompts like 'Madrid is located in'; each seed has a third of them to itself",
    "1 % of the singular values of what goes into a late feed-forward layer is kept",
)
LATE = 10


@pretrained_claim(
    PAPER,
    "Slides: Pythia-1B, 'Madrid is located in'",
    departures=(*DEPARTURES, "the layer is the one that is best for the other seeds' prompts"),
    truncated=Truncation(late=LATE),
)
def truncating_the_right_late_layer_favours_the_answer(truncated: Run) -> Iterator[Evidence]:
    """With the right late feed-forward layer truncated, a pretrained model gives the answer higher
    log-odds over the word that is merely common, and is right more often."""
    odds, accuracy = "chosen log-odds", "chosen accuracy"
    yield truncated.final(odds).exceeds(truncated.initial(odds), by=0.5)
    yield truncated.final(accuracy).exceeds(truncated.initial(accuracy))


@pretrained_claim(
    PAPER,
    "Slides: Pythia-1B, 'Madrid is located in', whichever layer (ours)",
    departures=DEPARTURES,
    truncated=Truncation(late=LATE),
)
def truncating_any_late_layer_favours_the_answer(truncated: Run) -> Iterator[Evidence]:
    """On average over the last ten layers, truncating one of them raises the log-odds of the answer
    over the word that is merely common."""
    yield truncated.final("log-odds").exceeds(truncated.initial("log-odds"))
    by_layer = truncated.final("log-odds by layer")
    for layer in range(len(by_layer)):
        yield by_layer[layer].beside(None, series="log-odds by late layer truncated", x=layer)
