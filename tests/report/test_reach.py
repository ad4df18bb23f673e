"""The phase diagram of reach."""

from ontogeny.report.figures import save
from ontogeny.report.reach import draw_reach
from ontogeny.theory.lego_reach import Point


def test_the_phase_diagram_has_a_line_and_a_map_for_each_group(tmp_path):
    points = [
        Point(group, d, clip, excess, 0.1, 0.0, reach, True)
        for group, reach in (("C6", 300.0), ("S4", 20.0))
        for d in (1e4, 1e6)
        for clip in (1.5, 2.0)
        for excess in (1.0, 0.1)
    ]
    # what is solved to the longest chain is infinite, and is drawn, too
    points[0] = points[0]._replace(reach=float("inf"))
    figure = draw_reach(points)
    lines, *maps = (axis for part in figure.subfigs for axis in part.axes)
    assert len(lines.lines) == 4 and [each.get_title() for each in maps] == ["C6", "S4"]
    assert {text.get_text() for text in maps[1].texts} == {"20"}
    save(figure, tmp_path / "reach.png")
    assert (tmp_path / "reach.png").stat().st_size > 1000
