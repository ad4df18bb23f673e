"""Pictures and tables say what the numbers say."""

import numpy as np
from conftest import tiny

from ontogeny import Measurement, Run
from ontogeny.report import figures, tables
from ontogeny.report.page import outline
from ontogeny.spell import spell

ROW = {
    "claim": "it_holds",
    "paper": "a-paper",
    "where": "Table 1",
    "outcome": "contradicted",
    "evidence": [
        {
            "text": "joint: final success is above 0.99",
            "outcome": "supported",
            "ours": 1.0,
            "low": 1.0,
            "high": 1.0,
            "paper": 1.0,
        },
        {
            "text": "late: final resemblance is 0.7 ± 0.1",
            "outcome": "contradicted",
            "ours": 0.93421,
            "low": 0.93,
            "high": 0.94,
            "paper": 0.7116,
        },
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
    assert figures.svg(figure).startswith("<svg")


def test_theory_is_drawn_into_the_axes_of_the_measurement():
    vectors = np.ones((2, 3, 4))
    figure = figures.by_layer({"a": run(cosine_by_layer=vectors, predicted_by_layer=vectors / 2)})
    (axis,) = figure.axes
    dashed = [line for line in axis.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata().tolist() for line in dashed] == [[0.5] * 4]
    assert figures.by_layer({"a": run(success=np.ones((2, 3)))}) is None
    figures.svg(figure)


def test_a_matrix_is_drawn_over_training_with_theory_beside_it():
    matrix = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    figure = figures.matrices({"a": run(templates=matrix, predicted_templates=matrix / 2)})
    shown = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in shown] == ["step 0", "step 1", "step 2", "theory"]
    drawn = shown[-2].images[0].get_array()
    np.testing.assert_array_equal(drawn, matrix[0, -1])
    assert figures.matrices({"a": run(success=np.ones((2, 3)))}) is None
    figures.svg(figure)


def test_angles_are_drawn_on_a_ring_per_layer():
    angles = np.full((2, 3, 3, 4), 30.0)
    figure = figures.polar({"a": run(angles_by_layer=angles), "b": run(angles_by_layer=angles)})
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("a", "b")
    dots = first.collections[2].get_offsets()
    np.testing.assert_allclose(dots, [[np.pi / 6, 3.0]] * 8)
    assert figures.polar({"a": run(success=np.ones((2, 3)))}) is None
    figures.svg(figure)


def test_numbers_are_short_and_what_is_missing_is_a_dash():
    shown = [tables.number(x) for x in (0.0, 0.93421, 8.4e-4, 12345.0, None, float("nan"))]
    assert shown == ["0", "0.9342", "8.4e-04", "1.2e+04", "–", "–"]
    assert tables.ours(ROW["evidence"][1]) == "0.9342 [0.93, 0.94]"


def test_the_readmes_row_sets_our_number_beside_the_papers():
    table = tables.markdown([ROW])
    assert "| ✗ contradicted | `it_holds` | Table 1 |" in table
    assert "success of joint = 1 (1), **resemblance of late = 0.9342 (0.7116)**" in table
    assert table.startswith("### a-paper: 1 contradicted")
    assert table.endswith("1 claims: 1 contradicted.")


def test_a_row_without_the_papers_numbers_shows_ours_and_whose_they_are():
    evidence = ROW["evidence"][0] | {"paper": None}
    compared = evidence | {"text": "small 2: final success exceeds big 2: final success by 0.1"}
    table = tables.markdown([ROW | {"evidence": [evidence, compared]}])
    assert "| success of joint = 1, success of small 2 over big 2 = 1 |" in table


def test_an_experiment_is_outlined_by_the_paths_that_vary_takes():
    text = outline(spell(tiny()))
    for line in ("  task: Analogy", "    ratio: 2.0", "  regime.1: ReadoutDescent", "  looks: 5"):
        assert line in text.splitlines()
    assert "    parts: key_query+value" in text and "  probes.success: Success" in text


def test_points_of_curves_are_drawn_beside_the_papers_and_theory():
    measured = Measurement("loss", np.array([0.5, 0.7]))
    points = [measured.beside(0.4, series="plain", x=n) for n in (8, 64)]
    told = [measured.beside(None, series="predicted, plain", x=n) for n in (8, 64)]
    figure = figures.against([*points, *told, measured.above(0)])
    (axis,) = figure.axes
    labels = [text.get_text() for text in axis.get_legend().get_texts()]
    assert set(labels) == {"plain", "the paper's", "predicted"}
    assert figures.against([measured.above(0)]) is None
