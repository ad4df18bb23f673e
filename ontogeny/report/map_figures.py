"""The figure of a map: a phase diagram over the two settings that matter most, and how much each
setting explains."""

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ..claims.claim import all_claims
from ..claims.landscape import smooth
from ..claims.maps import Found, Map
from ..claims.region import OneOf, Setting
from ..claims.scale import Scale
from ..claims.survey import predicted
from .figures import STYLE, new_figure
from .show_map import diagram_axes

COLOURS = {
    Found.HOLDS: "#2e7d32",
    Found.FAILS: "#c62828",
    Found.OPEN: "#b26a00",
    Found.UNTRAINED: "#9e9e9e",
}
SIGNS = {Found.HOLDS: "o", Found.FAILS: "X", Found.OPEN: "D", Found.UNTRAINED: "."}
SHADES = LinearSegmentedColormap.from_list("shades", ["#f3c6c2", "#ffffff", "#c5e3c7"])
POINTS = 60  # of the smooth estimate, on a side


def map_figure(found: Map) -> Figure:
    """Cells by what came of them, over a smooth estimate of how often the claim holds; theory's
    boundary dashed, if it has one; the claim's own setting as a star."""
    axes_of = diagram_axes(found)
    with rc_context(STYLE):
        how = {"width_ratios": [1.5, 1]}
        figure, ((diagram, bars),) = new_figure(1, 2, (6.9, 2.9), gridspec=how)
        if axes_of:
            _diagram(diagram, found, *axes_of)
            _bars(bars, found)
        else:
            diagram.text(0.5, 0.5, "too few cells are decided", ha="center")
            for axis in (diagram, bars):
                axis.set_axis_off()
        figure.suptitle(f"{found.claim}\n{found.answer()[0]}", fontsize=8)
    return figure


def _diagram(axis: Any, found: Map, across: Setting, up: Setting) -> None:
    settings = found.region.settings
    x, y = settings.index(across), settings.index(up)
    line = np.linspace(0, 1, POINTS)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    shade = smooth(found.points[:, [x, y]], found.holds, grid).reshape(POINTS, POINTS)
    axis.imshow(
        shade, origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=1, cmap=SHADES, aspect="auto"
    )
    spread = np.random.default_rng(0)
    for kind in Found:
        cells = [cell for cell in found.cells if cell.found == kind]
        if not cells:
            continue
        shares = np.array([[cell.point.shares[n] for n in (x, y)] for cell in cells])
        for n, each in enumerate((across, up)):
            if isinstance(each, OneOf):  # cells of one choice beside one another
                shares[:, n] += spread.uniform(-0.35, 0.35, len(cells)) / len(each.values)
        label = f"{kind} ({len(cells)})"
        axis.scatter(*shares.T, s=14, c=COLOURS[kind], marker=SIGNS[kind], label=label, linewidth=0)
    if found.own and np.isfinite([found.own.point.shares[n] for n in (x, y)]).all():
        own = [found.own.point.shares[n] for n in (x, y)]
        colour = COLOURS[found.own.found]
        label = f"as claimed: {found.own.found}"
        axis.plot(*own, "*", color=colour, markeredgecolor="k", markersize=10, label=label)
    if (margin := theory_margin(found, x, y)) is not None and np.nanmin(margin) < 0 < np.nanmax(
        margin
    ):
        ends = np.linspace(0, 1, len(margin))
        axis.contour(ends, ends, margin, levels=[0], colors="k", linestyles="--", linewidths=1)
        axis.plot([], [], "k--", label="theory", linewidth=1)
    axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel=across.path, ylabel=up.path)
    axis.set_xticks(*ticks(across))
    axis.set_yticks(*ticks(up))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)


def theory_margin(found: Map, x: int, y: int) -> np.ndarray | None:
    """Theory's margin over two settings, if the claim is known here and has one."""
    claim = all_claims().get(found.claim)
    if claim is None or claim.region is None or claim.evidence is None:
        return None
    return predicted(claim, claim.region, Scale(found.scale), x, y)


def ticks(setting: Setting) -> tuple[list[float], list[str]]:
    """Where an axis has labels, and which: every choice, or five values of a range."""
    if isinstance(setting, OneOf):
        return [setting.share(value) for value in setting.values], list(setting.values)
    places = [0.0, 0.25, 0.5, 0.75, 1.0]
    return places, [setting.typed(place) for place in places]


def _bars(axis: Any, found: Map) -> None:
    matters = found.matters()[::-1]
    places = range(len(matters))
    for place, (_, (share, low, high)) in zip(places, matters, strict=True):
        colour = "#2e7d32" if low > 0 else "#9e9e9e"
        axis.barh(place, share, color=colour, alpha=0.6, height=0.6)
        axis.plot([low, high], [place, place], color="k", linewidth=0.8)
    axis.set_yticks(list(places), [each.setting.path for each in matters])
    axis.set(xlim=(0, 1), xlabel="share of the variation explained")
