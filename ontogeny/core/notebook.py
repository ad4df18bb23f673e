"""How records show themselves in a notebook: small tables of escaped text."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = ()
) -> str:
    """An HTML table with a caption, and remarks below it."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: left; white-space: pre-wrap">{escape(str(cell))}</td>'
            for cell in row
        )
        + "</tr>"
        for row in rows
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f"<table><caption>{escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )


def verdict_table(verdict: Any) -> str:
    """A verdict: the claim's sentence, what came of it, and each piece of evidence."""
    rows = [
        (e.outcome, e.text, e.numbers, "" if e.paper is None else f"{e.paper:g}", e.note)
        for e in verdict.evidence
    ]
    claim = verdict.claim
    title = f"{verdict.outcome}: {claim.says} ({claim.paper.key}, {claim.where})"
    header = ("outcome", "evidence", "ours [95 % interval]", "paper", "note")
    return table(title, header, rows, (*verdict.failures, verdict.command))
