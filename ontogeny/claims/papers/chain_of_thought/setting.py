"""The paper, its setting as far as its text goes, and what its claims share."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from ....core.curves import falls_below
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....core.types import Experiment, Probe, Stage
from ....models.clauses import ClauseTransformer
from ....probes.behaviour import Accuracy, Loss
from ....probes.lego import AttentionLeakage, ClauseAttention, Gap, Retrieval, RolloutAccuracy
from ....tasks.lego import Lego, split_of
from ....training.descent import AdamW
from ...claim import COSTLY, Paper, claim
from ...scale import Scale, Sizes

PAPER = Paper(
    "chain-of-thought",
    "Transformers Provably Learn Chain-of-Thought Reasoning with Length Generalization",
    "https://arxiv.org/abs/2511.07378",
)
CYCLIC, SYMMETRIC = "C6", "S5"
STEPS = Sizes(laptop=6000, paper=60000)
# ten times the rate for a tenth of the steps: Adam may move as far
LEARNING_RATE = Sizes(laptop=1e-3, paper=1e-4)
# a fixed set, as "epochs" and a loss that "approaches zero" imply
TRAIN_SIZE = Sizes(laptop=20000, paper=50000)
EVALUATIONS = 6
# no residual stream: Figures 2, 5 and 7 show attention on two clauses, and with a stream the value
# need not be attended to
MODEL = ClauseTransformer(one_hot=True)
CLAUSES = {"predicate": "the predicate", "itself": "itself"}
SIZES = (
    "variables, batches, width and neurons are ours at the paper's scale too: of the paper's "
    "sizes a learning rate of 1e-4 and 300 epochs survived"
)
TRAINED = (
    SIZES,
    "a fixed training set, of a size that is ours; one-hot clauses, no residual stream and no "
    "norms, as in the paper's theory",
)


def rollout(chain: int) -> str:
    """What the probe of the rollout accuracy at a length is called."""
    return f"rollout accuracy, {split_of(chain)}"


def leakage(chain: int) -> str:
    """What the probe of the attention leakage at a length is called."""
    return f"attention leakage, {split_of(chain)}"


def attended(clause: str, chain: int) -> str:
    """What the probe of the attention to a clause, at a length, is called."""
    return f"attention to {CLAUSES[clause]}, {split_of(chain)}"


def length_generalization(task: Lego) -> dict[str, Probe]:
    """The accuracy at the length trained on, and the rollout accuracy at every length."""
    trained = split_of(task.chain)
    probes: dict[str, Probe] = {"train loss": Loss("train"), "accuracy": Accuracy(trained)}
    return probes | {rollout(chain): RolloutAccuracy(split_of(chain)) for chain in task.chains}


def attention(task: Lego) -> dict[str, Probe]:
    """What answers attend to, in chains as long as in training, permuted, and longer."""
    trained = split_of(task.chain)
    probes: dict[str, Probe] = {
        "attention": ClauseAttention(trained),
        "rollout accuracy, permuted": RolloutAccuracy("permuted"),
        "attention leakage, permuted": AttentionLeakage("permuted"),
        "gap": Gap(trained),
    }
    # to 40: longer ones are asked for their accuracy only
    for chain in task.chains[:4]:
        for clause in ("predicate", "itself"):
            probes[attended(clause, chain)] = Retrieval(split_of(chain), clause)
        probes[leakage(chain)] = AttentionLeakage(split_of(chain))
    return probes


ACCURACY = re.compile(r"(rollout )?accuracy, (?P<chain>\d+) steps")


def solved(run: Run, step: int) -> dict[int, Measurement]:
    """The accuracy at each length, at a step: of rollouts, or of the last value asked at once."""
    found = (ACCURACY.fullmatch(probe) for probe in run.answers)
    probes = {int(match["chain"]): match[0] for match in found if match}
    return {chain: run.at(probes[chain], step) for chain in sorted(probes)}


def curve(run: Run, series: str, step: int, paper: Mapping[int, float] = {}) -> Iterator[Evidence]:
    """The same, as points of a curve."""
    for chain, found in solved(run, step).items():
        yield found.beside(paper.get(chain), series=series, x=chain)


def solved_length(run: Run, step: int) -> Measurement:
    """The length at which the accuracy falls below one half, at a step."""
    found = falls_below(solved(run, step), 0.5)
    return found.named(f"length solved half the time at step {step}").of_run(run.name)


def adam(scale: Scale) -> Stage:
    """Next-clause prediction, of all clauses, by Adam."""
    return AdamW(steps=STEPS(scale), learning_rate=LEARNING_RATE(scale))


def as_in_the_text(scale: Scale, action: str, *more: Stage) -> Experiment:
    """A group trained on chains of five in the setting nearest to the paper's words."""
    task = Lego(action=action, train_size=TRAIN_SIZE(scale))
    probes = length_generalization(task) | attention(task)
    return Experiment(task, MODEL, (adam(scale), *more), probes, evaluations=EVALUATIONS)


def trained_on_c6(scale: Scale) -> Experiment:
    """The cyclic group in that setting."""
    return as_in_the_text(scale, CYCLIC)


def trained_on_s5(scale: Scale) -> Experiment:
    """The symmetric group in that setting."""
    return as_in_the_text(scale, SYMMETRIC)


of_both_groups = partial(
    claim,
    PAPER,
    seeds=COSTLY,
    departures=TRAINED,
    cyclic=trained_on_c6,
    symmetric=trained_on_s5,
)
"""A claim about both groups in that setting."""
