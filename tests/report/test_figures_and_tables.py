"""Pictures and tables say what the numbers say."""

import base64
import gzip
import json

import numpy as np
import pytest
from small import tiny

from ontogeny import Measurement, Run, execute
from ontogeny.claims.find import find_one
from ontogeny.claims.scale import Scale
from ontogeny.claims.status import AGAIN, remember, standing
from ontogeny.claims.verdict import judge
from ontogeny.core import words
from ontogeny.core.curves import prediction
from ontogeny.core.quantity import Quantity
from ontogeny.engine.serialize import serialize
from ontogeny.report import figures, latex, pack, tables
from ontogeny.report.interval_plot import interval_plot
from ontogeny.report.outline import outline
from ontogeny.report.page import report_page

JOINT = Measurement(Quantity("accuracy", "joint", ("final",)), np.ones(5))
LATE = Measurement(Quantity("resemblance", "late", ("final",)), np.full(5, 0.93421))
ROW = {
    "claim": "it_holds",
    "paper": "a-paper",
    "where": "Table 1",
    "outcome": "contradicted",
    "numbers": {"agrees": 1, "differs": 1},
    "evidence": [
        JOINT.above(0.99, paper=1.0).as_json(),
        LATE.near(0.7, within=0.1, paper=0.7116).as_json(),
    ],
}


def run(**answers):
    shaped = {name.replace("_", " "): np.asarray(values) for name, values in answers.items()}
    return Run("r", np.arange(3), shaped, (0, 1))


def test_a_curve_is_drawn_for_every_scalar_probe_and_seed():
    scalar = np.array([[0.1, 0.5, 0.9], [0.2, 0.4, 0.8]])
    figure = figures.curves({"a": run(success=scalar, train_loss=scalar), "b": run(success=scalar)})
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == ["success", "train loss"]
    assert [len(axis.lines) for axis in shown] == [2 * 3, 3]  # two seeds and their mean, each
    assert shown[1].get_yscale() == "log"


def test_theory_is_drawn_into_the_axes_of_the_measurement():
    vectors = np.ones((2, 3, 4))
    figure = figures.by_layer({"a": run(cosine_by_layer=vectors, predicted_by_layer=vectors / 2)})
    (axis,) = figure.axes
    dashed = [line for line in axis.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata().tolist() for line in dashed] == [[0.5] * 4]
    assert figures.by_layer({"a": run(success=np.ones((2, 3)))}) is None


def test_a_matrix_is_drawn_over_training_with_theory_beside_it():
    matrix = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    figure = figures.matrices({"a": run(templates=matrix, predicted_templates=matrix / 2)})
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == ["step 0", "step 1", "step 2", "theory"]
    drawn = shown[-2].images[0].get_array()
    np.testing.assert_array_equal(drawn, matrix[0, -1])
    assert figures.matrices({"a": run(success=np.ones((2, 3)))}) is None


def test_angles_are_drawn_on_a_ring_per_layer():
    angles = np.full((2, 3, 3, 4), 30.0)
    figure = figures.polar({"a": run(angles_by_layer=angles), "b": run(angles_by_layer=angles)})
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("a", "b")
    dots = first.collections[2].get_offsets()
    np.testing.assert_allclose(dots, [[np.pi / 6, 3.0]] * 8)
    assert figures.polar({"a": run(success=np.ones((2, 3)))}) is None


def test_numbers_are_short_and_what_is_missing_is_a_dash():
    shown = [words.number(x) for x in (0.0, 0.93421, 8.4e-4, 12345.0, None, float("nan"))]
    assert shown == ["0", "0.9342", "8.4e-04", "1.2e+04", "–", "–"]
    assert words.value(LATE.above(0)) == "0.9342"
    assert words.value(Measurement.of("x", [0.4, 0.6]).above(0)) == "0.5 [-0.7706, 1.771]"


def test_the_readmes_row_sets_our_number_beside_the_papers():
    table = tables.markdown([ROW])
    assert "| ✗ contradicted | 1 of 2 agree | `it_holds` | Table 1 |" in table
    assert (
        "joint: final accuracy = 1 (1 ✓), **late: final resemblance = 0.9342 (0.7116 ≠)**" in table
    )
    assert table.startswith("### a-paper: 1 contradicted")
    assert table.endswith("1 claims: 1 contradicted.")


def test_a_row_without_the_papers_numbers_shows_ours_and_whose_they_are():
    found = [JOINT.above(0.5).as_json(), JOINT.exceeds(LATE).as_json()]
    table = tables.markdown([ROW | {"evidence": found}])
    compared = "joint: final accuracy − late: final resemblance = 0.06579"
    assert f"| joint: final accuracy = 1, {compared} |" in table


def test_a_number_that_disagrees_is_seen_though_the_finding_holds():
    found = [JOINT.above(0.5).as_json(), LATE.reported(0.4326).as_json()]
    table = tables.markdown([ROW | {"outcome": "supported", "evidence": found}])
    assert "| late: final resemblance = 0.9342 (0.4326 ≠) |" in table


def test_an_experiment_is_outlined_by_the_paths_that_sweep_takes():
    text = outline(serialize(tiny()))
    wanted = (
        "  task: Analogy",
        "    ratio: 2.0",
        "  training.1: ReadoutDescent",
        "  evaluations: 5",
    )
    for line in wanted:
        assert line in text.splitlines()
    assert "    trainable: key_query+value" in text and "  probes.success: Accuracy" in text


def test_points_of_curves_are_drawn_beside_the_papers_and_theory():
    measured = Measurement.of("loss", [0.5, 0.7])
    points = [measured.beside(0.4, series="plain", x=n) for n in (8, 64)]
    theory = prediction(0.6, measured)
    told = [theory.beside(None, series="plain", x=n) for n in (8, 64)]
    figure = figures.against([*points, *told, measured.above(0)])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(labels) == {"plain", "the paper's", "predicted"}
    assert figures.against([measured.above(0)]) is None


