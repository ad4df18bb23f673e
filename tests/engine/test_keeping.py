"""What is asked for is kept, in a store if there is one, and nothing is trained twice."""

import logging
from collections import namedtuple
from dataclasses import replace

import numpy as np
import pytest
from small import tiny

from ontogeny import ConfigError, GradientDescent, Loss, Store, execute, train
from ontogeny.engine.progress import Plain
from ontogeny.engine.schedule import Progress

ALL = tiny().evaluated_at


class Seen(Progress):
    """What it was told; interrupts after some steps."""

    def __init__(self, until=10**9):
        self.until, self.steps, self.words = until, [], []

    def said(self, text):
        self.words.append(text)

    def evaluated(self, unit, news):
        self.steps.append(news.step)
        if news.step >= self.until:
            raise KeyboardInterrupt


def same(one, other):
    assert one.step == other.step and one.seed == other.seed
    assert np.array_equal(one.params.value, other.params.value)
    return True


@pytest.mark.parametrize("keep", ["last", "all", [8, 20]])
def test_what_was_kept_is_read_again_and_nothing_is_trained(store, monkeypatch, keep):
    first = train(tiny(), seed=1, keep=keep, store=store)
    without = train(tiny(), seed=1, keep=keep)
    monkeypatch.setattr("ontogeny.engine.units.train", None)
    again = train(tiny(), seed=1, keep=keep, store=Store(store.root))
    assert same(first, again) and same(first, without)
    assert list(again.steps) == {"last": ALL[-1:], "all": ALL}.get(str(keep), keep)
    for step in again.steps:
        assert same(first.at(step), again.at(step)) and same(first.at(step), without.at(step))
    with pytest.raises(TypeError, match="NoneType"):  # another experiment is trained
        train(tiny(learning_rate=0.9), seed=1, keep=keep, store=store)


def test_more_is_kept_when_more_is_asked_for(store):
    train(tiny(), keep=[8], store=store)
    trained = train(tiny(), keep=[20, 8], store=store)
    assert trained.steps == (8, 20) and trained.step == 20
    assert train(tiny(), store=store).steps == (8, 20, 40)


def test_what_execute_has_answered_stays_and_what_is_trained_is_answered_to_execute(store):
    run = execute({"x": tiny()}, seeds=3, store=store)["x"]
    trained = train(tiny(), seed=2, store=store)
    assert np.array_equal(trained.run.curve("train loss")[0], run.curve("train loss")[2])
    train(tiny(width=18), store=store)
    seen = Seen()
    execute({"x": tiny(width=18)}, seeds=1, store=store, progress=seen)
    assert not seen.steps


def test_training_ends_where_nothing_more_is_to_be_kept(store):
    for where in (store, None):
        seen = Seen()
        trained = train(tiny(), keep=[8], store=where, progress=seen)
        assert seen.steps == [0, 4, 8] and trained.step == 8
        with pytest.raises(ConfigError, match="not trained to its end"):
            _ = trained.run
    seen = Seen()
    execute({"x": tiny()}, seeds=1, store=store, progress=seen)
    assert seen.steps[0] == 12  # from where it was left off


def test_an_interrupted_training_goes_on_where_it_was(store, monkeypatch):
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), keep="all", store=store, progress=Seen(until=20))
    seen = Seen()
    trained = train(tiny(), keep="all", store=store, progress=seen)
    assert seen.steps[0] > 4 and list(trained.steps) == ALL
    assert all(same(trained.at(step), train(tiny(), keep=[step])) for step in (16, 20, 40))


def test_checkpoints_that_come_too_late_are_not_begun_from(store, monkeypatch):
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    with pytest.raises(KeyboardInterrupt):
        execute({"x": tiny()}, seeds=1, store=store, progress=Seen(until=24))
    seen = Seen()
    trained = train(tiny(), keep=[0, 40], store=store, progress=seen)
    assert seen.steps[0] == 0 and trained.steps == (0, 40)
    assert same(trained.at(0), train(tiny(), keep=[0])) and same(trained, train(tiny()))


def test_the_parameters_at_a_checkpoint_are_those_of_its_step(store, monkeypatch):
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    with pytest.raises(KeyboardInterrupt):
        execute({"x": tiny()}, seeds=1, store=store, progress=Seen(until=24))
    seen = Seen()
    trained = train(tiny(), keep=[4], store=store, progress=seen)
    assert seen.steps == [] and same(trained, train(tiny(), keep=[4]))


