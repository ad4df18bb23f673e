"""Order, or forgetting? The curricula again, with what the first phase taught asked and replayed.

A model concludes t r2 → c from s r2 → c. If a second phase makes it forget that, it fails whatever
its features are. Replayed with a small weight, the premises of the first phase are kept: what fails
then, fails for want of an analogy.
"""

from collections.abc import Iterator

from ....core.curves import falls_below, monotone
from ....core.evidence import Evidence
from ....core.run import Run
from ....core.types import Experiment
from ....models.one_layer import OneLayer
from ....tasks.analogy import Analogy
from ...claim import claim
from .setting import (
    ANALOGY,
    GPT2_DEPARTURES,
    ONE_LAYER,
    PAPER,
    RATIO,
    RELU,
    SEPARATED,
    VALUES,
    attention,
    gpt2,
    mlp,
    relu,
)

REPLAYED = ("premises of the first phase are replayed in the second with a weight, 1 for as much",)
REPLAYS = (0.0, 0.01, 0.03, 0.1)


def _kept(run: Run) -> Iterator[Evidence]:
    """What the first phase taught is still known after the second."""
    yield run.final("source accuracy").above(0.95)
    yield run.final("remaining loss").below(0.1)


@claim(
    PAPER,
    "Table 1, late similarity, GPT-2, with replay (ours)",
    departures=(*GPT2_DEPARTURES, *SEPARATED, *REPLAYED),
    by_replay=lambda scale: {
        replay: gpt2(scale, "separated", "replayed", replay=replay) for replay in REPLAYS
    },
)
def late_similarity_in_gpt2_is_forgetting(by_replay: dict[float, Run]) -> Iterator[Evidence]:
    """A GPT-2 that learns part of the similarity last forgets what the source is; with a tenth of
    the weight on replay it does not, and concludes by analogy: the order did not matter."""
    plain, tenth = by_replay[0.0], by_replay[REPLAYS[-1]]
    yield plain.at("source accuracy", plain.ends[0]).above(0.95)
    yield plain.final("source accuracy").below(0.5)
    yield plain.final("accuracy").below(0.05, paper=0.007)
    yield from _kept(tenth)
    yield tenth.final("accuracy").above(0.9)
    for replay, run in by_replay.items():
        for probe in ("accuracy", "source accuracy", "resemblance"):
            yield run.final(probe).beside(None, series=probe, x=replay)


@claim(
    PAPER,
    "Table 3, late similarity, with replay (ours)",
    departures=(*RELU, *SEPARATED, *REPLAYED),
    by_replay={replay: relu("separated", "replayed", replay=replay) for replay in (0.1, 1.0)},
)
def late_similarity_end_to_end_is_more_than_forgetting(
    by_replay: dict[float, Run],
) -> Iterator[Evidence]:
    """The one-layer model with a ReLU, trained end to end, fails with similarity last though it is
    kept from forgetting: here the order matters."""
    for run in by_replay.values():
        yield from _kept(run)
        yield run.final("accuracy").below(0.05, paper=0.0067)


def _frozen(replay: float) -> Experiment:
    """Theorem 3's curriculum, whose second phase trains the MLP alone, with replay."""
    training = (attention("separated"), mlp("separated"), mlp("replayed"))
    task = Analogy(tuples=100, ratio=RATIO, replay=replay)
    return Experiment(task, OneLayer(), training, ANALOGY | VALUES)


@claim(
    PAPER,
    "Theorem 3, with replay (ours)",
    departures=(*ONE_LAYER, *SEPARATED, *REPLAYED),
    by_replay={replay: _frozen(replay) for replay in (0.1, 1.0)},
)
def no_replay_makes_up_for_features_that_are_frozen(
    by_replay: dict[float, Run],
) -> Iterator[Evidence]:
    """In the one-layer model trained layer by layer the first phase settles the features: with
    similarity last they stay orthogonal, and however much is replayed nothing is concluded."""
    for run in by_replay.values():
        yield from _kept(run)
        yield run.final("resemblance").near(0.0, within=0.05)
        yield run.final("accuracy").below(0.05, paper=0.0)


# ------------------------------------------------------------------------------- Table 3, by map

SCALES = (0.005, 0.01, 0.02, 0.03)


@claim(
    PAPER,
    "Table 3, late attribution, over initial scales (ours)",
    departures=(*RELU, "σ₀, which the paper does not give, is swept"),
    by_scale={scale: relu("similarity", "attribution", scale=scale) for scale in SCALES},
)
def the_initial_scale_sets_what_late_attribution_leaves(
    by_scale: dict[float, Run],
) -> Iterator[Evidence]:
    """Trained end to end, attribution last, the model concludes from initial weights of any of some
    scales; the larger, the less alike source and target end, down to the paper's number."""
    found = {scale: run.final("resemblance") for scale, run in by_scale.items()}
    for run in by_scale.values():
        yield run.final("accuracy").above(0.99, paper=1.0)
    yield monotone(found, rises=False)
    reported = 0.7116
    yield falls_below(found, reported).below(SCALES[-1])
    for scale, run in by_scale.items():
        yield run.final("resemblance").beside(reported, series="resemblance", x=scale)
