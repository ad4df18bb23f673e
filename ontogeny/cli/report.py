"""Commands that show results: the page, the explorer, and figures for a paper."""

import json
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .app import (
    RESULTS,
    ClaimName,
    MoreClaims,
    OneScale,
    Patterns,
    ScaleName,
    StorePath,
    add_claims,
    app,
    output_file,
    output_folder,
    scale_of,
    store_at,
)


@app.command(group=RESULTS)
def report(
    *patterns: Patterns,
    scale: OneScale = None,
    out: Annotated[Path, Parameter(help="The folder to write to")] = Path("report"),
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Write a web page with the verdicts and figures of everything judged so far."""
    from ..report.page import report_page, write

    add_claims(claims)
    scales, out = [scale_of(scale)] if scale else None, output_folder(out, "--out")
    text, judged, unjudged = report_page(store_at(store), list(patterns), scales)
    path = write(text, out)
    print(f"{path}: {judged} verdicts, {unjudged} claims not judged yet")


@app.command(group=RESULTS)
def explore(
    *,
    port: Annotated[
        int, Parameter(help="The port, on this machine only; 0 takes any that is free")
    ] = 8642,
    open_: Annotated[
        bool, Parameter(name="--open", negative="--no-open", help="Open it in a browser")
    ] = True,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Serve the page interactively: follow running experiments, compare curves, start sweeps."""
    from ..core.fields import ConfigError
    from ..report.explorer import Server

    add_claims(claims)
    try:
        server = Server(store_at(store), port)
    # OverflowError: a port above 65,535
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--port {port}: {error}; --port 0 takes any that is free") from error
    # flushed: whoever reads this through a pipe needs the link now
    print(f"{server.address}\nPress Ctrl-C to stop.", flush=True)
    if open_:
        webbrowser.open(server.address)
    with server:
        server.serve_forever()


@app.command(
    group=RESULTS, help_epilogue="Example: `ontogeny figures attention_stays_balanced --width 6`"
)
def figures(
    claim: ClaimName,
    /,
    *,
    out: Annotated[Path, Parameter(help="The folder to write to")] = Path("figures"),
    # figures.WIDTH, written out: to import it would import matplotlib for every --help
    width: Annotated[float, Parameter(help="Of a figure, in inches")] = 3.35,
    scale: ScaleName = "laptop",
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Write a judged claim's figures for a paper: PDF, SVG and PNG, data, LaTeX table, BibTeX."""
    from ..claims.find import find_one
    from ..claims.outside import option
    from ..claims.status import standing
    from ..core.fields import ConfigError
    from ..report.paper_figures import write_figures

    add_claims(claims)
    chosen, out = find_one(claim), output_folder(out, "--out")
    if not 1 <= width <= 30:
        raise ConfigError(f"--width must be from 1 to 30 inches, not {width:g}")
    found = standing(chosen, store_at(store), scale_of(scale))
    if found is None:
        judge = f"ontogeny judge {chosen.name}{option(chosen.name)}"
        raise ConfigError(f"{chosen.name} is not judged in this store: {judge}")
    if not found.runs:
        raise ConfigError(
            f"{chosen.name}: {found.note or chosen.untested} {found.verdict['command']}"
        )
    for path in write_figures(found, out, width):
        print(path)


@app.command(show=False)
def train_page() -> None:
    """Train the models that the page carries, and put them into the package."""
    from ..report.playground import train

    print(train(), "written")


@app.command(show=False)
def write_verdicts(
    verdicts: Annotated[Path, Parameter(help="What `judge --json` wrote, of all claims")],
    /,
    *newer: Annotated[Path, Parameter(help="The same, of claims that were judged again")],
    page: Annotated[Path, Parameter(help="The page to write")] = Path("docs/verdicts.md"),
    readme: Annotated[Path, Parameter(help="Where the tally stands")] = Path("README.md"),
) -> None:
    """Write the page of all verdicts, and their tally between the marks of the README.

    Verdicts of newer files replace those of the first, which is written again; so a judgement of
    hours can be done paper by paper.
    """
    from ..claims.status import judgement
    from ..core.fields import ConfigError
    from ..engine.files import read_bytes, read_json, write_whole
    from ..report.tables import verdicts_page, with_tally

    page = output_file(page, "--page")
    try:
        files = [read_json(output_file(each, "the verdicts")) for each in (verdicts, *newer)]
        known = judgement(row for rows in files for row in rows)
        text = with_tally(read_bytes(output_file(readme, "--readme")).decode(), known)
    except ValueError as error:
        raise ConfigError(f"{verdicts} or {readme}: {error}") from error
    write_whole(verdicts, json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    write_whole(page, verdicts_page(known))
    write_whole(readme, text)
