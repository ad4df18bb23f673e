"""Evidence in words: for the terminal, the page, documents and LaTeX, put together here alone."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .evidence import Evidence

HEADER = ("outcome", "ours [95 % interval]", "seeds", "paper", "note")


def number(value: float | None) -> str:
    """A number as short as it is still worth reading."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    return f"{value:.1e}"


def sentence(evidence: "Evidence") -> str:
    """What is said of the quantity."""
    what, other, relation = str(evidence.quantity), str(evidence.other), evidence.relation
    bound, tolerance = evidence.bound or 0.0, evidence.tolerance or 0.0
    along = ", ".join(x for x, _ in evidence.along)
    match str(relation):
        case "above" | "below":
            return f"{what} is {relation} {bound:g}"
        case "exceeds":
            return f"{what} exceeds {other}" + (f" by {bound:g}" if bound else "")
        case "near":
            return f"{what} is {bound:g} ± {tolerance:g}"
        case "agrees":
            return f"{what} agrees with {other} ± {tolerance:g}"
        case "within factor" if evidence.other:
            return f"{what} agrees with {other} within a factor of {tolerance:g}"
        case "within factor":
            return f"{what} is {bound:.4g} within a factor of {tolerance:g}"
        case "rises" | "falls":
            return f"{what} {relation} along {along}"
        case "point":
            return f"{evidence.series} at {evidence.x:g}"
    return what


def bound(evidence: "Evidence") -> str:
    """What decides, alone: `> 0.9`, `0.5 ± 0.1`."""
    bound, tolerance = evidence.bound or 0.0, evidence.tolerance or 0.0
    match str(evidence.relation):
        case "above" | "exceeds":
            return f"> {number(bound)}"
        case "below":
            return f"< {number(bound)}"
        case "near" | "agrees":
            return f"{number(bound)} ± {number(tolerance)}"
        case "within factor":
            return f"{number(bound if evidence.other is None else 1.0)} ×÷ {number(tolerance)}"
    return str(evidence.relation)


def value(evidence: "Evidence") -> str:
    """Our number with its interval; of a difference or a ratio, both sides."""
    if evidence.along:
        return " → ".join(number(mean) for _, mean in evidence.along)
    shown = number(evidence.ours)
    if evidence.low < evidence.high:
        shown += f" [{number(evidence.low)}, {number(evidence.high)}]"
    if evidence.other is None:
        return shown
    left, right = (number(float(np.mean(side))) for side in (evidence.each, evidence.others))
    right = f"({right})" if right.startswith("-") else right
    return f"{shown} = {left} {'/' if evidence.ratio else '−'} {right}"


def held(evidence: "Evidence") -> str:
    """In how many seeds it holds."""
    if not evidence.decides:
        return str(evidence.n)
    if evidence.exact:
        return "exact"
    if evidence.tested == "mean":
        return f"mean of {evidence.n}"
    return f"{evidence.held} of {evidence.n}"


MARKS = {"agrees": "✓", "differs": "≠", "open": "?", "fitted": "fitted"}


def paper(evidence: "Evidence") -> str:
    """The paper's number, and whether ours is the same."""
    if evidence.paper is None:
        return "–"
    return f"{number(evidence.paper)} {MARKS[str(evidence.agreement)]}"


def with_interval(mean: float, low: float, high: float) -> str:
    """A mean and its interval, where there is one."""
    return (
        f"{mean:.4g} [{low:.4g}, {high:.4g}]" if np.isfinite([low, high]).all() else f"{mean:.4g}"
    )


def duration(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def counted(number: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {what}{'s' * (number != 1)}"


def in_bytes(size: float) -> str:
    """A size as a person says it."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def agreement(numbers: Mapping[str, int]) -> str:
    """How many of the paper's numbers ours agree with; those that were fitted do not count."""
    counted = {kind: many for kind, many in numbers.items() if kind != "fitted"}
    whole = sum(counted.values())
    fitted = f", {numbers['fitted']} fitted" if numbers.get("fitted") else ""
    return f"{counted.get('agrees', 0)} of {whole} agree{fitted}" if whole or fitted else ""


def verdict(row: Mapping[str, Any]) -> str:
    """A verdict in a line: the finding, then the numbers."""
    numbers = agreement(row["numbers"])
    return f"finding {row['outcome']}{where(row)}" + (f"; numbers {numbers}" if numbers else "")


def where(row: Mapping[str, Any]) -> str:
    """Where a finding was looked at, if its paper leaves settings open: all over them, or at the
    one that we chose."""
    if row.get("map"):
        return f" ({row['map']['cells']} settings; at ours {row['at_one_setting']})"
    return " at one setting" if row.get("open_settings") else ""


def ask_for_a_map(row: Mapping[str, Any]) -> str:
    """What to type before a contradiction stands whose setting was ours to choose; else nothing."""
    if row["outcome"] != "contradicted" or row.get("map") or not row.get("open_settings"):
        return ""
    number = counted(row["open_settings"], "setting")
    return f"its paper leaves {number} open: `ontogeny map {row['claim']}` says where it holds"
