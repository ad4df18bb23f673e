"""Regions as one types them, and designs that fill them."""

import math

import numpy as np
import pytest
from small import tiny

from ontogeny.claims.region import (
    Between,
    Fit,
    OneOf,
    Predicted,
    Region,
    design,
    named_settings,
    parse_setting,
    point_of,
)
from ontogeny.core.fields import ConfigError


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("task.ratio=1..8", Between("task.ratio", 1, 8)),
        ("task.ratio=1e-2..8:log", Between("task.ratio", 0.01, 8, spaced="log")),
        ("training.*.steps=x0.1..x10", Between("training.*.steps", 0.1, 10, spaced="times")),
        ("model.width=16, 32", OneOf("model.width", 16, 32)),
    ],
)  # fmt: skip
def test_a_setting_is_read_as_it_is_typed(text, setting):
    assert parse_setting(text) == setting


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("task.ratio", "not PATH=VALUE"),
        ("task.ratio=3", "is not PATH=LOW..HIGH"),
        ("task.ratio=8..1", "from 8 to 1 is no range"),
        ("task.ratio=0..1:log", "a log range begins above 0"),
        ("task.ratio=x1..2", "both ends are factors"),
        ("task.ratio=1..", "is not PATH=LOW..HIGH"),
        ("model.width=16,16", "two or more values that differ"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_the_reason(text, reason):
    with pytest.raises(ConfigError, match=reason):
        parse_setting(text)


def test_what_is_typed_lies_where_its_share_says():
    for setting in (Between("a", -2, 6), Between("a", 1e-4, 1e-1, spaced="log")):
        for share in (0.0, 0.31, 0.5, 1.0):
            assert setting.share(setting.typed(share)) == pytest.approx(share, abs=0.01)
    assert Between("a", 1, 100, spaced="times").typed(0.5) == "x10"
    words = OneOf("a", "one", "two", "three")
    assert [words.share(word) for word in words.values] == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    assert words.typed(1.0) == "three" and math.isnan(words.share("four"))
    assert all(math.isnan(each.share("")) for each in (words, Between("a", 0, 1)))


def test_a_design_fills_ranges_and_tries_each_choice_about_equally_often():
    settings = (Between("a", 0, 1), Between("b", 1e-3, 1, spaced="log"), OneOf("c", 8, 16, 32))
    points = design(settings, 60)
    shares = np.array([point.shares for point in points])
    for column in shares[:, :2].T:  # sixty cells leave no tenth of a range empty
        assert np.histogram(column, bins=10, range=(0, 1))[0].min() >= 3
    counts = [sum(point.typed[2] == value for point in points) for value in ("8", "16", "32")]
    assert counts == [20, 20, 20]
    assert design(settings, 60) == points  # claims of one experiment share their cells
    assert [p.typed[:2] for p in design(settings[:2], 8)] == [
        p.typed for p in design(settings[:2], 16)[:8]
    ]


def test_many_choices_are_few_programs():
    """Of 4 × 4 × 4 combinations 32 cells run at most 8, each value of each choice among them."""
    settings = tuple(OneOf(name, 1, 2, 3, 4) for name in "abc")
    points = design((*settings, Between("d", 0, 1)), 32)
    combinations = {point.typed[:3] for point in points}
    assert len(combinations) <= 8
    for place in range(3):
        assert {typed[place] for typed in combinations} == {"1", "2", "3", "4"}
    # without a number to vary, every combination is one cell
    assert len(design(settings[:2], 64)) == len(set(design(settings[:2], 64))) == 16


def test_a_region_survives_being_written_down():
    region = Region(
        (Between("a", 1, 8, "it is lost", "log"), OneOf("b", 1, 2)),
        (Fit("train loss", below=0.1), Fit("accuracy", above=0.9, of="x")),
        Predicted("a < 2", lambda _: 1.0),
    )
    again = Region.from_json(region.as_json())
    assert again.settings == region.settings and again.theory.says == "a < 2"
    assert str(region).endswith("accuracy of x ends above 0.9; a < 2")
    with pytest.raises(ConfigError, match="each setting once"):
        Region((OneOf("a", 1, 2), OneOf("a", 1, 3)))


def test_a_claim_has_those_settings_of_a_region_that_its_experiments_have():
    region = Region((OneOf("model.width", 8, 16), OneOf("model.gamma", 1, 2)))
    assert [each.path for each in named_settings(region, {"x": tiny()})] == ["model.width"]


def test_most_seeds_decide_whether_a_run_has_fitted():
    fit = Fit("train loss", below=0.1)
    assert fit.trained(np.array([0.01, 0.02, 3.0])) and not fit.trained(np.array([0.01, 3.0]))
    assert not fit.trained(np.array([np.nan, np.nan, 0.01]))


def test_a_point_that_was_typed_is_where_it_was():
    settings = (Between("a", 0, 10), OneOf("b", "x", "y"))
    assert point_of(settings, ("2.5", "y")).shares == (0.25, 0.75)
