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
        if points := figures.against(verdict.evidence):
            pictures.append(figures.svg(points))
        pictures.append(figures.svg(figures.curves(verdict.runs)))
        drawn = [draw(verdict.runs) for draw in (figures.by_layer, figures.matrices, figures.polar)]
        pictures += [figures.svg(figure) for figure in drawn if figure]
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


def outline(spelled: dict[str, Any], depth: int = 1) -> str:
    """A spelled-out component as indented lines, by the paths that `vary` takes."""
    lines = [spelled["is"].rpartition(".")[2]]
    for name, value in spelled.items():
        parts = _parts(name, value)
        if parts:
            lines += [f"{'  ' * depth}{n}: {outline(part, depth + 1)}" for n, part in parts.items()]
        elif name != "is":
            plain = "+".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"{'  ' * depth}{name}: {plain}")
    return "\n".join(lines)


def _parts(name: str, value: Any) -> dict[str, Any]:
    """The components in a field: one, or several with a number or a name each."""
    if isinstance(value, list):
        value = {str(place): part for place, part in enumerate(value)}
    if not isinstance(value, dict):
        return {}
    if "is" in value:
        return {name: value}
    named = {f"{name}.{key}": part for key, part in value.items()}
    return named if all(isinstance(part, dict) for part in named.values()) else {}
