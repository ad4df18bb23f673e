"""Who gets which unit: workers that die, grow, fail or make way."""

import pytest
from small import tiny

from ontogeny import ConfigError
from ontogeny.engine.runs import specs
from ontogeny.engine.schedule import Progress, Scheduler, WorkerError
from ontogeny.engine.units import News, Unit, outgrown
from ontogeny.llm.truncation import Truncation


def news(step):
    return "news", News(step, 9, 0.0, step / 9)


class Scripted(Scheduler):
    """Workers that say what they are told to."""

    def __init__(self, units, script, store=None, failures=None):
        super().__init__(units, store, failures)
        self.script, self.deeds = iter(script), []

    def spawn(self, worker):
        self.deeds.append(("spawn", worker))

    def send(self, worker, unit):
        self.deeds.append(("send", worker, unit.specs[0].label))

    def pause(self, worker):
        self.deeds.append(("pause", worker))

    def retire(self, worker):
        self.deeds.append(("retire", worker))

    def messages(self):
        yield next(self.script)

    def shutdown(self):
        self.deeds.append(("shutdown",))


def units_of(*labels, cost=1.0):
    return [Unit(tuple(specs(label, tiny(), [0])), cost) for label in labels]


def test_a_worker_that_has_grown_makes_way_for_a_new_one():
    done = ("done", [], True)
    script = [(0, ("ready",)), (0, done), (0, ("ready",)), (0, done)]
    scheduler = Scripted(units_of("a", "b"), script)
    assert len(list(scheduler.run(1, Progress()))) == 2
    assert scheduler.deeds == [
        ("spawn", 0), ("send", 0, "a"), ("retire", 0), ("spawn", 0), ("send", 0, "b"),
        ("retire", 0), ("shutdown",),
    ]  # fmt: skip


def test_a_worker_that_holds_a_pretrained_model_stays_however_large(monkeypatch):
    monkeypatch.setattr("ontogeny.engine.units.grown", lambda: True)
    [compiled], external = units_of("a"), Unit(tuple(specs("b", Truncation(), [0])), 1.0)
    assert outgrown(compiled) and not outgrown(external)


def test_one_who_has_nothing_to_do_takes_over_from_one_who_died():
    ready, done = ("ready",), ("done", [], False)
    script = [(0, ready), (1, ready), (1, done), (0, ("died", "")), (1, done)]
    scheduler = Scripted(units_of("a", "b"), script)
    assert len(list(scheduler.run(2, Progress()))) == 2
    assert scheduler.deeds[2:] == [
        ("send", 0, "a"), ("send", 1, "b"), ("spawn", 0), ("send", 1, "a"), ("shutdown",),
    ]  # fmt: skip


def test_three_runs_on_two_workers_take_turns_so_that_all_end_together(store):
    """One of the first two makes way when it has half left: all three end after 1.5 runs."""
    ready, done, paused = ("ready",), ("done", [], False), ("paused",)
    script = [
        (0, ready), (1, ready), (0, news(4)), (1, news(4)),
        (0, news(5)), (1, news(5)),  # less than half is left: one of them is asked
        (0, paused), (1, news(6)), (0, news(1)),
        (1, done), (0, news(5)), (1, done), (0, done),
    ]  # fmt: skip
    scheduler = Scripted(units_of("a", "b", "c", cost=90.0), script, store)
    finished = [unit.specs[0].label for unit, _ in scheduler.run(2, Progress())]
    assert finished == ["b", "a", "c"]
    assert scheduler.deeds[2:] == [
        ("send", 0, "a"), ("send", 1, "b"), ("pause", 0), ("send", 0, "c"), ("send", 1, "a"),
        ("shutdown",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "cost", "kept"),
    [("abc", 0.5, True), ("abcd", 90.0, True), ("abc", 90.0, False)],
    ids=["little work", "as many as workers wait", "no store for checkpoints"],
)
def test_a_unit_is_not_paused_where_that_gains_nothing(store, labels, cost, kept):
    ready, done = ("ready",), ("done", [], False)
    ends = [(0, done), (1, done), (0, done), (1, done)][: len(labels)]
    script = [(0, ready), (1, ready), (0, news(5)), (1, news(5)), *ends]
    units = units_of(*labels, cost=cost)
    scheduler = Scripted(units, script, store if kept else None)
    assert len(list(scheduler.run(2, Progress()))) == len(labels)
    assert not [deed for deed in scheduler.deeds if deed[0] == "pause"]


def test_a_unit_is_given_up_when_workers_die_on_it_and_get_no_farther():
    def life(step):
        return [(0, ("ready",)), (0, news(step)), (0, ("died", ""))]

    farther = Scripted(units_of("a"), [*life(1), *life(2), *life(3), (0, ("ready",))])
    with pytest.raises(RuntimeError, match="StopIteration"):  # the script is over, it is not
        for _ in farther.run(1, Progress()):
            pass
    stuck = Scripted(units_of("a"), life(3) + life(2) + life(3))
    with pytest.raises(WorkerError, match=r"died three times on a .* no farther than step 3"):
        list(stuck.run(1, Progress()))
    assert stuck.deeds[-1] == ("shutdown",)


def test_where_failures_are_noted_others_go_on_and_the_same_is_not_tried_with_other_seeds():
    ready, done, failures = ("ready",), ("done", [], False), {}
    a, b = ([Unit(tuple(specs(label, tiny(), [seed])), 1.0) for seed in (0, 1)] for label in "ab")
    script = [
        (0, ready), (0, news(3)), (0, ("failed", ConfigError("no"))),  # a, seed 0
        (0, ready), (0, done),  # b, seed 0
        (0, news(2)), (0, ("died", "it ended")),  # b, seed 1
        (0, ready), (0, news(2)), (0, ("died", "it ended")),  # and once more
    ]  # fmt: skip
    scheduler = Scripted([*a, *b], script, failures=failures)
    assert [unit for unit, _ in scheduler.run(1, Progress())] == [b[0]]
    assert failures == {
        "a": "seed 0: no (after step 3)",
        "b": "seed 1: it ended (after step 2)",
    }
    assert [deed for deed in scheduler.deeds if deed[0] == "send"] == [
        ("send", 0, label) for label in "abbb"
    ]
