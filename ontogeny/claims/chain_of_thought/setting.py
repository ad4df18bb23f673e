"""The paper, its setting as far as its text goes, and what its claims share."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from ...claim import Paper, Sizes, lazily
from ...core import Experiment, Probe, Stage
from ...evidence import Evidence, Measurement, Run, falls_below
from ...models.clauses import ClauseTransformer
from ...probes.behaviour import Loss, Success
from ...probes.lego import ClauseAttention, Concentration, Gap, Retrieval, Unaided
from ...regimes.descent import AdamW
from ...tasks.lego import Lego, split_of

PAPER = Paper(
    "chain-of-thought",
    "Transformers Provably Learn Chain-of-Thought Reasoning with Length Generalization",
    "https://arxiv.org/abs/2511.07378",
)
CYCLIC, SYMMETRIC = "C6", "S5"
STEPS = Sizes(laptop=6000, paper=60000)
RATE = Sizes(laptop=1e-3, paper=1e-4)
SENTENCES = Sizes(laptop=20000, paper=50000)
LOOKS = 6
SIZES = "the sizes did not survive: 200 variables, batches of 256, width 128, 256 neurons"
TAUGHT = (
    Sizes(
        laptop="20,000 sentences, 6,000 steps of Adam at 1e-3 (77 epochs; paper: 1e-4, 300)",
        paper="50,000 sentences, 60,000 steps of Adam at 1e-4 (about 300 epochs)",
    ),
    SIZES + "; one-hot clauses, no residual stream and no norms, as in the paper's theory",
)


def reach(task: Lego) -> dict[str, Probe]:
    """What is learnt, and how many chains of each length are right from first to last."""
    taught = split_of(task.chain)
    probes: dict[str, Probe] = {"train loss": Loss("train"), "success": Success(taught)}
    return probes | {split_of(chain): Unaided(split_of(chain)) for chain in task.chains}


def attention(task: Lego) -> dict[str, Probe]:
    """Where answers look, in chains as long as those taught, permuted, and longer."""
    taught = split_of(task.chain)
    probes: dict[str, Probe] = {
        "attention": ClauseAttention(taught),
        "permuted": Unaided("permuted"),
        "lost, permuted": Concentration("permuted"),
        "gap": Gap(taught),
    }
    for chain in task.chains[:4]:
        for clause in ("predicate", "itself"):
            probes[f"{clause}, {split_of(chain)}"] = Retrieval(split_of(chain), clause)
        probes[f"lost, {split_of(chain)}"] = Concentration(split_of(chain))
    return probes


def solved(run: Run, step: int) -> dict[int, Measurement]:
    """How many chains of each length are right at a step."""
    words = (probe.split() for probe in run.answers if probe.endswith("steps"))
    lengths = sorted(int(first) for first, *_ in words if first.isdigit())
    return {chain: run.at(split_of(chain), step) for chain in lengths}


def curve(run: Run, series: str, step: int, paper: Mapping[int, float] = {}) -> Iterator[Evidence]:
    """The same, as points of a curve."""
    for chain, found in solved(run, step).items():
        yield found.beside(paper.get(chain), series=series, x=chain)


def half_right(run: Run, step: int) -> Measurement:
    """The length of which half the chains are right at a step."""
    found = falls_below(solved(run, step), 0.5)
    return replace(found, what=f"{run.name}: length half right at step {step}")


MODEL = ClauseTransformer(one_hot=True)


def taught(scale: str) -> Stage:
    """Next clauses, all of them, by Adam."""
    return AdamW(steps=STEPS.at(scale), rate=RATE.at(scale))


def as_in_the_text(scale: str, action: str, *more: Stage) -> Experiment:
    """A group taught by chains of five in the setting nearest to the paper's words."""
    task = Lego(action=action, known=SENTENCES.at(scale))
    probes = reach(task) | attention(task)
    return Experiment(task, MODEL, (taught(scale), *more), probes, looks=LOOKS)


CYCLE = lazily(partial(as_in_the_text, action=CYCLIC))
PERMUTATIONS = lazily(partial(as_in_the_text, action=SYMMETRIC))
