"""Theorems 1 to 6 with their propositions and lemmas, and Figure 1."""

from collections.abc import Iterator, Mapping
from typing import Any

from ....core.curves import monotone
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....core.types import Experiment
from ....models.one_layer import OneLayer
from ....probes.behaviour import Loss
from ....probes.gradients import GradientError
from ....tasks.analogy import Analogy
from ....theory.resemblance import resemblance
from ....training.descent import GradientDescent
from ...claim import claim
from .regions import BALANCE
from .setting import (
    DEEP,
    FIRST_PHASE,
    GPT2_DEPARTURES,
    JOINT,
    LARGE_RATIOS,
    LATE_ATTRIBUTION,
    LATE_SIMILARITY,
    LIMIT,
    ONE_LAYER,
    PAPER,
    RATIO,
    SEPARATED,
    VALUES,
    WIDTHS,
    attention,
    deep_gpt2,
    deep_linear,
    deep_linear_with_theory,
    one_layer,
    one_layer_two_hops,
    stage_one,
    stage_one_two_hops,
)

# --------------------------------------------------- Theorems 1 to 5 with Propositions 1 to 5
# The propositions speak of limits. Stage 1 alone decides the resemblance, so a sweep of stage 1
# shows where it goes; the runs of Table 1 show convergence and the test error at N = 100.


def _rises_to_one(sweep: Mapping[Any, Run]) -> Iterator[Evidence]:
    found = {value: run.final("resemblance") for value, run in sweep.items()}
    yield monotone(found, rises=True)
    yield found[max(found)].above(0.99)  # theory: .9999 at κ = 64


def _falls_to_zero(sweep: Mapping[Any, Run]) -> Iterator[Evidence]:
    # sizes, pair by pair: cosines of both signs would cancel in a mean
    sizes = {value: run.final("resemblance of each").magnitude() for value, run in sweep.items()}
    yield monotone(sizes, rises=False)
    yield sizes[max(sizes)].below(0.05)


@claim(
    PAPER,
    "Theorem 1, Proposition 1",
    departures=LIMIT,
    trained=one_layer(*JOINT),
    # joint training leaves κ/√(κ²+1) at any width: its limit is in κ, those of the others in d
    by_ratio={ratio: stage_one("train", ratio) for ratio in LARGE_RATIOS},
)
def joint_training_aligns_and_concludes(
    trained: Run, by_ratio: dict[float, Run]
) -> Iterator[Evidence]:
    """Joint training converges with no error on the conclusion, and as similarity premises come to
    dominate, the value features of source and target have cosine 1 - o(1)."""
    yield trained.final("train loss").below(0.05)
    yield trained.final("accuracy").above(0.99, paper=1.0)
    yield from _rises_to_one(by_ratio)


@claim(
    PAPER,
    "Theorem 2, Proposition 2",
    departures=LIMIT,
    trained=one_layer(*LATE_ATTRIBUTION),
    by_width={width: stage_one("similarity", width=width) for width in WIDTHS},
)
def similarity_first_aligns_and_concludes(
    trained: Run, by_width: dict[int, Run]
) -> Iterator[Evidence]:
    """Similarity first, attribution after: both phases converge, the conclusion has no error, and
    with the embedding dimension the cosine goes to 1."""
    yield trained.at("similarity loss", FIRST_PHASE).below(0.05)
    yield trained.final("attribution loss").below(0.05)
    yield trained.final("accuracy").above(0.99, paper=1.0)
    yield from _rises_to_one(by_width)


@claim(
    PAPER,
    "Theorem 3, Proposition 3",
    departures=LIMIT + SEPARATED,
    trained=one_layer(*LATE_SIMILARITY),
    by_width={width: stage_one("separated", width=width) for width in WIDTHS},
)
def late_similarity_leaves_features_orthogonal(
    trained: Run, by_width: dict[int, Run]
) -> Iterator[Evidence]:
    """Similarity last: both phases converge, the conclusion is at chance, and with the embedding
    dimension the cosine of every pair goes to 0."""
    yield trained.at("separated loss", FIRST_PHASE).below(0.05)
    yield trained.final("remaining loss").below(0.05)
    yield trained.final("accuracy").below(0.05, paper=0.01)  # chance: 1/N
    yield from _falls_to_zero(by_width)


@claim(
    PAPER,
    "Theorem 4, Proposition 4",
    departures=LIMIT,
    trained=one_layer_two_hops(identity=1.0),
    by_ratio={ratio: stage_one_two_hops(1.0, ratio) for ratio in LARGE_RATIOS},
)
def bridges_align_and_compose(trained: Run, by_ratio: dict[float, Run]) -> Iterator[Evidence]:
    """With identity bridges training converges, two hops compose without error, and the features of
    an entity and its bridge have cosine 1 - o(1)."""
    yield trained.final("train loss").below(0.1)
    yield trained.final("accuracy").above(0.99, paper=1.0)
    yield from _rises_to_one(by_ratio)


@claim(
    PAPER,
    "Theorem 5, Proposition 5",
    departures=LIMIT,
    trained=one_layer_two_hops(identity=0.0),
    by_width={width: stage_one_two_hops(0.0, width=width) for width in WIDTHS},
)
def without_bridges_features_stay_orthogonal(
    trained: Run, by_width: dict[int, Run]
) -> Iterator[Evidence]:
    """Without bridges training converges, two hops are at chance, and the cosine of entity and
    bridge goes to 0 with the embedding dimension."""
    yield trained.final("train loss").below(0.1)
    yield trained.final("accuracy").below(0.05, paper=0.01)
    yield from _falls_to_zero(by_width)


