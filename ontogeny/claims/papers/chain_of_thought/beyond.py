"""What decides length generalization: each ingredient of the setting, and its size (ours)."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....core.types import Experiment
from ....models.clauses import ClauseTransformer
from ....probes.lego import Gap
from ....tasks.lego import Lego, split_of
from ....training.descent import AdamW
from ...claim import COSTLY, claim
from ...scale import Scale, Sizes
from .setting import (
    CYCLIC,
    PAPER,
    SIZES,
    SYMMETRIC,
    curve,
    length_generalization,
    rollout,
    solved_length,
)


class Setting(NamedTuple):
    """What may differ, and how it is in the text."""

    one_hot: bool = True
    residual: bool = False
    normed: bool = False
    train_size: int = 20000  # samples; 0: fresh ones every step
    learning_rate: float = 1e-3


FIXED_SET = {
    "text": Setting(),
    "text, smaller learning rate": Setting(learning_rate=5e-4),
    "embeddings": Setting(one_hot=False),
    "residual stream": Setting(one_hot=False, residual=True),
    "residual stream and norms": Setting(one_hot=False, residual=True, normed=True),
}
FRESH = {
    name: FIXED_SET[name]._replace(train_size=0)
    for name in ("text", "embeddings", "residual stream", "residual stream and norms")
}
INGREDIENT_STEPS = Sizes(laptop=8000, paper=40000)
INGREDIENT_WIDTH = Sizes(laptop=64, paper=128)
INGREDIENT_VARIABLES = Sizes(laptop=100, paper=200)
INGREDIENTS = (SIZES, "batches of 128 and the steps of Adam are ours")


def _ingredients(scale: Scale, action: str, setting: Setting) -> Experiment:
    task = Lego(
        action=action,
        variables=INGREDIENT_VARIABLES(scale),
        train_size=setting.train_size,
        rows=128,
    )
    model = ClauseTransformer(
        width=INGREDIENT_WIDTH(scale),
        mlp_width=2 * INGREDIENT_WIDTH(scale),
        one_hot=setting.one_hot,
        residual=setting.residual,
        normed=setting.normed,
    )
    probes = length_generalization(task) | {"gap": Gap(split_of(task.chain))}
    stage = AdamW(steps=INGREDIENT_STEPS(scale), learning_rate=setting.learning_rate)
    return Experiment(task, model, (stage,), probes, evaluations=4)


def _group(scale: Scale, action: str, settings: Mapping[str, Setting]) -> dict[str, Experiment]:
    """A group in each of some settings."""
    return {name: _ingredients(scale, action, setting) for name, setting in settings.items()}


def _table(cyclic: Mapping[str, Run], symmetric: Mapping[str, Run]) -> Iterator[Evidence]:
    """Every setting's two curves, half way through training and at its end."""
    for name in cyclic:
        for group, run in ((CYCLIC, cyclic[name]), (SYMMETRIC, symmetric[name])):
            half, last = int(run.steps[2]), int(run.steps[-1])
            yield from curve(run, f"{group}, {name}", last)
            yield from curve(run, f"{group}, {name}, half way", half)


@claim(
    PAPER,
    "Figure 1a, ingredient by ingredient: a fixed training set (ours)",
    seeds=5,
    departures=INGREDIENTS,
    cyclic=lambda scale: _group(scale, CYCLIC, FIXED_SET),
    symmetric=lambda scale: _group(scale, SYMMETRIC, FIXED_SET),
)
def on_a_fixed_training_set_cyclic_groups_generalize_farther(
    cyclic: Mapping[str, Run], symmetric: Mapping[str, Run]
) -> Iterator[Evidence]:
    """On a fixed training set of 20,000, C6 generalizes farther in length than S5: with one-hot
    clauses, with embeddings, with a residual stream, with norms."""
    for name in FRESH:  # all but the smaller learning rate, at which little is learnt
        last = int(cyclic[name].steps[-1])
        yield cyclic[name].final(rollout(5)).above(0.95)
        yield symmetric[name].final(rollout(5)).above(0.9)
        yield solved_length(cyclic[name], last).exceeds(solved_length(symmetric[name], last))
    yield from _table(cyclic, symmetric)


@claim(
    PAPER,
    "Figure 1a, ingredient by ingredient: fresh samples (ours)",
    seeds=5,
    departures=INGREDIENTS,
    cyclic=lambda scale: _group(scale, CYCLIC, FRESH),
    symmetric=lambda scale: _group(scale, SYMMETRIC, FRESH),
)
def on_fresh_samples_the_residual_stream_decides(
    cyclic: Mapping[str, Run], symmetric: Mapping[str, Run]
) -> Iterator[Evidence]:
    """On fresh samples, C6 and S5 generalize equally far in length with a residual stream; with
    embeddings and none, S5 is not learnt: its attention is nearly all on one of the two clauses
    needed."""
    for name in ("residual stream", "residual stream and norms"):
        last = int(cyclic[name].steps[-1])
        for run in (cyclic[name], symmetric[name]):
            yield run.final(rollout(20)).above(0.9)
        yield solved_length(cyclic[name], last).agrees(
            solved_length(symmetric[name], last), within=40
        )
    yield cyclic["embeddings"].final(rollout(20)).above(0.9)
    yield symmetric["embeddings"].final("accuracy").below(0.3)
    yield symmetric["embeddings"].final("gap").above(0.8)
    yield from _table(cyclic, symmetric)


EMBEDDED = (*INGREDIENTS, "embeddings, a fixed training set of 20,000")


def _groups(scale: Scale, *names: str) -> dict[str, Experiment]:
    """Groups, with embeddings and a fixed training set."""
    return {name: _ingredients(scale, name, FIXED_SET["embeddings"]) for name in names}


def _lengths(groups: Mapping[str, Run]) -> dict[str, Measurement]:
    return {name: solved_length(run, int(run.steps[-1])) for name, run in groups.items()}


@claim(
    PAPER,
    "Section 5, distractors: the number of values (ours)",
    seeds=COSTLY,
    departures=EMBEDDED,
    groups=lambda scale: _groups(scale, "C3", "C6", "C12", "C25"),
)
def more_values_generalize_farther_in_length(groups: Mapping[str, Run]) -> Iterator[Evidence]:
    """In simply transitive groups too, a wrong clause may give the right value: the same action
    again, one clause in n. The more values a cyclic group has, the farther it generalizes in
    length, though it has more to learn."""
    solved = _lengths(groups)
    for name, found in solved.items():
        yield found.beside(None, series="cyclic", x=int(name[1:]))
    yield solved["C25"].exceeds(solved["C6"])
    yield solved["C12"].exceeds(solved["C3"])


ACTIONS = {"C5": 5, "D5": 10, "A5": 60, "S5": 120}


@claim(
    PAPER,
    "Section 5, distractors: the number of actions (ours)",
    seeds=COSTLY,
    departures=EMBEDDED,
    groups=lambda scale: _groups(scale, *ACTIONS),
)
def more_actions_on_as_many_values_generalize_less_far(
    groups: Mapping[str, Run],
) -> Iterator[Evidence]:
    """Among groups that act on five values, S5 generalizes less far in length than D5 and A5, which
    have fewer actions; D5, which is not free, generalizes no less far than C5, which is."""
    solved = _lengths(groups)
    for name, size in ACTIONS.items():
        yield solved[name].beside(None, series="on five values", x=size)
    yield solved["D5"].exceeds(solved["C5"], by=-5.0)
    yield solved["D5"].exceeds(solved["S5"])
    yield solved["A5"].exceeds(solved["S5"])
