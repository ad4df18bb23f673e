"""What a map shows: in a terminal of any width, as a figure, in the page."""

import io
import json

import numpy as np
import pytest
from planted import RATE, RATIO, WIDTH, answering, below_three, made
from rich.console import Console

from ontogeny import Scale
from ontogeny.claims.region import Predicted, Region
from ontogeny.claims.status import last_said, remember, remember_map, standing
from ontogeny.claims.survey import survey
from ontogeny.claims.verdict import judge
from ontogeny.report.diagram import as_data, axes_of, diagram
from ontogeny.report.map_figures import map_figure
from ontogeny.report.page import inline, live_section
from ontogeny.report.show_map import show_map

THEORY = Predicted("κ < 3", lambda experiments: np.log(3 / experiments["x"].task.ratio))
REGION = Region((RATIO, RATE, WIDTH), theory=THEORY)


@pytest.fixture
def known():
    return made(REGION)


def surveyed(claim, cells=48, accuracy=below_three):
    return survey(claim, answering(accuracy), claim.region, cells=cells)


def printed(found, width):
    screen = Console(width=width, record=True, file=io.StringIO())
    show_map(screen, found)
    return screen.export_text()


@pytest.mark.parametrize("width", [80, 120])
def test_the_answer_comes_first_and_the_diagram_fits(known, width):
    lines = printed(surveyed(known), width).splitlines()
    assert lines[0].startswith("depends on task.ratio: holds below")
    assert all(len(line.rstrip()) <= width for line in lines[2:])
    grid = [line for line in lines if "│" in line]
    assert len(grid) == 14
    # what holds is on the left of what fails, as the planted boundary has it
    holds = [line.index("✓") for line in grid if "✓" in line]
    fails = [line.index("✗") for line in grid if "✗" in line]
    assert np.mean(holds) + 15 < np.mean(fails)
    assert lines[-1] == "✓ holds   ✗ fails"


def test_too_few_cells_make_no_diagram(known):
    found = surveyed(known, cells=4)
    assert printed(found, 80).startswith("undecided: ") and axes_of(found) is None
    assert diagram(found, 8) is None and as_data(found)["diagram"] is None
    assert len(map_figure(found).axes) == 2  # which says so


def test_the_figure_has_every_cell_the_boundary_of_theory_and_the_claims_own_setting(known):
    found = surveyed(known)
    axis, bars = map_figure(found).axes
    drawn = sum(len(each.get_offsets()) for each in axis.collections)
    assert drawn == 48 and len(bars.patches) == 3
    dashed = [line for line in axis.lines if line.get_linestyle() == "--"]
    (boundary,) = dashed
    at = RATIO.share("3")
    assert boundary.get_xdata() == pytest.approx(np.full(len(boundary.get_xdata()), at), abs=0.03)
    (star,) = (line for line in axis.lines if line.get_marker() == "*")
    assert star.get_xdata()[0] == pytest.approx(RATIO.share("2"))


def test_the_shade_says_where_it_holds(known):
    drawn = diagram(surveyed(known), 9)
    assert drawn.across == RATIO
    assert (drawn.shade[:, 0] > 0.9).all() and (drawn.shade[:, -1] < 0.2).all()


def test_the_page_has_the_map_and_what_was_found_at_the_claims_own_setting(known, store):
    execute = answering(lambda each: float(each.task.ratio < 1.5))
    (verdict,) = judge([known], lambda some, seeds: execute(some, 5))
    remember(store, verdict)
    said = live_section(last_said(known, store, Scale.LAPTOP))
    assert "finding contradicted at one setting" in said
    assert "its paper leaves 3 settings open: `ontogeny map made`" in said
    remember_map(store, survey(known, execute, known.region, cells=48))
    section = live_section(last_said(known, store, Scale.LAPTOP))
    assert "± depends" in section and "(48 settings; at ours contradicted)" in section
    assert "Where is it true?" in section and "task.ratio" in section
    data = json.loads(str(inline(as_data(last_said(known, store, Scale.LAPTOP).map))))
    assert len(data["diagram"]["cells"]) == 48 and data["diagram"]["own"]
    assert standing(known, store, Scale.LAPTOP).map is not None