# ----------------------------------------------------------------------- depth: Theorem 6, Figure 1


def _rises_with_depth(run: Run) -> Iterator[Evidence]:
    layers = run.final("resemblance by layer")
    yield monotone({layer: layers[layer] for layer in range(len(layers))}, rises=True)


@claim(
    PAPER,
    "Theorem 6",
    departures=DEEP,
    by_number={shared: deep_linear(shared) for shared in (2, 4)},
)
def alignment_grows_layer_by_layer(by_number: dict[int, Run]) -> Iterator[Evidence]:
    """In a linear network trained layer by layer on orthogonal inputs, inputs that share a label
    are more alike after every layer, however many share it."""
    for run in by_number.values():
        yield run.initial("resemblance by layer")[0].near(0.0, within=1e-6)  # inputs are orthogonal
        yield from _rises_with_depth(run)


@claim(
    PAPER,
    "Theorem 6, in closed form (ours)",
    departures=(*DEEP, "the growth of distances was derived after they had been seen to grow"),
    deep=deep_linear_with_theory(),
)
def layers_lengthen_what_is_shared_more_than_distances(deep: Run) -> Iterator[Evidence]:
    """Each trained layer lengthens what inputs with the same label share, and at finite width, by
    C/d of it for C labels, their distance: so is 1 - cosine, within a factor of two, but for the
    last layer, where distances grow by more."""
    measured, predicted = (_apart(deep, name) for name in ("resemblance", "predicted"))
    last = len(measured) - 1
    for layer in range(1, last):
        yield measured[layer].within_factor(predicted[layer], 2)
    yield measured[last].exceeds(predicted[last])


def _apart(run: Run, name: str) -> Measurement:
    """1 - cosine, layer by layer: near 1 a cosine hides how far from it."""
    cosines = run.final(f"{name} by layer")
    return Measurement.of(f"1 - {name} by layer", 1 - cosines.values, failures=cosines.failures)


@claim(PAPER, "Figure 1, linear network", departures=DEEP, deep=deep_linear(2))
def resemblance_rises_with_depth_in_linear_networks(deep: Run) -> Iterator[Evidence]:
    """In a deep linear network the mean cosine of inputs with the same label rises with depth."""
    yield from _rises_with_depth(deep)


@claim(
    PAPER,
    "Figure 1, GPT-2",
    departures=(GPT2_DEPARTURES[0], "20 labels, two inputs each"),
    deep=deep_gpt2,
)
def resemblance_rises_with_depth_in_gpt2(deep: Run) -> Iterator[Evidence]:
    """In a trained GPT-2 the mean cosine of inputs with the same label rises with depth."""
    yield deep.final("train loss").below(0.1)
    yield from _rises_with_depth(deep)


# ------------------------------------------------------------------------ lemmas and closed forms


@claim(
    PAPER,
    "Lemma 1",
    departures=("10 tuples, width 64, weights of deviation 0.5: the lemma holds for any",),
    trained=Experiment(
        Analogy(tuples=10, ratio=RATIO),
        OneLayer(width=64, scale=0.5),
        (GradientDescent(steps=40, learning_rate=0.1),),
        {"train loss": Loss("train"), "gradient error": GradientError("train")},
    ),
)
def gradients_have_the_stated_form(trained: Run) -> Iterator[Evidence]:
    """The gradients of all three matrices are those of Lemma 1, before and after training."""
    yield trained.initial("gradient error").below(1e-4)
    yield trained.final("gradient error").below(1e-4)


@claim(
    PAPER,
    "Proofs of Theorems 1 and 2, before saturation",
    departures=LIMIT,
    by_ratio={ratio: stage_one("train", ratio) for ratio in (1.0, 2.0, 3.0, 4.0, 5.0, 8.0)},
)
def the_ratio_sets_the_resemblance(by_ratio: dict[float, Run]) -> Iterator[Evidence]:
    """While the softmax is flat, the cosine of source and target is κ/√(κ²+1)."""
    for ratio, run in by_ratio.items():
        yield run.final("resemblance").near(resemblance(ratio), within=0.02)


@claim(
    PAPER,
    "Lemma 6, first statement",
    departures=(*ONE_LAYER, "σ₀ was chosen so small that it holds: the next claim is about others"),
    region=BALANCE,
    joint=one_layer(*JOINT),
)
def attention_stays_balanced(joint: Run) -> Iterator[Evidence]:
    """While the attention layer trains, entity and relation keep equal attention."""
    yield joint.peak("imbalance").below(0.01)  # at every evaluation


@claim(
    PAPER,
    "Condition 1, second part (ours)",
    departures=ONE_LAYER,
    by_scale={
        scale: Experiment(
            Analogy(tuples=100, ratio=RATIO),
            OneLayer(scale=scale),
            (attention("train"),),
            VALUES,
        )
        for scale in (1e-4, 1e-3, 1e-2)
    },
)
def a_large_initialisation_unbalances_attention(by_scale: dict[float, Run]) -> Iterator[Evidence]:
    """The theory needs a small initialisation: from a large one, the same training moves attention
    to the relation, and source and target become less alike."""
    yield by_scale[1e-4].final("imbalance").below(0.01)
    yield by_scale[1e-2].final("imbalance").above(0.1)
    yield by_scale[1e-4].final("resemblance").exceeds(by_scale[1e-2].final("resemblance"), by=0.2)
