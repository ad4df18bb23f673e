"""The report: one page that opens from a file, with nothing fetched from anywhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from ..claim import Claim, Verdict
from ..spell import spell
from ..store import write_whole
from . import figures, tables


def page(verdicts: Sequence[Verdict], unjudged: Sequence[Claim], notes: Mapping[str, Any]) -> str:
    """The page's text: a table of verdicts and a section per claim."""
    environment = Environment(
        loader=PackageLoader("ontogeny", "report"),
        autoescape=select_autoescape(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = tables.number
    environment.filters["ours"] = tables.ours
    rows = [_section(verdict) for verdict in verdicts]
    return environment.get_template("page.html").render(
        rows=rows,
        unjudged=unjudged,
        marks={word: mark for word, (mark, _) in tables.STYLES.items()},
        tally=tables.tally([row["verdict"] for row in rows]),
        notes=notes,
    )


def write(text: str, folder: Path) -> Path:
    """Writes the page whole and says where it is."""
    path = folder / "index.html"
    write_whole(path, text)
    return path


def _section(verdict: Verdict) -> dict[str, Any]:
    pictures = []
    if verdict.runs:
        pictures.append(figures.svg(figures.curves(verdict.runs)))
        layers = figures.by_layer(verdict.runs)
        if layers:
            pictures.append(figures.svg(layers))
    experiments = {
        name: outline(spell(experiment))
        for name, experiment in verdict.claim.named(verdict.scale).items()
    }
    return {
        "verdict": verdict.as_json(),
        "title": verdict.claim.paper.title,
        "url": verdict.claim.paper.url,
        "pictures": pictures,
        "experiments": experiments,
    }


def outline(spelled: Any, indent: int = 0) -> str:
    """A spelled-out component as indented lines."""
    space = "  " * indent
    if isinstance(spelled, dict):
        head = [f"{spelled['is'].rpartition('.')[2]}"] if "is" in spelled else []
        lines = []
        for name, value in spelled.items():
            if name == "is":
                continue
            if isinstance(value, dict) or (isinstance(value, list) and value):
                below = outline(value, indent + 1)
                first, _, rest = below.partition("\n")
                named = isinstance(value, dict) and "is" in value
                lines.append(f"{space}  {name}: {first}" if named else f"{space}  {name}:\n{below}")
                if named and rest:
                    lines.append(rest)
            else:
                lines.append(f"{space}  {name}: {value}")
        return "\n".join([*head, *lines])
    if isinstance(spelled, list):
        lines = []
        for place, value in enumerate(spelled):
            lines.append(f"{space}{place}: {outline(value, indent + 1)}")
        return "\n".join(lines)
    return str(spelled)
