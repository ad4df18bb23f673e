"""Verdicts that were reached at several times are put together into one judgement."""

import json

from commands import typed

from ontogeny import Scale
from ontogeny.claims.claim import CLAIMS
from ontogeny.claims.status import judgement
from ontogeny.claims.verdict import LATE, Verdict
from ontogeny.report.tables import BEGIN, END

CHEAP = "gradients_have_the_stated_form"


def row(outcome="supported", **changes):
    blank = Verdict(CLAIMS[CHEAP], Scale.LAPTOP, [], 5, 1.0).as_json()
    return blank | {"outcome": outcome, "at_one_setting": outcome, "evidence": [{}]} | changes


def told(*rows):
    (found,) = (each for each in judgement(rows) if each["claim"] == CHEAP)
    return found


def test_the_later_verdict_stands():
    assert told(row("supported"), row("contradicted"))["outcome"] == "contradicted"


def test_what_was_not_run_in_time_or_not_to_be_run_here_replaces_nothing():
    late = row("undecided", evidence=[], failures=[LATE])
    lacking = row("untested", evidence=[], untested="it needs torch")
    for other in (late, lacking):
        assert told(row(), other)["outcome"] == "supported"
    assert told(lacking)["outcome"] == "untested" and told(late)["outcome"] == "unjudged"


def test_every_claim_is_there_and_none_that_is_no_more():
    found = judgement([row(claim="a_claim_of_yesterday"), row()])
    assert [each["claim"] for each in found] == list(CLAIMS)
    assert {each["outcome"] for each in found} <= {"supported", "untested", "unjudged"}


def test_newer_files_are_merged_into_the_first(tmp_path):
    before = row(evidence=[], before={"rule": "0.2", "shown": "as it was", "evidence": []})
    (tmp_path / "all.json").write_text(json.dumps([before]))
    (tmp_path / "README.md").write_text(f"{BEGIN}{END}")
    words = ("write-verdicts", "all.json", "--page", "page.md", "--readme", "README.md")
    assert typed(*words, cwd=tmp_path).returncode == 0
    assert f"supported° | – | `{CHEAP}`" in (tmp_path / "page.md").read_text()
    (tmp_path / "new.json").write_text(json.dumps([row("contradicted", evidence=[], untested="")]))
    assert typed(*words[:2], "new.json", *words[2:], cwd=tmp_path).returncode == 0
    # a verdict without any evidence says nothing
    assert f"supported° | – | `{CHEAP}`" in (tmp_path / "page.md").read_text()
    assert "· unjudged" in (tmp_path / "README.md").read_text()
