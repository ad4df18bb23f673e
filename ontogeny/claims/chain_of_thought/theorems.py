"""The theorems, in their own model: one step teaches the neurons, two teach attention."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

import jax.numpy as jnp
import numpy as np

from ...claim import Sizes, claim, lazily
from ...core import Experiment, Probe, Stage
from ...evidence import Evidence, Measurement, Run
from ...models.block_sparse import BlockSparse
from ...probes.behaviour import Success
from ...probes.lego import Combinations, Concentration, Diagonals, Features, Gap, Promise, Unaided
from ...regimes.descent import Descent
from ...regimes.lego import ChainDescent
from ...tasks.lego import Lego, split_of
from ...theory import lego_descent
from .setting import CYCLIC, PAPER, curve, solved

SYMMETRIC = Sizes(laptop="S4", paper="S5")
VARIABLES = Sizes(laptop=33, paper=129)
MODEL = BlockSparse(neurons=32, clip=1.0, knee=1.0)
LOOKS = 10
ATTENTION = ("look", "keep")
OWN_VALUE, OTHER_VALUES, FITTING, OTHER_ACTIONS = range(4)
SIZED = (
    Sizes(
        laptop="33 variables, 128 sentences a step; S4 where the paper has S_n",
        paper="129 variables, 128 sentences a step; S5 where the paper has S_n",
    ),
    "the paper's constants are asymptotic: 32 neurons a class, q = 4, ρ = 1, B = log d, rate 10; "
    "ρ is above the bias σ₀ log d, as it is where d is large",
)


def _probes(task: Lego) -> dict[str, Probe]:
    probes: dict[str, Probe] = {
        "one step": Success("1 step"),
        "gap": Gap("2 steps"),
        "diagonals": Diagonals(),
        "features": Features(),
    }
    for chain in task.chains[1:]:
        probes[split_of(chain)] = Unaided(split_of(chain))
        probes[f"lost, {split_of(chain)}"] = Concentration(split_of(chain))
    return probes


def _taught(scale: str, action: str, *stages: Stage) -> Experiment:
    """Neurons learn one step, by the loss of all that follows; then come other stages."""
    task = Lego(action=action, chain=1, variables=VARIABLES.at(scale), rows=128)
    neurons = Descent(steps=1500, rate=10.0, split="1 step", parts=("neurons",))
    return Experiment(task, MODEL, (neurons, *stages), _probes(task), looks=LOOKS)


def algorithm_one(scale: str, action: str) -> Experiment:
    """Attention learns from chains of two, by the loss of both values."""
    attention = ChainDescent(
        steps=600, rate=10.0, split="2 steps", parts=ATTENTION, counted="value"
    )
    return _taught(scale, action, attention)


def _stage(chain: int, labels: str) -> Stage:
    return ChainDescent(
        steps=100,
        rate=10.0,
        split=split_of(chain),
        parts=ATTENTION,
        counted="value",
        answer=2,
        labels=labels,
    )


def algorithm_two(scale: str) -> Experiment:
    """Attention learns from chains of two, by the loss of the second value; then, doubling, from
    longer ones that it has answered itself."""
    chains = Lego(chain=1, variables=VARIABLES.at(scale)).chains
    first, *longer = chains[1:-1]
    stages = (_stage(first, "true"), *(_stage(chain, "own") for chain in longer))
    return _taught(scale, SYMMETRIC.at(scale), *stages)


CYCLE = lazily(partial(algorithm_one, action=CYCLIC))
PERMUTED = lazily(lambda scale: algorithm_one(scale, SYMMETRIC.at(scale)))
SELF_TAUGHT = lazily(algorithm_two)

# ------------------------------------------------------------------------------ how far it reaches


@claim(PAPER, "Theorem 4.1", headline=True, departures=SIZED, taught=CYCLE)
def two_short_lessons_reach_long_chains(taught: Run) -> Iterator[Evidence]:
    """In the theorems' model, neurons taught by single actions of a cyclic group and attention
    taught by two solve far longer chains, for attention is on the two clauses that matter."""
    yield taught.final("one step").above(0.99, paper=1.0)
    for chain, found in solved(taught, int(taught.steps[-1])).items():
        yield found.beside(1.0, series=CYCLIC, x=chain)
        yield found.above(0.95, paper=1.0)
    yield taught.final("lost, 2 steps").below(0.05, paper=0.0)
    yield taught.final("gap").below(0.1, paper=0.0)


@claim(PAPER, "Section 6.2.1, Figure 4", departures=SIZED, taught=CYCLE)
def attention_grows_on_two_diagonals(taught: Run) -> Iterator[Evidence]:
    """Of all pairs of variables, attention learns those of a variable with itself: the diagonals of
    Q43 and Q44 grow together, and nothing else does."""
    found = taught.final("diagonals")
    for block, name in enumerate(("Q43", "Q44")):
        diagonal, other = (
            replace(found[block, kind], what=f"{name}, {word}")
            for kind, word in enumerate(("its diagonal", "its largest other entry"))
        )
        yield diagonal.above(2.0)
        yield other.below(0.5, paper=0.0)
    yield found[0, 0].agrees(found[1, 0], within=0.3, paper=0.0)


@claim(
    PAPER,
    "Theorem 5.1, Corollary 5.1",
    departures=(*SIZED, "every stage has 100 steps, where the paper goes on until its loss is low"),
    taught=SELF_TAUGHT,
)
def answering_itself_a_model_doubles_its_reach(taught: Run) -> Iterator[Evidence]:
    """Taught by chains of 2^k that it answered itself, the theorems' model of a symmetric group
    solves chains of 2^(k+1), stage after stage, up to as many as there are variables."""
    ends = [int(step) for step in taught.steps[2 * LOOKS :: LOOKS]]
    for number, end in enumerate(ends):
        yield taught.at(split_of(4 << number), end).above(0.95, paper=1.0)
        yield from curve(taught, f"taught by chains of {2 << number}", end)
    for before, after in pairwise(ends):
        yield taught.at("lost, 32 steps", before).exceeds(taught.at("lost, 32 steps", after))
    yield taught.final("lost, 2 steps").below(0.01, paper=0.01)


@claim(
    PAPER,
    "Section 5, why self-training is needed",
    departures=SIZED,
    taught=SELF_TAUGHT,
)
def chains_of_two_alone_do_not_reach_the_longest(taught: Run) -> Iterator[Evidence]:
    """Before it is taught by what it answered itself, the theorems' model of a symmetric group
    fails at chains as long as there are variables."""
    reached = solved(taught, int(taught.steps[2 * LOOKS]))
    yield reached[max(reached)].below(0.5)


# ------------------------------------------------------------------------------ what neurons learn


def _feature(run: Run, kind: int, name: str) -> Measurement:
    found = run.final("features")
    mean = found.values[..., kind].mean(axis=(1, 2))
    return replace(found, what=f"{run.name}: {name}", values=mean)


def _features(run: Run) -> tuple[Measurement, ...]:
    return tuple(
        _feature(run, kind, f"V({name}) / B")
        for kind, name in enumerate(("y", "other values", "g", "other actions"))
    )


def _sum(one: Measurement, other: Measurement) -> Measurement:
    what = f"{one.what} and {other.what.rpartition(': ')[2]}, together"
    return replace(one, what=what, values=one.values + other.values)


@claim(PAPER, "Equation 17", departures=SIZED, taught=CYCLE)
def a_neuron_learns_one_action_on_one_value(taught: Run) -> Iterator[Evidence]:
    """In a simply transitive group, the neuron of a combination (g, y) has V(g) and V(y) near B,
    and those of other actions and values near -B, so that half a combination cancels."""
    own, others, fitting, rest = _features(taught)
    for right in (own, fitting):
        yield right.near(1.0, within=0.3, paper=1.0)
    for wrong in (others, rest):
        yield wrong.near(-1.0, within=0.3, paper=-1.0)
    yield _sum(fitting, others).below(0.3, paper=0.0)
    yield _sum(own, rest).below(0.3, paper=0.0)
    yield own.agrees(fitting, within=0.1, paper=0.0)


SHORT = algorithm_one("laptop", CYCLIC)


@claim(PAPER, "Section 6.2.1 (ours)", departures=SIZED, taught=SHORT)
def four_numbers_say_what_attention_learns(taught: Run) -> Iterator[Evidence]:
    """Given what neurons make of their tokens and of others, descent in four numbers predicts both
    diagonals of attention and what it loses, with nothing fitted."""
    measured = [_feature(taught, kind, "").values for kind in range(4)]
    predicted = []
    for own, others, fitting, rest in zip(*measured, strict=True):
        scores = _descended(SHORT, (own + fitting) / 2, (others + rest) / 2)
        loss = float(jnp.mean(lego_descent.lost(scores, 2)))
        predicted.append((float(scores.look), float(scores.keep), loss))
    look, keep, lost = np.array(predicted).T
    found = taught.final("diagonals")
    for name, diagonal, theory in (("Q43", found[0, 0], look), ("Q44", found[1, 0], keep)):
        what = f"{taught.name}: diagonal of {name}, as many times the predicted one"
        with np.errstate(divide="ignore", invalid="ignore"):  # nothing learnt, nothing predicted
            times = diagonal.values / theory
        yield replace(diagonal, what=what, values=times).near(1.0, within=0.15)
    paid = taught.final("lost, 2 steps")
    what = f"{taught.name}: attention lost at two steps, less what is predicted"
    yield replace(paid, what=what, values=paid.values - lost).near(0.0, within=0.01)


def _descended(experiment: Experiment, own: float, other: float) -> lego_descent.Scores:
    """Attention after its stage, had all neurons learnt this of their own tokens and of others."""
    task, (_, stage) = experiment.task, experiment.regime
    assert isinstance(task, Lego) and isinstance(stage, ChainDescent)
    table = task.group.table
    size = float(task.vocab)
    each = MODEL.neurons * task.values / table.size  # of the neurons of all values, for a pair
    neurons = lego_descent.Neurons(
        own=own * np.log(size),
        other=other * np.log(size),
        bias=size**-0.5 * np.log(size),
        clip=MODEL.clip * np.log(size),
        copies=each,
        power=MODEL.power,
        knee=MODEL.knee,
    )
    steps = lego_descent.descent(neurons, table, task.variables, stage.rate, stage.steps)
    return lego_descent.Scores(*(path[-1] for path in steps))


@claim(PAPER, "Equation 18", departures=SIZED, taught=PERMUTED)
def neurons_of_a_symmetric_group_weigh_actions_more(taught: Run) -> Iterator[Evidence]:
    """In a symmetric group, the neuron that sends y to j is unbalanced: V(g) is near 2B and V(y)
    near 2B/n, those of other actions near -2B/n and of other values near -2B; again half a
    combination cancels."""
    own, others, fitting, rest = _features(taught)
    values = taught.final("features").values.shape[-2]
    yield fitting.exceeds(own)
    yield rest.exceeds(others)
    yield _sum(fitting, others).below(0.3, paper=0.0)
    yield _sum(own, rest).below(0.3, paper=0.0)
    for found, theory in ((fitting, 2.0), (own, 2 / values), (rest, -2 / values), (others, -2.0)):
        yield found.near(theory, within=0.3 * abs(theory), paper=theory)


def _emerging(scale: str) -> Experiment:
    """Neurons that learn single actions, looked at often."""
    task = Lego(action=CYCLIC, chain=1, variables=VARIABLES.at(scale), rows=128)
    probes: dict[str, Probe] = {"promise": Promise(), "combinations": Combinations()}
    stage = Descent(steps=400, rate=2.0, split="1 step", parts=("neurons",))
    return Experiment(task, MODEL, (stage,), probes, looks=100)


@claim(
    PAPER,
    "Equation 16, an implicit curriculum",
    departures=SIZED,
    seeds=5,
    emerging=lazily(_emerging),
)
def what_begins_larger_is_learnt_first(emerging: Run) -> Iterator[Evidence]:
    """Combinations of an action and a value are learnt in the order of what their best neuron made
    of them before training."""
    learnt = emerging.curve("combinations") > 0.5
    when = np.where(learnt.any(axis=1), learnt.argmax(axis=1), learnt.shape[1])
    promise = emerging.initial("promise")
    pairs = zip(promise.values, when, strict=True)
    ranks = np.array([_rank_correlation(before.ravel(), step.ravel()) for before, step in pairs])
    what = "rank correlation of promise and step"
    yield replace(promise, what=what, values=ranks).below(-0.5, paper=-1.0)


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's; not a number where nothing differs."""
    from scipy.stats import rankdata

    a, b = (rankdata(each) - (len(each) + 1) / 2 for each in (one, other))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else float("nan")
