"""One row of a forest plot, for a table's cell: a number, its interval, its seeds, the paper's, and
what the claim asks of it."""

import math

from markupsafe import Markup

from ..core.evidence import Evidence, Relation

WIDTH, HEIGHT, MARGIN = 120, 16, 6


def interval_plot(evidence: Evidence) -> Markup:
    """Ours is a dot in its interval, each seed a tick, the paper's a diamond; what would support
    the claim is shaded."""
    low, high = _accepted(evidence)
    each = [float(value) for value in evidence.compared]
    shown = (evidence.ours, evidence.low, evidence.high, evidence.paper, low, high, *each)
    known = [value for value in shown if value is not None and math.isfinite(value)]
    if evidence.along or not math.isfinite(evidence.ours):
        return Markup("")
    least, span = min(known), max(known) - min(known)

    def x(value: float) -> str:
        part = (value - least) / span if span else 0.5
        return f"{MARGIN + min(max(part, 0.0), 1.0) * (WIDTH - 2 * MARGIN):.1f}"

    parts = []
    if evidence.decides:
        # open to one side: to the edge of the picture
        start = "0" if low == -math.inf else x(low)
        end = str(WIDTH) if high == math.inf else x(high)
        parts.append(f'<path class="asked" d="M{start} 2H{end}V14H{start}z"/>')
    parts.append(f'<path class="axis" d="M0 8H{WIDTH}"/>')
    if math.isfinite(evidence.low):
        parts.append(f'<path class="interval" d="M{x(evidence.low)} 8H{x(evidence.high)}"/>')
    parts += [f'<path class="seed" d="M{x(value)} 4v8"/>' for value in each if math.isfinite(value)]
    parts.append(f'<circle cx="{x(evidence.ours)}" cy="8" r="3"/>')
    if evidence.paper is not None:
        parts.append(f'<path class="paper" d="M{x(evidence.paper)} 3l5 5l-5 5l-5 -5z"/>')
    # hidden from screen readers: the numbers stand in cells of their own
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return Markup(f'<svg class="interval-plot" {size} aria-hidden="true">{"".join(parts)}</svg>')


def _accepted(evidence: Evidence) -> tuple[float, float]:
    """Between what our number has to be for the relation to hold."""
    bound, tolerance = evidence.bound or 0.0, evidence.tolerance or 0.0
    match evidence.relation:
        case Relation.ABOVE | Relation.EXCEEDS:
            return bound, math.inf
        case Relation.BELOW:
            return -math.inf, bound
        case Relation.NEAR:
            return bound - tolerance, bound + tolerance
        case Relation.AGREES:
            return -tolerance, tolerance
        case Relation.WITHIN_FACTOR:
            middle = bound if evidence.other is None else 1.0
            return middle / tolerance, middle * tolerance
    return -math.inf, math.inf
