"""Claims judged, swept and listed from Python."""

import pytest

import ontogeny
from ontogeny import ConfigError, Store
from ontogeny.claims.find import find_one

CHEAP = "gradients_have_the_stated_form"


def test_a_claim_is_judged_kept_and_listed(store):
    verdicts = ontogeny.judge(CHEAP, seeds=2, store=store)
    assert [verdict.claim.name for verdict in verdicts] == [CHEAP]
    assert verdicts[0] is verdicts["stated_form"] and verdicts[0].seeds == 2
    assert CHEAP in repr(verdicts) and len(repr(verdicts).splitlines()) == 1
    before = store.names()
    again = ontogeny.judge(find_one(CHEAP), seeds=2, store=str(store.root))
    assert before and store.names() == before
    assert again[0].outcome == verdicts[0].outcome
    (listed,) = ontogeny.list(CHEAP, store=store)
    assert listed.outcome == verdicts[0].outcome and not listed.stale
    assert str(listed).startswith(f"{listed.outcome} ")
    assert ontogeny.list(CHEAP, store=store.root / "other")[0].standing == "unjudged"
    with pytest.raises(KeyError, match="did you mean"):
        _ = verdicts["gradients_have_a_stated_form"]


def test_without_a_store_the_commands_store_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("ONTOGENY_STORE", str(tmp_path / "mine"))
    ontogeny.judge(CHEAP, seeds=2)
    assert Store(tmp_path / "mine").note("verdicts", f"{CHEAP}.laptop")


def test_a_sweep_is_an_object_that_says_where_it_flips_and_draws_itself(store):
    claim = "attention_stays_balanced"
    paths = {"training.0.steps": [1, 2]}
    found = ontogeny.sweep(claim, paths, scale="smoke", seeds=2, store=store)
    assert found.sweeps == {"training.0.steps": ["1", "2"]} and len(found.verdicts) == 2
    assert repr(found).startswith(f"Sweep of {claim}: ")
    assert found._repr_html_().count("<tr>") == 3
    assert found.plot()._repr_png_().startswith(b"\x89PNG")
    assert next(iter(found.to_frame()["training.0.steps"])) == "1"
    assert store.notes("sweeps")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: ontogeny.judge("no_such_claim_at_all"), "no claim"),
        (lambda: ontogeny.judge(3), "a claim is named, or given itself, not 3"),
        (lambda: ontogeny.judge(CHEAP, scale="laptob"), "did you mean 'laptop'"),
        (lambda: ontogeny.sweep(CHEAP, {"task.nothing": [1, 2]}), "no field 'task.nothing'"),
        (lambda: ontogeny.sweep(CHEAP, {"task.tuples": []}), "task.tuples"),
        (lambda: ontogeny.sweep(CHEAP, {"task.tuples": [1, 1]}), "must be there and differ"),
        (lambda: ontogeny.list("no_such_claim_at_all"), "no claim"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=said):
        ask()
