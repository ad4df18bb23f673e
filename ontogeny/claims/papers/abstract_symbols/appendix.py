"""Appendix B: what the number of samples depends on; and psychometric tests as template tasks."""

from collections.abc import Iterator, Mapping
from typing import Any

from ....core.evidence import Evidence
from ....core.run import Run
from ....models.one_hot_mlp import OneHotMLP
from ....models.transformer import MimeticTransformer
from ....theory.template_sets import (
    ENDS_OR_TAIL,
    distribution_of_three,
    match_to_sample,
    random_templates,
    raven,
)
from ...claim import Sizes, claim
from . import published
from .setting import (
    FEW,
    IDENTITIES,
    OURS,
    PAPER,
    SEEDS,
    at,
    best,
    identities,
    learnt,
    learnt_in,
    only,
    points,
    trained,
)

N = 1024  # samples at which settings are compared, if not said otherwise


def _at(n: int = N, templates: tuple[str, ...] = ENDS_OR_TAIL, **changes: Any) -> Sizes:
    """One run of αβα against αββ, with something changed."""
    return only(trained(templates, at(n), **changes))


def _noted(runs: Mapping[Any, Run], paper: Mapping[Any, float], what: str) -> Iterator[Evidence]:
    for x, run in runs.items():
        yield best(run).beside(paper.get(x), series=what, x=x)


DEPTHS = {1: 0.272, 2: 0.081, 4: 0.075}  # setting: the paper's test loss
HEADS = {1: 0.423, 4: 0.347, 16: 0.103}
WIDTHS = {32: 0.100, 128: 0.196, 512: 0.751}
RATES = {1e-4: 0.435, 1e-3: 0.125, 1e-2: 1.04, 3e-2: 0.965}
BATCHES = {16: 0.126, 64: 0.142, 512: 0.404}  # at n = 512


@claim(
    PAPER, "Appendix B.1, depth", seeds=SEEDS, departures=OURS,
    by_depth={depth: _at(depth=depth) for depth in DEPTHS},
)  # fmt: skip
def two_layers_need_fewer_samples_than_one(by_depth: Mapping[int, Run]) -> Iterator[Evidence]:
    """Two layers need fewer samples than one; four, no more than two."""
    yield from _noted(by_depth, DEPTHS, "test loss by depth")
    yield best(by_depth[1]).exceeds(best(by_depth[2]))
    yield best(by_depth[4]).below(0.3, paper=DEPTHS[4])


@claim(
    PAPER, "Appendix B.1, heads", seeds=SEEDS, departures=OURS,
    by_heads={heads: _at(heads=heads) for heads in HEADS},
)  # fmt: skip
def more_heads_need_fewer_samples(by_heads: Mapping[int, Run]) -> Iterator[Evidence]:
    """A transformer of sixteen heads needs fewer samples than one of a single head."""
    yield from _noted(by_heads, HEADS, "test loss by heads")
    yield best(by_heads[1]).exceeds(best(by_heads[16]))


@claim(
    PAPER, "Appendix B.1, embedding dimension", seeds=SEEDS, departures=OURS,
    by_width={width: _at(width=width) for width in WIDTHS},
)  # fmt: skip
def large_embeddings_need_more_samples(by_width: Mapping[int, Run]) -> Iterator[Evidence]:
    """At the rate 0.001 a larger embedding needs more samples."""
    yield from _noted(by_width, WIDTHS, "test loss by width")
    yield best(by_width[512]).exceeds(best(by_width[32]))


@claim(
    PAPER, "Appendix B.1, learning rate", seeds=SEEDS, departures=OURS,
    by_rate={str(learning_rate): _at(learning_rate=learning_rate) for learning_rate in RATES},
)  # fmt: skip
def large_learning_rates_do_not_generalize(by_rate: Mapping[str, Run]) -> Iterator[Evidence]:
    """At rates of 0.01 and more nothing is learnt of unseen symbols; at 0.001 it is."""
    for name, run in by_rate.items():
        yield best(run).beside(RATES[float(name)], series="test loss by rate", x=float(name))
    yield best(by_rate["0.001"]).below(0.5, paper=RATES[1e-3])
    for learning_rate in (1e-2, 3e-2):
        yield best(by_rate[str(learning_rate)]).above(0.8, paper=RATES[learning_rate])


