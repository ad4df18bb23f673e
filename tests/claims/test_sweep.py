"""What may be changed and swept, and what is refused before anything is made of it."""

import pytest

from ontogeny.claims.changes import changed, parse_change
from ontogeny.claims.find import find_one
from ontogeny.claims.scale import Scale
from ontogeny.claims.sweep import along, as_typed, parse_sweep, parse_sweeps, sweep
from ontogeny.core.fields import ConfigError

CHEAP = find_one("gradients_have_the_stated_form")


def numbers(count):
    return ",".join(map(str, range(1, count + 1)))


def test_changes_and_sweeps_are_read_with_spaces_around():
    assert str(parse_change(" task.ratio = 3 ")) == "task.ratio=3"
    assert parse_sweep("task.ratio= 1, 2 ,3") == ("task.ratio", ["1", "2", "3"])
    assert parse_sweeps(["a=1,2", "b=3"]) == {"a": ["1", "2"], "b": ["3"]}


@pytest.mark.parametrize("text", ["", "=", "a", "a=", "=3", "a= ", " =3"])
def test_a_change_has_a_path_and_a_value(text):
    with pytest.raises(ConfigError, match="is not PATH=VALUE"):
        parse_change(text)


@pytest.mark.parametrize("text", ["a=\x00", "a=b\nc", "a\x1b=3", "a=\ud800"])
def test_signs_that_cannot_be_typed_are_refused(text):
    with pytest.raises(ConfigError, match="cannot be typed"):
        parse_change(text)


def test_a_change_that_is_too_long_is_not_said_back_whole():
    for read in (parse_change, parse_sweep):
        with pytest.raises(ConfigError, match="100005 characters") as refused:
            read("task=" + "x" * 100_000)
        assert len(str(refused.value)) < 200


@pytest.mark.parametrize("text", ["a=1,1", "a=1,,2", "a=,", f"a={numbers(30_000)},1"])
def test_the_values_of_a_sweep_are_there_and_differ(text):
    with pytest.raises(ConfigError, match="must be there and differ") as refused:
        parse_sweep(text)
    assert len(str(refused.value)) < 200


def test_a_field_is_swept_once():
    with pytest.raises(ConfigError, match="is swept twice"):
        parse_sweeps(["task.ratio=1,2", "task.ratio =3,4"])


@pytest.mark.parametrize(
    ("sweeps", "reason"),
    [
        ([f"task.ratio={numbers(10_001)}"], "a sweep of 10,001 points: at most 10,000"),
        ([f"a={numbers(101)}", f"b={numbers(100)}"], "a sweep of 10,100 points: at most 10,000"),
        (["a=1", "b=1", "c=1"], "two axes"),
    ],
)
def test_a_grid_that_is_too_large_is_refused_before_it_is_made(sweeps, reason):
    with pytest.raises(ConfigError, match=reason):
        parse_sweeps(sweeps)

    def execute(experiments, seeds):
        raise AssertionError("nothing may run")

    given = dict(parse_sweep(text) for text in sweeps)
    with pytest.raises(ConfigError, match=reason):
        sweep(CHEAP, execute, [], given, Scale.LAPTOP)
    assert parse_sweeps([f"a={numbers(100)}", f"b={numbers(100)}"])  # so large it may be


def test_text_cannot_stand_where_stages_do():
    claim = find_one("wide_attention_does_not_begin_to_copy")  # nothing is trained in it
    with pytest.raises(ConfigError, match="Stages"):
        changed(claim.name, claim.named(Scale.LAPTOP), [parse_change("training=7")])


def test_a_field_under_its_old_name_is_refused_with_the_new_one():
    for old, new in (
        ("regime.0.rate", "training.0.learning_rate"),
        ("trained.regime.0.rate", "trained.training.0.learning_rate"),
        ("looks", "evaluations"),
    ):
        with pytest.raises(ConfigError, match=f"no field {old!r}: it is now called {new}"):
            changed(CHEAP.name, CHEAP.named(Scale.LAPTOP), [parse_change(f"{old}=1")])


S, C, U = "supported", "contradicted", "undecided"


@pytest.mark.parametrize(
    ("outcomes", "answer"),
    [
        ({"1": S, "2": S, "4": C}, "supported up to a = 2, contradicted from 4 on"),
        ({"4": C, "1": S, "2": S}, "supported up to a = 2, contradicted from 4 on"),
        ({"1": S, "2": U, "4": C}, "supported up to a = 1, undecided at 2, contradicted from 4 on"),
        (
            {"1e-3": C, "0.01": S, "0.1": S, "1": C},
            "contradicted up to a = 1e-3, supported from 0.01 to 0.1, contradicted from 1 on",
        ),
        ({"1": S, "2": S}, "supported from a = 1 to 2: it does not flip in this range"),
        ({"3": S}, "supported at a = 3"),
        ({"C3": S, "S5": C, "D4": S}, "a: supported at C3, D4; contradicted at S5"),
    ],
)
def test_where_it_flips_is_one_line(outcomes, answer):
    assert along("a", outcomes) == answer


def test_sweeps_are_said_as_they_are_typed():
    assert as_typed(parse_sweeps(["model.width=16, 32, 64"])) == ["model.width=16,32,64"]