# ------------------------------------------------------------------------------ what a page carries


def unpacked(text):
    """What the page reads of a packed run."""
    whole = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(whole[:4], "little")
    header = json.loads(whole[4 : 4 + length])
    return header, np.frombuffer(whole, "<f4", offset=4 + length)


def test_a_packed_run_has_the_steps_and_numbers_of_the_run():
    curve = np.linspace(-1, 1, 6).reshape(2, 3)
    matrix = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    header, numbers = unpacked(pack.packed(run(success=curve, templates=matrix), tiny()))
    kept = {name: probe for name, probe in header["probes"].items()}
    assert kept["success"]["steps"] == [0, 1, 2] and kept["success"]["shape"] == [2, 3]
    assert kept["templates"]["shape"] == [1, 3, 4, 5]  # of a matrix, the first seed's
    first = numbers[kept["success"]["at"] :][:6]
    np.testing.assert_allclose(first, curve.ravel(), rtol=3e-4)
    np.testing.assert_allclose(numbers[kept["templates"]["at"] :], matrix[:1].ravel(), rtol=3e-4)


def test_long_runs_are_thinned_from_first_to_last():
    steps = np.arange(1000)
    long = Run("r", steps, {"success": np.tile(steps / 1000.0, (2, 1))}, (0, 1))
    kept, values = pack.drawable(long)["success"]
    assert len(kept) == pack.EVALUATIONS and (kept[0], kept[-1]) == (0, 999)
    np.testing.assert_allclose(values[0], np.array(kept) / 1000.0)


def test_coarse_numbers_are_near_and_what_is_no_number_stays_so():
    values = np.array([0.0, 1e-30, -3.14159, 6e4, np.nan, np.inf, -np.inf], np.float32)
    found = pack.coarse(values)
    np.testing.assert_allclose(found[:4], values[:4], rtol=2.0**-pack.DIGITS)
    assert np.isnan(found[4]) and found[5] == np.inf and found[6] == -np.inf


def test_a_strip_has_a_tick_for_every_seed_and_a_diamond_for_the_paper():
    measured = Measurement.of("it", [0.45, 0.55])
    drawn = interval_plot(measured.above(0.2, paper=0.9))
    assert drawn.count('class="seed"') == 2 and 'class="paper"' in drawn
    assert interval_plot(Measurement.of("it", [np.nan, np.nan]).above(0)) == ""
    assert 'class="paper"' not in interval_plot(measured.above(0.2))


def test_a_strip_shades_what_would_support_the_claim():
    measured = Measurement.of("it", [0.0, 1.0])
    left = 'class="asked" d="M0 '
    assert left in interval_plot(measured.below(0.5))
    assert left not in interval_plot(measured.above(0.5))
    for evidence in (measured.near(0.5, within=0.1), measured.agrees(measured, within=0.1)):
        assert 'class="asked"' in interval_plot(evidence)
    assert 'class="asked"' not in interval_plot(measured.reported(0.3))


def test_latex_is_escaped():
    assert latex.escaped("W_K W_Qᵀ + a I, 5 % & γ₀") == (
        r"W\_K W\_Q$^{\top}$ + a I, 5 \% \& $\gamma$$_0$"
    )


CHEAP = "gradients_have_the_stated_form"


@pytest.fixture
def judged(store):
    for verdict in judge([find_one(CHEAP)], lambda e, n: execute(e, n, store=store), seeds=2):
        remember(store, verdict)
    return store


def test_a_damaged_run_leaves_the_verdict_and_says_so(judged):
    fresh = standing(find_one(CHEAP), judged, Scale.LAPTOP)
    assert fresh.runs and not fresh.note and fresh.environment["python"]
    answers = judged.root / "runs" / judged.names()[0] / "answers.npz"
    answers.write_bytes(answers.read_bytes()[:-7])
    damaged = standing(find_one(CHEAP), judged, Scale.LAPTOP)
    assert damaged.note == AGAIN["missing"] and not damaged.runs
    assert damaged.verdict["outcome"] == fresh.verdict["outcome"]
    text, verdicts, _ = report_page(judged, [CHEAP])
    assert verdicts == 1 and AGAIN["missing"] in text


def test_a_verdict_of_older_code_is_shown_as_such(judged):
    old = judged.note("verdicts", f"{CHEAP}.laptop") | {"digest": "of another time"}
    judged.save_note("verdicts", f"{CHEAP}.laptop", old)
    text, verdicts, _ = report_page(judged, [CHEAP])
    assert verdicts == 1 and AGAIN["changed"] in text


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"evidence": 3}', '{"claim": "x"}'])
def test_a_verdict_that_cannot_be_read_was_never_given(judged, content):
    (judged.root / "verdicts" / f"{CHEAP}.laptop.json").write_text(content)
    text, verdicts, missing = report_page(judged, [CHEAP])
    assert (verdicts, missing) == (0, 1) and "Nothing has been judged yet" in text


def test_words_of_a_claim_cannot_become_the_pages_own(judged):
    evil = "</script><script>alert(1)</script>'\"><img src=x onerror=alert(1)>"
    old = judged.note("verdicts", f"{CHEAP}.laptop") | {"says": evil, "digest": "another"}
    old["evidence"][0] |= {"series": evil, "x": 1.0, "failures": [evil], "notes": [evil]}
    old["evidence"][1]["quantity"]["probe"] = evil
    judged.save_note("verdicts", f"{CHEAP}.laptop", old)
    text, *_ = report_page(judged, [CHEAP])
    assert "<script>alert" not in text and "<img src=x" not in text
