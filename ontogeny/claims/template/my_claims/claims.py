"""The claims: sentences, the experiments that bear on them, and what would decide them.

`ontogeny judge` judges those of this file; `ontogeny show CLAIM` prints one in full.
"""

from collections.abc import Iterator

from ontogeny import (
    Accuracy,
    AdamW,
    EmbeddingMLP,
    Evidence,
    Experiment,
    Log,
    Loss,
    Paper,
    Run,
    claim,
)

from my_claims.probes import Lead
from my_claims.task import Majority

# CHANGE: the document whose sentences these are. The key stands for it in commands.
PAPER = Paper("my_claims", "A paper of my own", "https://example.org", "Lastname, Firstname")


def majority(fraction: float) -> Experiment:
    """A small network that learns majorities from a fraction of all strings."""
    return Experiment(
        task=Majority(length=7, fraction=fraction),
        model=EmbeddingMLP(width=32),  # CHANGE: `dir(ontogeny)` lists what there is
        training=(AdamW(steps=500, learning_rate=0.01),),
        probes={
            "train loss": Loss("train"),
            "train accuracy": Accuracy("train"),
            "test accuracy": Accuracy("test"),
            "lead": Lead("test"),
        },
        evaluations=Log(30),  # dense in the first steps, where accuracy emerges
    )


# CHANGE: the function's name is the claim's, its docstring the sentence, its arguments the
# experiments. Each piece of evidence that it yields has to hold in most seeds.
@claim(PAPER, "Section 1", seeds=5, headline=True, half=majority(0.5))
def a_majority_is_learnt_from_half_of_the_strings(half: Run) -> Iterator[Evidence]:
    """A network that has seen the majority of half of all strings knows that of the others."""
    # nothing is known before training: two answers, and random outputs on 64 strings
    yield half.initial("test accuracy").below(0.9)
    # one string in twenty may be wrong: those with four letters against three are hard
    yield half.final("test accuracy").above(0.95)
    # it fits what it was trained on: guessing has log 2 = 0.69
    yield half.final("train loss").below(0.1)


@claim(PAPER, "Section 2", seeds=5, half=majority(0.5))
def the_lead_grows_after_all_answers_are_right(half: Run) -> Iterator[Evidence]:
    """Answers go on to become surer when they are all right already."""
    # a fifth of the training is enough to know the training strings
    yield half.at("train accuracy", 100).above(0.99)
    # surer is more than a little: by one, the odds of the right answer grow by e = 2.7
    yield half.final("lead").exceeds(half.at("lead", 100), by=1.0)
