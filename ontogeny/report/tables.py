"""Tables of verdicts, for the terminal, for a page and for the README."""

import math
import re
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

STYLES = {
    "supported": ("✓", "green"),
    "contradicted": ("✗", "red"),
    "undecided": ("?", "yellow"),
    "untested": ("–", "bright_black"),
}


def number(value: float | None) -> str:
    """A number as short as it is still worth reading."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.4g}"
    return f"{value:.1e}"


def ours(evidence: dict[str, Any]) -> str:
    """Our number with its interval."""
    low, high = evidence["low"], evidence["high"]
    if low is None or low == high:
        return number(evidence["ours"])
    return f"{number(evidence['ours'])} [{number(low)}, {number(high)}]"


def badge(outcome: str) -> Text:
    """An outcome as a mark and a word."""
    mark, colour = STYLES[outcome]
    return Text(f"{mark} {outcome}", style=colour)


def verdicts(rows: Sequence[dict[str, Any]]) -> Table:
    """One line per claim."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", overflow="fold")
    table.add_column("where")
    table.add_column("scale")
    table.add_column("seeds", justify="right")
    table.add_column("core-seconds", justify="right")
    for row in rows:
        table.add_row(
            badge(row["outcome"]),
            row["claim"],
            row["where"],
            row["scale"],
            str(row["seeds"] or "–"),
            f"{row['seconds']:.0f}" if row["evidence"] else "–",
        )
    return table


def evidence(row: dict[str, Any]) -> Table:
    """One line per piece of evidence, the paper's number beside ours."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("evidence", overflow="fold")
    table.add_column("ours [95 % interval]")
    table.add_column("paper", justify="right")
    table.add_column("n", justify="right")
    table.add_column("", overflow="fold")
    for item in row["evidence"]:
        mark, colour = STYLES[item["outcome"]]
        cells = item["text"], ours(item), number(item["paper"]), str(item["n"]), item["note"]
        table.add_row(Text(mark, style=colour), *cells)
    return table


def tally(rows: Sequence[dict[str, Any]]) -> str:
    """How many of each outcome."""
    counts = {word: sum(row["outcome"] == word for row in rows) for word in STYLES}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The README's table: our numbers, the paper's in brackets; what is not supported is bold."""
    lines = ["| | claim | where | ours (paper) |", "|---|---|---|---|"]
    for row in rows:
        cells = [_beside(e) for e in row["evidence"] if e["paper"] is not None]
        mark, where = STYLES[row["outcome"]][0], row["where"]
        numbers = ", ".join(dict.fromkeys(cells)) or "–"
        lines.append(f"| {mark} {row['outcome']} | `{row['claim']}` | {where} | {numbers} |")
    return "\n".join([*lines, "", f"{len(rows)} claims: {tally(rows)}."])


def _beside(item: dict[str, Any]) -> str:
    what = re.sub(r"^.*: (final|peak|initial)? ?|( is | exceeds ).*$", "", item["text"])
    if " exceeds " in item["text"]:
        what = f"more {what}"
    text = f"{what} {number(item['ours'])} ({number(item['paper'])})"
    return text if item["outcome"] == "supported" else f"**{text}**"
