"""Commands that show what is known: pages, figures, tables, data.

Everything heavy is imported inside a command, so that help answers at once.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .app import OneSize, Size, Where, app, file, folder, scale_of, store_at


@app.command
def report(
    *patterns: str, scale: OneSize = None, out: Path = Path("report"), store: Where = None
) -> None:
    """Write a page with the verdicts and pictures of all that has been judged in this store.

    Parameters
    ----------
    patterns
        Names, parts of names or papers; all if none.
    out
        The folder to write to.
    """
    from ..report.page import write
    from ..report.whole import whole

    scales, out = [scale_of(scale)] if scale else None, folder(out, "--out")
    text, judged, unjudged = whole(store_at(store), list(patterns), scales)
    path = write(text, out)
    print(f"{path}: {judged} verdicts, {unjudged} claims not judged yet")


@app.command
def figures(
    claim: str,
    *,
    out: Path = Path("figures"),
    width: float = 3.35,
    scale: Size = "laptop",
    store: Where = None,
) -> None:
    """Write a claim's figures for a paper (PDF, SVG, PNG) with their data, a table and references.

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    out
        The folder to write to.
    width
        Of a figure, in inches: one column of two, unless told.
    """
    from ..claims.claim import find_one
    from ..claims.status import standing
    from ..core.fields import ConfigError
    from ..report.published import publish

    chosen, out = find_one(claim), folder(out, "--out")
    if not 1 <= width <= 30:
        raise ConfigError(f"--width must be from 1 to 30 inches, not {width:g}")
    found = standing(chosen, store_at(store), scale_of(scale))
    if found is None:
        raise ConfigError(
            f"{chosen.name} is not judged in this store: ontogeny judge {chosen.name}"
        )
    if not found.runs:
        raise ConfigError(
            f"{chosen.name}: {found.note or chosen.untested} {found.verdict['command']}"
        )
    for path in publish(found, out, width):
        print(path)


@app.command
def export(
    *patterns: str,
    out: Path = Path("results"),
    format_: Annotated[str, Parameter(name="--format", help="csv or parquet")] = "csv",
    arrays: bool = False,
    scale: OneSize = None,
    store: Where = None,
) -> None:
    """Write what is known as tidy tables: all evidence, and every number that a probe answered.

    Parameters
    ----------
    patterns
        Names, parts of names or papers; all if none.
    out
        The folder to write to.
    arrays
        Also the entries of vectors and matrices: many rows.
    """
    from ..claims.claim import JUDGED, find
    from ..claims.status import Standing, standing
    from ..core.fields import ConfigError, did_you_mean
    from ..report import tidy

    if format_ not in ("csv", "parquet"):
        raise ConfigError(f"no format {format_!r}: {did_you_mean(format_, ['csv', 'parquet'])}")
    scales, place = [scale_of(scale)] if scale else list(JUDGED), store_at(store)
    out = folder(out, "--out")
    claims = find(list(patterns) or ["all"])

    def known() -> Iterator[Standing]:
        for chosen, size in product(claims, scales):
            if found := standing(chosen, place, size):
                yield found

    evidence: list[tidy.Row] = []

    def numbers() -> Iterator[tidy.Row]:
        for found in known():
            evidence.extend(tidy.evidence(found))  # on the way: runs are read once
            own = {"claim": found.claim.name, "scale": str(found.scale)}
            for row in tidy.answers(found.runs, most=2 if arrays else 0):
                yield own | row

    for name, rows in (("answers", numbers()), ("evidence", evidence)):
        path = out / f"{name}.{format_}"
        print(f"{path}: {tidy.write(rows, path):,} rows")


@app.command
def explore(
    *,
    port: int = 8642,
    open_: Annotated[bool, Parameter(name="--open")] = True,
    store: Where = None,
) -> None:
    """Serve the page on this machine, with what runs now: follow a judgement, compare, ask what if.

    Parameters
    ----------
    port
        Where to listen, on this machine only; 0 takes any that is free.
    open_
        Open it in a browser.
    """
    import webbrowser

    from ..core.fields import ConfigError
    from ..report.explorer import Server

    try:
        server = Server(store_at(store), port)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--port {port}: {error}; --port 0 takes any that is free") from error
    print(f"{server.address}\nCtrl-C ends it.", flush=True)
    if open_:
        webbrowser.open(server.address)
    with server:
        server.serve_forever()


@app.command(show=False)
def train_page() -> None:
    """Train the models that the page carries, and put them into the package."""
    from ..report.play import train

    print(train(), "written")


@app.command(show=False)
def write_verdicts(
    verdicts: Path, *, page: Path = Path("docs/verdicts.md"), readme: Path = Path("README.md")
) -> None:
    """Write the page of all verdicts, and their tally between the marks of the README.

    Parameters
    ----------
    verdicts
        What `judge --json` wrote.
    page
        The page to write.
    readme
        The text whose tally is to change.
    """
    from ..core.fields import ConfigError
    from ..engine.files import read_bytes, read_json, write_whole
    from ..report.tables import verdicts_page, with_tally

    page = file(page, "--page")
    try:
        known = read_json(file(verdicts, "the verdicts"))
        text = with_tally(read_bytes(file(readme, "--readme")).decode(), known)
    except ValueError as error:
        raise ConfigError(f"{verdicts} or {readme}: {error}") from error
    write_whole(page, verdicts_page(known))
    write_whole(readme, text)
