"""LEGO: sentences follow the group, blanks and training sets are as said."""

from dataclasses import replace

import numpy as np
import pytest
from lego_setting import NARROW, SMALL, drawn

from ontogeny import (
    AdamW,
    ConfigError,
    Experiment,
    Lego,
    RolloutAccuracy,
)
from ontogeny.models.clauses import sentences_of
from ontogeny.tasks.lego import CLAUSE


@pytest.mark.parametrize("split", ["train", "permuted", "2 steps", "4 steps", "8 steps"])
@pytest.mark.parametrize(
    "task", [SMALL, replace(SMALL, train_size=4), replace(SMALL, chain_of_thought=False)]
)
def test_sentences_follow_the_action(task, split):
    task = replace(task, rows=12)
    batch = drawn(task, split)
    predicates, answers = map(np.asarray, sentences_of(task, batch))
    for row in range(task.rows):
        held = {int(answers[row, 0, 0]): int(answers[row, 0, 1])}
        chain = {int(x): (int(of), int(g)) for x, g, of in predicates[row]}
        assert len(chain) == len(predicates[row])
        for _ in chain:
            (made,) = [x for x, (of, _) in chain.items() if of in held and x not in held]
            of, g = chain[made]
            held[made] = int(task.group.table[g, held[of]])
        told = [(int(t) // task.values, int(t) % task.values) for t in batch.targets[row]]
        assert all(held[x] == y for x, y in told)
        assert all(held[int(x)] == y for x, y in answers[row])
        if task.chain_of_thought:
            assert [x for x, _ in told[:-1]] == [int(x) for x, _ in answers[row, 1:]]
        else:
            assert batch.inputs.shape[1] == CLAUSE * (len(chain) + 1)
    in_order = (predicates[:, 1:, 2] == predicates[:, :-1, 0]).all()
    assert in_order == (split != "permuted")


def test_blanks_stand_where_they_should():
    batch = drawn(SMALL, "train")
    blank = np.asarray(batch.inputs.reshape(SMALL.rows, 4, CLAUSE)) == SMALL.vocab - 1
    assert (blank[:, :2] == [False, False, False, True, True]).all()
    assert (blank[:, 2:] == [True, True, True, False, False]).all()


def test_known_sentences_come_back_and_are_as_many_as_said():
    task = replace(SMALL, train_size=5, rows=200)
    rows = {tuple(map(int, row)) for row in drawn(task, "train").inputs}
    again = {tuple(map(int, row)) for row in drawn(task, "train", seed=2).inputs}
    assert len(rows) == 5 and rows == again
    other = {tuple(map(int, row)) for row in drawn(task, "2 steps").inputs}
    assert len(other) > 50  # other splits are not restricted to them


@pytest.mark.parametrize(("chain", "variables"), [(2, 5), (5, 6), (16, 20)])
def test_variables_are_different_and_any(chain, variables):
    task = Lego(action="C2", chain=chain, variables=variables, rows=4000)
    draws = np.asarray(sentences_of(task, drawn(task, "train")).answers[..., 0])
    assert all(len(set(row)) == chain for row in draws.tolist())  # the last is yet to be answered
    for place in range(chain):
        counts = np.bincount(draws[:, place], minlength=variables)
        assert np.abs(counts - 4000 / variables).max() < 5 * np.sqrt(4000 / variables)
    first = draws[draws[:, 0] == 0][:, 1]  # given the first, the others are still alike
    counts = np.bincount(first, minlength=variables)[1:]
    share = len(first) / (variables - 1)
    assert np.abs(counts - share).max() < 5 * np.sqrt(share)


def test_bad_tasks_are_told():
    with pytest.raises(ConfigError, match="about 6 variables"):
        Lego(chain=5, variables=5)
    with pytest.raises(ConfigError, match=r"Lego.action: .* is no group"):
        Lego(action="the monster")
    with pytest.raises(ConfigError, match="not a permutation"):
        Lego(action="<(0 1 0)>")
    assert Lego(chain=5, variables=6).chains == (5,)
    assert Lego(chain=5, variables=200).chains == (5, 10, 20, 40, 80, 160)
    with pytest.raises(ConfigError, match="has no split '320 steps'"):
        Experiment(
            Lego(),
            NARROW,
            (AdamW(steps=2, learning_rate=0.1),),
            {"x": RolloutAccuracy("320 steps")},
            evaluations=1,
        )
