"""One row of a forest plot, for a table's cell: a number, its interval, its seeds, the paper's."""

from typing import Any

from markupsafe import Markup

WIDTH, HEIGHT, MARGIN = 120, 16, 6


def interval_plot(evidence: dict[str, Any]) -> Markup:
    """Ours is a dot in its interval, each seed a tick, the paper's a diamond."""
    ours, low, high, paper = (evidence.get(key) for key in ("ours", "low", "high", "paper"))
    each = [value for value in evidence.get("each") or [] if value is not None]
    known = [value for value in (ours, low, high, paper, *each) if value is not None]
    if ours is None or not known:
        return Markup("")
    least, span = min(known), max(known) - min(known)

    def x(value: float) -> str:
        part = (value - least) / span if span else 0.5
        return f"{MARGIN + part * (WIDTH - 2 * MARGIN):.1f}"

    parts = [f'<path class="axis" d="M0 8H{WIDTH}"/>']
    if low is not None and high is not None:
        parts.append(f'<path class="interval" d="M{x(low)} 8H{x(high)}"/>')
    parts += [f'<path class="seed" d="M{x(value)} 4v8"/>' for value in each]
    parts.append(f'<circle cx="{x(ours)}" cy="8" r="3"/>')
    if paper is not None:
        parts.append(f'<path class="paper" d="M{x(paper)} 3l5 5l-5 5l-5 -5z"/>')
    # hidden from screen readers: the numbers stand in cells of their own
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return Markup(f'<svg class="interval-plot" {size} aria-hidden="true">{"".join(parts)}</svg>')
