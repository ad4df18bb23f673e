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