EPOCHS = Sizes(laptop=100, paper=1000)


def _by_batch(size: int) -> Sizes:
    """Batches of one size, for as many epochs whatever the size."""
    steps = Sizes(*(epochs * 512 // size for epochs in (EPOCHS.laptop, EPOCHS.paper)))
    return _at(512, steps=steps, batch_size=Sizes(size, size))


@claim(
    PAPER, "Appendix B.1, batch size", seeds=SEEDS,
    departures=(*OURS[1:], "a transformer of width 64, 100 epochs (the paper's: 128 and 1,000)"),
    by_batch={size: _by_batch(size) for size in BATCHES},
)  # fmt: skip
def small_batches_generalize_sooner(by_batch: Mapping[int, Run]) -> Iterator[Evidence]:
    """After the same number of epochs smaller batches have generalised further."""
    yield from _noted(by_batch, BATCHES, "test loss by batch")
    yield best(by_batch[512]).exceeds(best(by_batch[16]))


MULTIPLIERS = (1, 8, 64)


@claim(
    PAPER, "Appendix B.1, the last layer alone", seeds=SEEDS,
    departures=(*OURS, "weights but embeddings and head are multiplied, the rate is 0.01"),
    by_scale={
        scale: _at(scale=float(scale), trainable=("head",), learning_rate=1e-2)
        for scale in MULTIPLIERS
    },
)  # fmt: skip
def the_last_layer_alone_needs_large_weights(by_scale: Mapping[int, Run]) -> Iterator[Evidence]:
    """Trained in its last layer alone, a transformer generalises to unseen symbols if its frozen
    weights are large, and not if they have the usual size."""
    for scale, run in by_scale.items():
        yield best(run).beside(published.LAST_LAYER[scale][512], series="by multiplier", x=scale)
    yield best(by_scale[1]).above(0.9, paper=published.LAST_LAYER[1][512])
    yield best(by_scale[64]).below(0.7, paper=published.LAST_LAYER[64][512])
    yield best(by_scale[1]).exceeds(best(by_scale[64]), by=0.2)


@claim(
    PAPER, "Appendix B.1, mimetic initialisation", seeds=SEEDS,
    departures=(*OURS, "W_Q W_Kᵀ starts as 0.7 Z + 0.7 I"),
    mimetic=trained(ENDS_OR_TAIL, FEW, model=MimeticTransformer),
    plain=trained(ENDS_OR_TAIL, FEW),
)  # fmt: skip
def mimetic_initialization_cuts_the_samples(
    mimetic: Mapping[int, Run], plain: Mapping[int, Run]
) -> Iterator[Evidence]:
    """Heads that start near the identity, like those of pretrained models, need fewer samples."""
    yield from points("mimetic", mimetic, published.MIMETIC["mimetic"])
    theirs = learnt_in(published.MIMETIC["mimetic"], 0.5)
    yield learnt(mimetic, 0.5).within_factor(theirs, 2, paper=theirs)
    yield best(plain[128]).exceeds(best(mimetic[128]), by=0.3)


# ------------------------------------------------------------------------------ random templates

NUMBERS = {2: 0.231, 4: 0.667, 9: 1.04}
WILDCARDS = {2: 0.231, 4: 0.501, 6: 0.505}
REGULAR = {0: 1.02, 1: 0.0615, 2: 0.0466}  # at n = 32
LENGTHS = (3, 6, 10)
DRAWN = (*OURS, "one draw of templates for all seeds (the paper's: one for each)")


@claim(
    PAPER, "Appendix B.2, number of templates", seeds=SEEDS,
    departures=(*DRAWN, "length 5, two wildcards"),
    by_number={k: _at(N, random_templates(k, 5)) for k in NUMBERS},
)  # fmt: skip
def more_templates_need_more_samples(by_number: Mapping[int, Run]) -> Iterator[Evidence]:
    """The more templates, the more samples it takes."""
    yield from _noted(by_number, NUMBERS, "test loss by templates")
    yield best(by_number[4]).exceeds(best(by_number[2]))
    yield best(by_number[9]).exceeds(best(by_number[2]), by=0.2)


@claim(
    PAPER, "Appendix B.2, wildcards", seeds=SEEDS, departures=(*DRAWN, "two templates of length 5"),
    by_wildcards={k: _at(N, random_templates(2, 5, wildcards=k, seed=1)) for k in WILDCARDS},
)  # fmt: skip
def more_wildcards_need_more_samples(by_wildcards: Mapping[int, Run]) -> Iterator[Evidence]:
    """Templates with more wildcards need more samples."""
    yield from _noted(by_wildcards, WILDCARDS, "test loss by wildcards")
    yield best(by_wildcards[6]).exceeds(best(by_wildcards[2]))


@claim(
    PAPER, "Appendix B.2, regular tokens", seeds=SEEDS,
    departures=(*DRAWN, "two templates of length 5"),
    by_regular={k: _at(32, random_templates(2, 5, regular=k, seed=2)) for k in REGULAR},
)  # fmt: skip
def regular_tokens_cut_the_samples(by_regular: Mapping[int, Run]) -> Iterator[Evidence]:
    """With regular tokens among wildcards, 32 samples suffice."""
    yield from (
        best(run).beside(REGULAR[k], series="test loss", x=k) for k, run in by_regular.items()
    )
    yield best(by_regular[0]).above(0.8, paper=REGULAR[0])
    for k in (1, 2):
        yield best(by_regular[k]).below(0.3, paper=REGULAR[k])


@claim(
    PAPER, "Appendix B.2, length", seeds=SEEDS, departures=(*DRAWN, "two templates"),
    by_length={k: _at(N, random_templates(2, k, seed=3)) for k in LENGTHS},
)  # fmt: skip
def template_length_hardly_matters(by_length: Mapping[int, Run]) -> Iterator[Evidence]:
    """With a thousand samples two templates are learnt, whatever their length."""
    for k, run in by_length.items():
        yield best(run).beside(None, series="test loss by length", x=k)
        yield best(run).below(0.5)


# ----------------------------------------------------------------------------- psychometric tests

PSYCHOMETRIC = (
    *IDENTITIES,
    "the paper gives the templates and trains on none of them: bounds are ours",
)
TESTS: dict[str, tuple[tuple[str, ...], float, dict[str, Any]]] = {
    "distribution of three": (distribution_of_three(), 3 / 4, {}),
    "match to sample": (match_to_sample(), 1 / 2, {}),
    "Raven's matrices": (raven(), 2 / 3, {"tied": True, "vo_identity": True}),
}


@claim(
    PAPER, "Figure 3 and Appendix A", seeds=SEEDS, departures=PSYCHOMETRIC,
    by_test={
        name: only(identities(templates, at(N), **fields))
        for name, (templates, _, fields) in TESTS.items()
    },
    mlp={
        name: only(trained(templates, at(N), model=OneHotMLP, small={}))
        for name, (templates, *_) in TESTS.items()
    },
)  # fmt: skip
def psychometric_tests_are_learnt_as_templates(
    by_test: Mapping[str, Run], mlp: Mapping[str, Run]
) -> Iterator[Evidence]:
    """From a thousand samples a transformer with identities does better than chance on tests of
    unseen symbols, and a multilayer perceptron does not."""
    for name, (_, chance, _) in TESTS.items():
        yield best(by_test[name], "test error").below(chance - 0.05)
        yield best(mlp[name], "test error").above(chance - 0.1)
