"""What decides how far a group reaches: each ingredient of the setting, and its size (ours)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...claim import Sizes, claim, lazily
from ...core import Experiment
from ...evidence import Evidence, Measurement, Run
from ...models.clauses import ClauseTransformer
from ...probes.lego import Gap
from ...regimes.descent import AdamW
from ...tasks.lego import Lego, split_of
from .setting import CYCLIC, PAPER, SYMMETRIC, curve, half_right, reach


class Setting(NamedTuple):
    """What may differ, and how it is in the text."""

    one_hot: bool = True
    residual: bool = False
    normed: bool = False
    known: int = 20000  # sentences; 0: new ones at every step
    rate: float = 1e-3


AGAIN = {
    "text": Setting(),
    "text, smaller rate": Setting(rate=5e-4),
    "embeddings": Setting(one_hot=False),
    "stream": Setting(one_hot=False, residual=True),
    "stream and norms": Setting(one_hot=False, residual=True, normed=True),
}
NEW = {
    name: AGAIN[name]._replace(known=0)
    for name in ("text", "embeddings", "stream", "stream and norms")
}
STEPS = Sizes(laptop=8000, paper=40000)
WIDTH = Sizes(laptop=64, paper=128)
VARIABLES = Sizes(laptop=100, paper=200)
SMALLER = (
    Sizes(
        laptop="100 variables, width 64, 128 neurons, batches of 128, 8,000 steps of Adam",
        paper="200 variables, width 128, 256 neurons, batches of 128, 40,000 steps of Adam",
    ),
)


def _taught(scale: str, action: str, setting: Setting) -> Experiment:
    task = Lego(action=action, variables=VARIABLES.at(scale), known=setting.known, rows=128)
    model = ClauseTransformer(
        width=WIDTH.at(scale),
        neurons=2 * WIDTH.at(scale),
        one_hot=setting.one_hot,
        residual=setting.residual,
        normed=setting.normed,
    )
    probes = reach(task) | {"gap": Gap(split_of(task.chain))}
    stage = AdamW(steps=STEPS.at(scale), rate=setting.rate)
    return Experiment(task, model, (stage,), probes, looks=4)


def _group(action: str, settings: Mapping[str, Setting]) -> Sizes:
    """A group in each of some settings."""
    return lazily(lambda scale: {name: _taught(scale, action, settings[name]) for name in settings})


def _table(cyclic: Mapping[str, Run], symmetric: Mapping[str, Run]) -> Iterator[Evidence]:
    """Every setting's two curves, half way through training and at its end."""
    for name in cyclic:
        for group, run in ((CYCLIC, cyclic[name]), (SYMMETRIC, symmetric[name])):
            half, last = int(run.steps[2]), int(run.steps[-1])
            yield from curve(run, f"{group}, {name}", last)
            yield from curve(run, f"{group}, {name}, half way", half)


@claim(
    PAPER,
    "Figure 1a, ingredient by ingredient: known sentences (ours)",
    departures=SMALLER,
    cyclic=_group(CYCLIC, AGAIN),
    symmetric=_group(SYMMETRIC, AGAIN),
)
def sentences_that_come_again_make_the_contrast(
    cyclic: Mapping[str, Run], symmetric: Mapping[str, Run]
) -> Iterator[Evidence]:
    """If 20,000 sentences come again and again, a cyclic group reaches farther than a symmetric
    one: with one-hot clauses, with embeddings, with a residual stream, with norms."""
    for name in NEW:  # all but the smaller rate, at which little is learnt
        last = int(cyclic[name].steps[-1])
        yield cyclic[name].final("5 steps").above(0.95)
        yield symmetric[name].final("5 steps").above(0.9)
        yield half_right(cyclic[name], last).exceeds(half_right(symmetric[name], last))
    yield from _table(cyclic, symmetric)


@claim(
    PAPER,
    "Figure 1a, ingredient by ingredient: new sentences (ours)",
    departures=SMALLER,
    cyclic=_group(CYCLIC, NEW),
    symmetric=_group(SYMMETRIC, NEW),
)
def with_new_sentences_a_stream_decides(
    cyclic: Mapping[str, Run], symmetric: Mapping[str, Run]
) -> Iterator[Evidence]:
    """If sentences are always new, both groups reach equally far where there is a residual stream;
    where there is none, the symmetric one is not learnt at all: its attention is all on the
    predicate, which names the next variable but not the value held."""
    for name in ("stream", "stream and norms"):
        last = int(cyclic[name].steps[-1])
        for run in (cyclic[name], symmetric[name]):
            yield run.final("20 steps").above(0.9)
        yield half_right(cyclic[name], last).agrees(half_right(symmetric[name], last), within=40)
    yield cyclic["embeddings"].final("20 steps").above(0.9)
    yield symmetric["embeddings"].final("success").below(0.3)
    yield symmetric["embeddings"].final("gap").above(0.8)
    yield from _table(cyclic, symmetric)


EMBEDDED = (*SMALLER, "embeddings, 20,000 sentences")


def _groups(*names: str) -> Sizes:
    """Groups, with embeddings and known sentences."""
    return lazily(lambda scale: {name: _taught(scale, name, AGAIN["embeddings"]) for name in names})


def _reached(groups: Mapping[str, Run]) -> dict[str, Measurement]:
    return {name: half_right(run, int(run.steps[-1])) for name, run in groups.items()}


@claim(
    PAPER,
    "Section 5, distractors: the number of values (ours)",
    departures=EMBEDDED,
    groups=_groups("C3", "C6", "C12", "C25"),
)
def more_values_reach_farther(groups: Mapping[str, Run]) -> Iterator[Evidence]:
    """In simply transitive groups too, a wrong clause may give the right value: the same action
    again, one clause in n. The more values a cyclic group has, the farther it reaches, though it
    has more to learn."""
    reached = _reached(groups)
    for name, found in reached.items():
        yield found.beside(None, series="cyclic", x=int(name[1:]))
    yield reached["C25"].exceeds(reached["C6"])
    yield reached["C12"].exceeds(reached["C3"])


ACTIONS = {"C5": 5, "D5": 10, "A5": 60, "S5": 120}


@claim(
    PAPER,
    "Section 5, distractors: the number of actions (ours)",
    departures=EMBEDDED,
    groups=_groups(*ACTIONS),
)
def more_actions_on_as_many_values_reach_less_far(groups: Mapping[str, Run]) -> Iterator[Evidence]:
    """Among groups that act on five values, those with more actions reach less far; D5, which is
    not free, reaches no less far than C5, which is."""
    reached = _reached(groups)
    for name, size in ACTIONS.items():
        yield reached[name].beside(None, series="on five values", x=size)
    yield reached["D5"].exceeds(reached["C5"], by=-5.0)
    yield reached["D5"].exceeds(reached["S5"])
    yield reached["A5"].exceeds(reached["S5"])
