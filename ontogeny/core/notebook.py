"""How records show themselves in a notebook: small tables of escaped text."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
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


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """A pandas data frame of some rows."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        from .fields import ConfigError

        how = "pip install pandas, or ontogeny[export]"
        raise ConfigError(f"to_frame needs pandas: {how}") from error
    known = [*rows]
    names = dict.fromkeys(name for row in known for name in row)
    return pandas.DataFrame({name: [row.get(name) for row in known] for name in names})
