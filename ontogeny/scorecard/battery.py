"""The battery: kinds of reasoning, each a task to be trained on and questions to be passed.

All exams are sat in one room, a vocabulary of 512 tokens and sequences of up to 80, so that a model
has one size; and all are trained in one way. Questions are about what was never shown.
"""

from typing import Any, NamedTuple

from ..core.fields import ConfigError, did_you_mean
from ..core.types import Experiment, Model, Probe, Task, Until
from ..engine.serialize import digest, spell
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

VOCAB, LENGTH = 512, 80  # of the room
RATE = 1e-3
LOOKS = 20
LEARNT = 0.995  # where training ends early
PASSED = 0.9
FACTS = 256


class Question(NamedTuple):
    """What is asked of one who was trained."""

    name: str
    asks: str
    split: str
    chance: float  # success of one who guesses
    whole: bool = False  # all answers of a row must be right

    @property
    def probe(self) -> Probe:
        """How it is asked."""
        return (SequenceAccuracy if self.whole else Accuracy)(self.split)


class Exam(NamedTuple):
    """What is trained on, for how long, and what is asked: the hardest question last."""

    task: Task
    steps: int
    questions: tuple[Question, ...]
    train: str = "train"
    batch_size: int = 0  # rows that a step draws of what there is to train on; 0 takes all

    @property
    def name(self) -> str:
        """It is called like its hardest question."""
        return self.questions[-1].name

    @property
    def room(self) -> Widened:
        """The task, among the tokens that all exams share."""
        return Widened(self.task, vocab=VOCAB, length=LENGTH)

    @property
    def probes(self) -> dict[str, Probe]:
        """What is looked at: the loss, then every question."""
        asked = {question.name: question.probe for question in self.questions}
        return {"train loss": Loss(self.train), **asked}

    def experiment(self, model: Model, learning_rate: float = RATE) -> Experiment:
        """The exam, sat by a model of the laboratory."""
        until = Until(self.name, level=LEARNT, side="above")
        stage = AdamW(
            steps=self.steps,
            learning_rate=learning_rate,
            split=self.train,
            batch_size=self.batch_size,
            until=until,
        )
        return Experiment(self.room, model, (stage,), self.probes, evaluations=LOOKS)


def exams(longer: int = 1) -> tuple[Exam, ...]:
    """The battery; `longer` times as many steps as the quick one."""
    lego: dict[str, Any] = {"action": "C2", "chain": 3, "variables": 7, "rows": 64}
    triggers: dict[str, Any] = {"length": 64, "rows": 32, "reads": 32, "test_rows": 64}
    told = Question("two hops, bridged", "the same, told that each b is itself", "composed", 1 / 20)
    exams = (
        Exam(
            Analogy(tuples=50, ratio=4.0),
            300,
            (Question("analogy", "what holds of s, of t that is like it?", "conclusion", 1 / 50),),
        ),
        Exam(
            TwoHop(subjects=20, identity=0.0),
            300,
            (Question("two hops", "s leads to b, b to o; s to?", "composed", 1 / 20),),
        ),
        Exam(TwoHop(subjects=20, identity=1.0), 300, (told,)),
        _templates("same or different", "two unseen symbols: the same?", 1 / 2, "SAME_DIFFERENT"),
        _templates("majority", "which of two unseen symbols fills most?", 1 / 2, 3),
        _templates("copying", "say an unseen symbol again", 1 / 60, "COPY"),
        _templates("match to sample", "which has the sample's pattern?", 1 / 2, "match_to_sample"),
        _templates("matrices", "which symbol completes the matrix?", 1 / 3, "raven"),
        Exam(
            Triggers(**triggers),
            800,
            (Question("induction", "what followed this token before, here?", "test", 0.05),),
        ),
        Exam(
            Triggers(**triggers, noise=0.3),
            800,
            (Question("noisy induction", "the same, taught with 3 in 10 wrong", "test", 0.05),),
        ),
        Exam(
            Facts(most=16, subjects=16.0, relations=16.0, length=6, rows=256, test_rows=256),
            400,
            (Question("factual recall", f"{FACTS} facts, among noise", "test", 1 / 8),),
        ),
        Exam(
            BackwardHops(values=3, hops=2, cyclic=False, rows=64),
            1200,
            (
                Question(
                    "one hop", "a function written down, after one that is not", "1 hop", 1 / 3
                ),
                Question("hops in context", "two of each, composed", "2 hops", 1 / 3),
            ),
            train="mixture",
        ),
        Exam(
            Lego(**lego),
            1200,
            (
                Question("state tracking", "three actions, state by state", "3 steps", 1 / 8, True),
                Question("longer chains", "six, taught by three", "6 steps", 1 / 64, True),
            ),
        ),
        Exam(
            Lego(**lego, chain_of_thought=False),
            1200,
            (
                Question("silent tracking", "three actions, only the end", "3 steps", 1 / 2),
                Question("longer, silent", "six, only the end", "6 steps", 1 / 2),
            ),
        ),
    )
    return tuple(exam._replace(steps=exam.steps * longer) for exam in exams)


def _templates(name: str, asks: str, chance: float, which: str | int) -> Exam:
    """A template task, with as many samples as there are symbols to spare."""
    if isinstance(which, int):
        texts = template_sets.symbolic_majority(which)
    else:
        found = getattr(template_sets, which)
        texts = found() if callable(found) else found
    task = Templates.of(*texts, most=384, samples=384.0, test_rows=60)
    return Exam(task, 400, (Question(name, asks, "test", chance),), batch_size=96)


BATTERIES = {"quick": 1, "full": 10}


def signature(exams: tuple[Exam, ...]) -> str:
    """A name for these exams: marks can be compared where it is the same."""
    return digest({"exams": spell(exams), "room": [VOCAB, LENGTH], "learnt": LEARNT})


def battery(name: str) -> tuple[Exam, ...]:
    """The exams of a battery."""
    if name not in BATTERIES:
        raise ConfigError(f"no battery {name!r}: {did_you_mean(name, BATTERIES)}")
    return exams(BATTERIES[name])
