"""The battery: benchmarks of reasoning, each a task to train on and the skills it measures.

All benchmarks share a vocabulary of 512 tokens and sequences of up to 80, so that a model has one
size, and all are trained in the same way. Skills are measured on data held out from training.
"""

from typing import Any, NamedTuple

from ..core.fields import ConfigError, did_you_mean
from ..core.types import Experiment, Model, Probe, Task, Until
from ..engine.serialize import digest, serialize
from ..probes.behaviour import Accuracy, Loss, SequenceAccuracy
from ..tasks.analogy import Analogy
from ..tasks.facts import Facts
from ..tasks.hops import BackwardHops
from ..tasks.lego import Lego
from ..tasks.templates import Templates
from ..tasks.triggers import Triggers
from ..tasks.two_hop import TwoHop
from ..tasks.widened import Widened
from ..theory import template_sets
from ..training.descent import AdamW

VOCAB, LENGTH = 512, 80  # shared by all benchmarks
LEARNING_RATE = 1e-3
EVALUATIONS = 20
LEARNT = 0.995  # accuracy above which training stops early
PASSED = 0.9  # accuracy above which a skill is passed
FACTS = 256


class Skill(NamedTuple):
    """What is measured after training: the accuracy on a held-out split."""

    name: str
    description: str
    split: str
    chance: float  # accuracy of guessing
    sequence: bool = False  # all answers of a sequence must be right

    @property
    def probe(self) -> Probe:
        """The probe that measures it."""
        return (SequenceAccuracy if self.sequence else Accuracy)(self.split)


class Benchmark(NamedTuple):
    """A task to train on, for how long, and the skills it measures, the hardest last."""

    task: Task
    steps: int
    skills: tuple[Skill, ...]
    train: str = "train"
    batch_size: int = 0  # sequences drawn by a step; 0 takes the whole training set

    @property
    def name(self) -> str:
        """That of its hardest skill."""
        return self.skills[-1].name

    @property
    def widened(self) -> Widened:
        """The task in the vocabulary that all benchmarks share."""
        return Widened(self.task, vocab=VOCAB, length=LENGTH)

    @property
    def probes(self) -> dict[str, Probe]:
        """The training loss, then every skill."""
        return {"train loss": Loss(self.train)} | {each.name: each.probe for each in self.skills}

    def experiment(self, model: Model, learning_rate: float = LEARNING_RATE) -> Experiment:
        """The experiment that trains a model of this package on the benchmark."""
        until = Until(self.name, level=LEARNT, side="above")
        stage = AdamW(
            steps=self.steps,
            learning_rate=learning_rate,
            split=self.train,
            batch_size=self.batch_size,
            until=until,
        )
        return Experiment(self.widened, model, (stage,), self.probes, evaluations=EVALUATIONS)


def benchmarks(longer: int = 1) -> tuple[Benchmark, ...]:
    """All benchmarks, with `longer` times as many steps as in the quick battery."""
    lego: dict[str, Any] = {"action": "C2", "chain": 3, "variables": 7, "rows": 64}
    triggers: dict[str, Any] = {"length": 64, "rows": 32, "reads": 32, "test_rows": 64}
    bridged = Skill(
        "two hops, with identity", "the same, with b → b in training", "composed", 1 / 20
    )
    benchmarks = (
        Benchmark(
            Analogy(tuples=50, ratio=4.0),
            300,
            (
                Skill(
                    "analogy",
                    "an attribute of s, asked of t, which is similar",
                    "conclusion",
                    1 / 50,
                ),
            ),
        ),
        Benchmark(
            TwoHop(subjects=20, identity=0.0),
            300,
            (Skill("two hops", "s → b and b → o in training: s → ?", "composed", 1 / 20),),
        ),
        Benchmark(TwoHop(subjects=20, identity=1.0), 300, (bridged,)),
        _templates(
            "same or different", "are two unseen symbols the same?", 1 / 2, "SAME_DIFFERENT"
        ),
        _templates("majority", "which of two unseen symbols is more frequent?", 1 / 2, 3),
        _templates("copying", "repeat an unseen symbol", 1 / 60, "COPY"),
        _templates(
            "match to sample",
            "which choice has the pattern of the sample?",
            1 / 2,
            "match_to_sample",
        ),
        _templates("matrices", "which symbol completes the matrix?", 1 / 3, "raven"),
        Benchmark(
            Triggers(**triggers),
            800,
            (Skill("induction", "what followed this token earlier in the context?", "test", 0.05),),
        ),
        Benchmark(
            Triggers(**triggers, noise=0.3),
            800,
            (Skill("noisy induction", "the same, trained with 30 % wrong labels", "test", 0.05),),
        ),
        Benchmark(
            Facts(most=16, subjects=16.0, relations=16.0, length=6, rows=256, test_rows=256),
            400,
            (Skill("factual recall", f"{FACTS} facts, between noise tokens", "test", 1 / 8),),
        ),
        Benchmark(
            BackwardHops(values=3, hops=2, cyclic=False, rows=64),
            1200,
            (
                Skill(
                    "one hop",
                    "a function given in the context, after one that is not",
                    "1 hop",
                    1 / 3,
                ),
                Skill("hops in context", "two functions of each kind, composed", "2 hops", 1 / 3),
            ),
            train="mixture",
        ),
        Benchmark(
            Lego(**lego),
            1200,
            (
                Skill(
                    "state tracking",
                    "three actions, with a chain of thought",
                    "3 steps",
                    1 / 8,
                    True,
                ),
                Skill("longer chains", "six actions, trained on three", "6 steps", 1 / 64, True),
            ),
        ),
        Benchmark(
            Lego(**lego, chain_of_thought=False),
            1200,
            (
                Skill(
                    "tracking without steps", "three actions, no chain of thought", "3 steps", 1 / 2
                ),
                Skill("longer, without steps", "six actions, trained on three", "6 steps", 1 / 2),
            ),
        ),
    )
    return tuple(benchmark._replace(steps=benchmark.steps * longer) for benchmark in benchmarks)


def _templates(name: str, description: str, chance: float, which: str | int) -> Benchmark:
    """A template task, with as many samples as the vocabulary has symbols to spare."""
    if isinstance(which, int):
        texts = template_sets.symbolic_majority(which)
    else:
        found = getattr(template_sets, which)
        texts = found() if callable(found) else found
    task = Templates.of(*texts, most=384, samples=384.0, test_rows=60)
    return Benchmark(task, 400, (Skill(name, description, "test", chance),), batch_size=96)


BATTERIES = {"quick": 1, "full": 10}


def signature(benchmarks: tuple[Benchmark, ...]) -> str:
    """A digest of these benchmarks: scores can be compared where it is the same."""
    measured = [  # without descriptions: their words may change
        serialize(each._replace(skills=tuple(s._replace(description="") for s in each.skills)))
        for each in benchmarks
    ]
    return digest({"benchmarks": measured, "shape": [VOCAB, LENGTH], "learnt": LEARNT})


def battery(name: str) -> tuple[Benchmark, ...]:
    """The benchmarks of a battery."""
    if name not in BATTERIES:
        raise ConfigError(f"unknown battery {name!r}: {did_you_mean(name, BATTERIES)}")
    return benchmarks(BATTERIES[name])
