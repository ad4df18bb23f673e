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
    "noted": ("·", "bright_black"),
    "unjudged": ("·", "bright_black"),
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
    """The README's tables, one per paper: our numbers, the paper's in brackets, in bold what is not
    supported. A claim without a number of the paper's shows its first ones."""
    lines = []
    for paper in dict.fromkeys(row["paper"] for row in rows):
        own = [row for row in rows if row["paper"] == paper]
        lines += [f"### {paper}: {tally(own)}", "", "| | claim | where | ours (paper) |"]
        lines += ["|---|---|---|---|", *map(_line, own), ""]
    return "\n".join([*lines, f"{len(rows)} claims: {tally(rows)}."])


def _line(row: dict[str, Any]) -> str:
    evidence = row["evidence"]
    evidence = [e for e in evidence if e["outcome"] != "noted"]
    telling = [e for e in evidence if e["paper"] is not None or e["outcome"] != "supported"]
    cells = dict.fromkeys(map(_beside, telling or evidence[:3]))
    mark, numbers = STYLES[row["outcome"]][0], ", ".join(cells) or "–"
    return f"| {mark} {row['outcome']} | `{row['claim']}` | {row['where']} | {numbers} |"


def _beside(item: dict[str, Any]) -> str:
    """`success of joint 0.99 (1)`; of a comparison, `success of joint over late 0.5`."""
    parts = re.split(r" (?:is|exceeds|agrees with) ", item["text"], maxsplit=1)
    name, _, what = re.sub(r"\b(final|mean size of) ", "", parts[0]).rpartition(": ")
    other = parts[1].partition(": ")[0] if " exceeds " in item["text"] else ""
    whose = f"{name} over {other}" if other and other != name else name
    text = f"{what} of {whose}" if whose else what
    text += f" = {number(item['ours'])}"
    if item["paper"] is not None:
        text += f" ({number(item['paper'])})"
    return text if item["outcome"] == "supported" else f"**{text}**"
