"""Tokens have names: in prompts that people type, and in rows that they read."""

import importlib
import sys
from dataclasses import replace

import jax.random as jr
import pytest
from small import tiny

from ontogeny import (
    Analogy,
    Associations,
    ConfigError,
    Hops,
    Lego,
    OutOfContext,
    Templates,
    Triggers,
    TwoHop,
    Widened,
)
from ontogeny.engine.serialize import digest, record
from ontogeny.engine.tokens import in_words, names, numbers


def told(task, split, rows, seed=0):
    """Rows of a split in words."""
    world = task.world(jr.key(seed))
    return in_words(task, world, task.sample(world, split, jr.key(1)), rows)


@pytest.mark.parametrize("seed", [0, 1])
def test_two_hops_read_as_in_their_drawing_whatever_tokens_were_drawn(seed):
    task = TwoHop(subjects=4)
    assert told(task, "train", [3, 4 + 2, 8 + 1], seed) == ["s3 r1 → b3", "b2 r2 → o2", "b1 → b1"]
    assert told(task, "composed", [2], seed) == ["s2 r1 r2 → o2"]
    assert told(TwoHop(subjects=4, form="own relation"), "restated", [1]) == ["b1 r0 → b1"]
    several = TwoHop(subjects=4, complexity=2, hops=3)
    assert told(several, "composed", [7]) == ["s0 r1_1 r2_1 r3_1 → o4"]
    assert told(several, "first hop", [1]) == ["s0 r1_1 → b1_4"]


def test_other_tasks_read_as_in_their_drawings():
    assert told(Analogy(tuples=3), "train", [1, 4, 7]) == ["s1 r1 → b1", "t1 r1 → b1", "s1 r2 → c1"]
    assert told(Associations(most=5, items=4), "train", 9) == [f"z{n} → u{n}" for n in (1, 2, 3, 4)]
    assert told(OutOfContext(classes=3), "implied", [0, 1]) == ["n3 r2 . → a0", "n4 r2 . → a1"]
    assert told(Templates.of("αβα: +1", "αββ: -1", most=8, samples=6), "test", [0])[0][0] == "x"
    hops = told(Hops(values=3, hops=2, rows=1), "2 hops", 1)[0].split()
    assert [hops[place] for place in (2, 5)] == [f"{hops[n][0]}@2)" for n in (2, 5)]
    assert len([word for word in hops if "@" not in word and word != "(→"]) == 6


def test_actions_are_cycles_and_lead_where_they_say():
    (row,) = told(Lego(action="S3", chain=1, variables=4, rows=1), "train", 1)
    made, cycle, of, *_, begin, value, _, answer = row.split()
    moved = dict(zip(cycle.strip("()"), cycle.strip("()")[1:] + cycle[1], strict=True))
    assert begin == of
    assert answer == f"{made}=y{moved.get(value[1], value[1])}"
    unthought = Lego(action="C12", variables=4, chain=1, chain_of_thought=False, rows=1)
    made, acting, *_, answer = told(unthought, "train", 1)[0].split()
    assert acting.startswith("g") and answer.startswith("y")


def test_signs_that_cannot_be_seen_have_names_of_their_own(tmp_path):
    (tmp_path / "text").write_text("a_b c\n\u200b_a b_c\u2003" * 3)
    task = Triggers(source=str(tmp_path / "text"), triggers=2)
    called = names(task, ())
    assert {"␣", "_", "\\n", "U+200B", "U+2003"} < set(called)
    assert "_" in names(Triggers(), ()) and "␣" not in names(Triggers(), ())
    # a regular token may be called as symbols would be
    task = Templates.of("α c1 β: +1", most=4, samples=3)
    called = names(task, task.world(jr.key(0)))
    assert called[0] == "c1" and len(set(called)) == len(called)


def test_long_rows_are_cut_and_rows_that_do_not_count_are_left_out():
    row = told(Triggers(length=256), "test", 1)[0]
    assert row.count("…") == 1 and len(row.split(" …")[0].replace("(→ ", "(").split()) < 60
    counted = told(Associations(most=50, items=3), "train", 10)
    assert counted == ["z1 → u1", "z2 → u2", "z3 → u3"]


def test_prompts_are_read_and_what_is_none_is_refused():
    task = TwoHop(subjects=4)
    world = task.world(jr.key(0))
    tokens = numbers(task, world, "s3 r1 r2")
    assert tokens == numbers(task, world, ["s3", "r1", "r2"])
    assert [names(task, world)[token] for token in tokens] == ["s3", "r1", "r2"]
    with pytest.raises(ConfigError, match=r"TwoHop has no token 's33': did you mean 's3'\?"):
        numbers(task, world, "s33 r1")
    for prompt in ("", "s3 r1 r2 r1"):
        with pytest.raises(ConfigError, match="TwoHop have 1 to 3"):
            numbers(task, world, prompt)


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        (("a", "b"), "2 names for 14 tokens"),
        (("a",) * 14, "calls two tokens 'a'"),
        ((*map(str, range(13)), "a b"), "'a b' is no name"),
        ((*map(str, range(13)), ""), "'' is no name"),
    ],
)
def test_names_that_do_not_tell_tokens_apart_are_refused(named, problem):
    class Mine(Analogy):
        def token_names(self, world):
            return named

    with pytest.raises(ConfigError, match=problem):
        names(Mine(tuples=3), ())


def test_tokens_of_a_task_without_names_are_called_by_number():
    class Mine(Analogy):
        token_names = Analogy.__mro__[1].token_names

    assert names(Mine(tuples=1), ()) == ("0", "1", "2", "3", "4", "5")
    widened = names(Widened(Mine(tuples=1), vocab=8), ())
    assert widened == ("0", "1", "2", "3", "4", "5", "unused6", "unused7")


NAMED = """
from ontogeny import Analogy, Loss

class Mine(Analogy):
    def token_names(self, world):
        return ({name!r}, *super().token_names(world)[1:])

    def world(self, key):
        return {world}

class Asking(Loss):
    def __call__(self, now):
        {inside}
        return super().__call__(now)
"""


def test_what_tokens_are_called_is_not_in_a_runs_name_unless_code_asks_for_it(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def named(name="s0", world="()", inside="pass"):
        (tmp_path / "called.py").write_text(NAMED.format(name=name, world=world, inside=inside))
        importlib.invalidate_caches()
        module = importlib.reload(importlib.import_module("called"))
        probes = {"it": module.Asking("train")} | tiny().probes
        return digest(record(replace(tiny(), task=module.Mine(tuples=3), probes=probes)))

    assert named() == named(name="ann") != named(world="(1,)")
    asking = "now.task.token_names(now.world)"
    assert named(inside=asking) != named(name="ann", inside=asking)
    del sys.modules["called"]
