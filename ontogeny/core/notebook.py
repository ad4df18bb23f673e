"""How records show themselves in a notebook: small tables of escaped text."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], notes: Iterable[str] = ()
) -> str:
    """An HTML table with a caption, and remarks below it."""
    head = "".join(f'<th style="text-align: left">{escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align: left; vertical-align: top; white-space: pre-wrap">'
            f"{escape(_text(cell))}</td>"
            for cell in row
        )
        + "</tr>"
        for row in rows
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f'<table><caption style="text-align: left"><b>{escape(title)}</b></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )


def _text(cell: Any) -> str:
    """A value, its parts on lines of their own."""
    match cell:
        case dict():
            return "\n".join(f"{name}: {each}" for name, each in cell.items())
        case tuple():
            return "\n".join(map(str, cell))
        case float():
            return f"{cell:.6g}"
    return str(cell)


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