@pytest.mark.parametrize("harm", [b"", b"PK not really", None])
def test_damaged_parameters_are_set_aside_and_trained_again(store, caplog, harm):
    first = train(tiny(), keep="all", store=store)
    file = next(iter(sorted((store.root / "parameters").rglob("000000008/params.npz"))))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data if harm is None else harm)
    found = Store(store.root)
    assert same(train(tiny(), store=found), first)  # no other is harmed
    again = train(tiny(), keep="all", store=found)
    assert "params.npz has changed since it was written; set aside" in caplog.text
    assert same(again.at(8), first.at(8))


def test_what_is_damaged_later_says_so(store, caplog):
    trained = train(tiny(), keep="all", store=store)
    for file in (store.root / "parameters").rglob("params.npz"):
        file.write_bytes(b"")
    with pytest.raises(ConfigError, match="after 8 steps are not there: train again"):
        _ = trained.at(8).params
    assert "set aside" in caplog.text


FAILING = tiny(learning_rate=1e30)


def test_a_run_that_failed_has_the_parameters_before_it_did(store, monkeypatch):
    for where in (None, store):
        with pytest.raises(ConfigError, match=r"no parameters to keep: seed 0: .* not a finite"):
            train(FAILING, store=where)
        trained = train(FAILING, keep="all", store=where)
        assert trained.step < 40 and "failed" in repr(trained)
        assert all(np.isfinite(leaf).all() for leaf in trained.params if leaf is not None)
        assert trained.run.failures
        with pytest.raises(ConfigError, match="step 40 was not kept"):
            trained.at(40)
    monkeypatch.setattr("ontogeny.engine.units.train", None)
    assert train(FAILING, keep="all", store=store).steps == trained.steps
    with pytest.raises(ConfigError, match="not a finite"):
        train(FAILING, store=store)


def test_how_much_is_kept_is_said_before_it_is_trained(store, capsys):
    seen = Seen(until=0)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), keep="all", store=store, progress=seen)
    assert seen.words == ["keeping parameters: 11 × 2.6 kB = 28.3 kB (on disk)"]
    train(tiny(), progress=Plain())
    assert "keeping parameters: 2.6 kB (in memory)" in capsys.readouterr().err


def test_what_cannot_fit_is_refused_before_it_is_trained(store, monkeypatch):
    monkeypatch.setattr("ontogeny.engine.units.train", None)
    disk = namedtuple("disk", "free")(20_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: disk)
    with pytest.raises(ConfigError, match=r"11 × 2.6 kB = 28.3 kB do not fit .* has 20.0 kB"):
        train(tiny(), keep="all", store=store)
    monkeypatch.setattr("ontogeny.engine.keeping.memory", lambda: 1000)
    with pytest.raises(ConfigError, match=r"2\.6 kB do not fit in memory"):
        train(tiny())


def test_a_full_disk_costs_nothing_but_the_copy_on_it(store, monkeypatch, caplog):
    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(Store, "keep", full)
    trained = train(tiny(), keep="all", store=store)
    assert list(trained.steps) == ALL and "in memory alone: no space left" in caplog.text
    assert same(trained.at(8), train(tiny(), keep=[8]))


def test_parameters_of_unknown_code_are_not_kept(store, caplog):
    anything = object()  # of which nobody can tell whether it is what it was

    class Mine(Loss):
        def __call__(self, now):
            return super().__call__(now) + 0 * (anything is None)

    unknown = replace(tiny(), probes=tiny().probes | {"mine": Mine("train")})
    with caplog.at_level(logging.WARNING):
        trained = train(unknown, store=store)
    assert "trained each time: the code of" in caplog.text
    assert trained.run.curve("mine").shape == (1, len(ALL)) and not store.root.exists()


def test_parameters_are_counted_and_pruned_with_their_runs(store):
    train(tiny(), keep="all", store=store)
    train(tiny(width=18), store=store)
    kept, gone = (train(each, store=store).source.spec.name for each in (tiny(), tiny(width=18)))
    before = store.size("parameters")
    assert before > 28_000 and store.size("runs") < before
    assert store.prune({kept.rpartition("-")[0]}) > 2600
    assert store.kept(kept) == ALL and store.kept(gone) == []
    assert not store.has(gone) and 28_000 < store.size("parameters") < before


def test_a_stage_that_ends_early_is_kept_to_the_end():
    from ontogeny import Until

    ending = GradientDescent(
        steps=20, learning_rate=1.0, until=Until("train loss", level=100.0, side="below")
    )
    trained = train(tiny(training=(ending,)), keep="all")
    assert trained.steps == (0, 4, 8, 12, 16, 20)
    assert np.array_equal(trained.params.value, trained.at(4).params.value)
    assert not np.array_equal(trained.params.value, trained.at(0).params.value)
