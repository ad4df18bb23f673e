"""The phase diagram of reach: when does algebra decide how far a chain carries?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from ..theory.lego_reach import Point
from .figures import STYLE, WIDTH, _Shown

COLOURS = ("C0", "C3", "C1", "C4", "C2", "C5")  # of groups


def draw_reach(points: Sequence[Point], width: float = 2 * WIDTH) -> Figure:
    """Left: the length solved against the loss at which attention stopped, a line for each group
    and clip, at the largest vocabulary. Right: a map for each group, at the largest clip."""
    groups = list(dict.fromkeys(point.group for point in points))
    sizes = sorted({point.d for point in points})
    clips = sorted({point.clip for point in points}, reverse=True)
    excesses = sorted({point.excess for point in points}, reverse=True)
    found = {(p.group, p.d, p.clip, p.excess): p.reach for p in points}
    largest = max((p.reach for p in points if np.isfinite(p.reach)), default=1.0)

    def reach(group: str, d: float, clip: float, excess: float) -> float:
        """What is beyond the longest chain tried is drawn there."""
        return min(found.get((group, d, clip, excess), np.nan), 2 * largest)

    with rc_context(STYLE):
        figure = _Shown(figsize=(width, width / 3))
        both: Any = figure.subfigures(1, 2, width_ratios=(1, 2))
        left, right = both
        axis = left.subplots()
        for group, colour in zip(groups, COLOURS, strict=False):
            for clip, line in zip(clips, ("-", "--", ":"), strict=False):
                lengths = [reach(group, sizes[-1], clip, excess) for excess in excesses]
                label = group if clip == clips[0] else None
                axis.loglog(excesses, lengths, line, color=colour, label=label, marker=".")
        axis.invert_xaxis()
        axis.set_xlabel("loss above its floor at the stop, in floors")
        axis.set_ylabel("length solved half the time")
        axis.set_title(f"d = {sizes[-1]:g}; C_B = {', '.join(f'{clip:g}' for clip in clips)}")
        axis.legend(loc="upper left")
        maps = np.atleast_1d(right.subplots(1, len(groups), sharey=True))
        for axis, group in zip(maps, groups, strict=True):
            values = np.array(
                [[reach(group, d, clips[0], excess) for excess in excesses] for d in sizes]
            )
            axis.imshow(
                np.log(values), origin="lower", aspect="auto", vmin=0, vmax=np.log(2 * largest)
            )
            for (row, column), value in np.ndenumerate(values):
                shade = "white" if value < largest / 2 else "black"
                text = f"{value:.0f}"
                axis.text(column, row, text, ha="center", va="center", color=shade, fontsize=4.5)
            axis.set_title(group)
            axis.set_xticks(range(len(excesses)), [f"{excess:g}" for excess in excesses])
            axis.set_yticks(range(len(sizes)), [f"$10^{{{np.log10(d):g}}}$" for d in sizes])
            axis.tick_params(axis="x", rotation=90)
        maps[0].set_ylabel("vocabulary d")
        right.supxlabel(f"loss above its floor at the stop, in floors; C_B = {clips[0]:g}")
    return figure
