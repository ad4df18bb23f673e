"""The figure of a map: a phase diagram over the two settings that matter most, and how much each
setting explains."""

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ..claims.maps import Found, Map
from .diagram import Diagram, diagram, ticks
from .figures import STYLE, new_figure

COLOURS = {
    Found.HOLDS: "#2e7d32",
    Found.FAILS: "#c62828",
    Found.OPEN: "#b26a00",
    Found.UNTRAINED: "#9e9e9e",
}
SIGNS = {Found.HOLDS: "o", Found.FAILS: "X", Found.OPEN: "D", Found.UNTRAINED: "."}
SHADES = LinearSegmentedColormap.from_list("shades", ["#f3c6c2", "#ffffff", "#c5e3c7"])


def map_figure(found: Map) -> Figure:
    """Cells by what came of them, over a smooth estimate of how often the claim holds; theory's
    boundary dashed, if it has one; the claim's own setting as a star."""
    drawn = diagram(found, points=60)
    with rc_context(STYLE):
        how = {"width_ratios": [1.5, 1]}
        figure, ((axis, bars),) = new_figure(1, 2, (6.9, 2.9), gridspec=how)
        if drawn:
            _diagram(axis, found, drawn)
            _bars(bars, found)
        else:
            axis.text(0.5, 0.5, "\n".join(found.answer()), ha="center")
            for each in (axis, bars):
                each.set_axis_off()
        figure.suptitle(f"{found.claim}\n{found.answer()[0]}", fontsize=8)
    return figure


def _diagram(axis: Any, found: Map, drawn: Diagram) -> None:
    whole = (0, 1, 0, 1)
    axis.imshow(
        drawn.shade, origin="lower", extent=whole, vmin=0, vmax=1, cmap=SHADES, aspect="auto"
    )
    for kind in Found:
        if places := [(x, y) for cell, x, y in drawn.cells if cell.found == kind]:
            how = {"c": COLOURS[kind], "marker": SIGNS[kind], "linewidth": 0}
            axis.scatter(*np.array(places).T, s=14, label=f"{kind} ({len(places)})", **how)
    if found.own and drawn.own:
        how = {"color": COLOURS[found.own.found], "markeredgecolor": "k", "markersize": 10}
        axis.plot(*drawn.own, "*", label=f"as claimed: {found.own.found}", **how)
    for number, line in enumerate(drawn.theory):
        axis.plot(*line.T, "k--", linewidth=1, label="theory" if number == 0 else None)
    axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axis.set(xlabel=drawn.across.path, ylabel=drawn.up.path)
    across, up = ticks(drawn.across), ticks(drawn.up)
    axis.set_xticks(list(across), list(across.values()))
    axis.set_yticks(list(up), list(up.values()))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)


def _bars(axis: Any, found: Map) -> None:
    matters = found.matters[::-1]
    places = range(len(matters))
    for place, (_, explained) in zip(places, matters, strict=True):
        colour = "#2e7d32" if explained.certain else "#9e9e9e"
        axis.barh(place, explained.share, color=colour, alpha=0.6, height=0.6)
        axis.plot([explained.low, explained.high], [place, place], color="k", linewidth=0.8)
    axis.set_yticks(list(places), [each.setting.path for each in matters])
    axis.set(xlim=(0, 1), xlabel="share of the variation explained")
