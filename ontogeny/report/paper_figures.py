"""What a paper needs of a claim: figures with their data, a LaTeX table, BibTeX references."""

from collections.abc import Iterator
from pathlib import Path

from ..claims.status import Standing
from ..engine.files import write_whole
from . import export, figures, latex
from .tables import read

KINDS = (".pdf", ".svg", ".png")


def write_figures(standing: Standing, folder: Path, width: float = figures.WIDTH) -> Iterator[Path]:
    """Writes every figure of a claim with its data beside it, a table and the references."""
    runs = standing.runs
    scalars = list(export.answers(runs, most=0))
    ends = list(export.answers(runs, last=True))
    # a standing has its verdict as JSON, whatever it was weighed from
    points = [item for item in read(standing.verdict) if item.x is not None]
    rows = [row for row in export.evidence(standing) if row["x"] is not None]
    drawn = {
        "against": (figures.against(points, width), rows),
        "curves": (figures.curves(runs, width) if scalars else None, scalars),
        "by-index": (figures.by_layer(runs, width), [r for r in ends if r["index"] is not None]),
        "matrices": (figures.matrices(runs, width), [r for r in ends if r["column"] is not None]),
        "angles": (figures.polar(runs, width), [r for r in ends if "angles" in r["probe"]]),
    }
    for name, (figure, data) in drawn.items():
        if figure is None:
            continue
        for kind in KINDS:
            path = folder / f"{name}{kind}"
            figures.save(figure, path)
            yield path
        export.write(data, folder / f"{name}.csv")
        yield folder / f"{name}.csv"
    for name, text in (
        ("table.tex", latex.table(standing)),
        ("references.bib", latex.references([standing.claim])),
    ):
        write_whole(folder / name, text)
        yield folder / name
