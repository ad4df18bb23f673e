"""The phase diagram of reach: when does algebra decide how far a chain carries?"""

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from ..theory.lego_reach import Point
from .figures import _STYLE, WIDTH, _Shown


def draw_reach(points: Sequence[Point], width: float = 2 * WIDTH) -> Figure:
    """Left: the length solved against the loss at which attention stopped, a line for each group
    and clip, at the largest vocabulary. Right: the same as a map for each group, at one clip."""
    groups = list(dict.fromkeys(point.group for point in points))
    sizes = sorted({point.d for point in points})
    clips = sorted({point.clip for point in points})
    excesses = sorted({point.excess for point in points}, reverse=True)
    found = {(p.group, p.d, p.clip, p.excess): p.reach for p in points}
    largest = max((p.reach for p in points if np.isfinite(p.reach)), default=1.0)

    def reach(group: str, d: float, clip: float, excess: float) -> float:
        """What is beyond the longest chain tried is drawn there."""
        return min(found.get((group, d, clip, excess), np.nan), 2 * largest)

    with rc_context(_STYLE):
        figure = _Shown(figsize=(width, width / 3))
        axes = figure.subplots(1, 1 + len(groups), width_ratios=[2] + [1] * len(groups))
        for group, colour in zip(groups, ("C0", "C3", "C1", "C4", "C2"), strict=False):
            for clip, line in zip(clips, ("--", "-", ":"), strict=False):
                lengths = [reach(group, sizes[-1], clip, excess) for excess in excesses]
                label = group if clip == clips[-1] else None
                axes[0].loglog(excesses, lengths, line, color=colour, label=label, marker=".")
        axes[0].invert_xaxis()
        axes[0].set_xlabel("loss above its floor when attention stops, in floors")
        axes[0].set_ylabel("length solved half the time")
        axes[0].legend(title=f"d = {sizes[-1]:g}")
        shown = None
        for axis, group in zip(axes[1:], groups, strict=True):
            values = np.log10(
                [[reach(group, d, clips[-1], excess) for excess in excesses] for d in sizes]
            )
            shown = axis.imshow(
                values, origin="lower", aspect="auto", vmin=0, vmax=np.log10(2 * largest)
            )
            axis.set_title(group)
            axis.set_xticks(range(len(excesses)), [f"{excess:g}" for excess in excesses])
            axis.set_yticks(range(len(sizes)), [f"{d:g}" for d in sizes])
            axis.tick_params(axis="x", rotation=90)
        axes[1].set_ylabel("vocabulary d")
        if shown is not None:
            figure.colorbar(shown, ax=axes[1:], label="log₁₀ length")
    return figure
