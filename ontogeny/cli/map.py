"""The command that asks where a claim is true."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .app import (
    CLAIMS,
    ClaimName,
    JsonFile,
    MoreClaims,
    On,
    ScaleName,
    StorePath,
    Workers,
    add_claims,
    app,
    executor,
    figure_file,
    output_file,
    scale_of,
    store_at,
)
from .exits import saving

Cells = Annotated[int, Parameter(name="--cells", help="Points of the region that are judged")]
CellSeeds = Annotated[int, Parameter(name="--seeds", help="Most seeds for a cell")]
Over = Annotated[
    list[str] | None,
    Parameter(
        name="--over",
        help="A region of your own: PATH=LOW..HIGH, PATH=LOW..HIGH:log, PATH=x0.5..x2 or "
        "PATH=a,b,c; may be repeated [what the paper leaves open]",
    ),
]
Hours = Annotated[float | None, Parameter(help="End after so long [no limit]")]


@app.command(
    group=CLAIMS,
    help_epilogue="Example: `ontogeny map alignment_precedes --cells 128 --out map.pdf`",
)
def map(
    claim: ClaimName,
    /,
    *,
    cells: Cells = 64,
    over: Over = None,
    scale: ScaleName = "laptop",
    seeds: CellSeeds = 3,
    workers: Workers = None,
    on: On = None,
    hours: Hours = None,
    json_: JsonFile = None,
    csv: Annotated[Path | None, Parameter(help="Also write a row per cell to this file")] = None,
    out: Annotated[Path | None, Parameter(help="The figure: .png, .pdf or .svg")] = None,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Judge a claim all over the settings that its paper leaves open: where is it true?

    Cells fill the region evenly; each is judged by the claim's own evidence. What has been run is
    not run again: a larger number of --cells, or the same command after an interrupt, goes on.
    """
    from ..claims.find import find_one
    from ..claims.region import parse_setting
    from ..claims.status import remember_map
    from ..claims.survey import region_of, survey
    from ..engine.execute import recall
    from ..engine.files import write_whole
    from ..report import export, figures
    from ..report.map_figures import map_figure
    from ..report.show_map import show_map
    from ..report.terminal import console

    add_claims(claims)
    chosen, opened, size = find_one(claim), store_at(store), scale_of(scale)
    json_, out = output_file(json_), figure_file(out)
    csv = output_file(csv, "--csv")
    region = region_of(chosen, [parse_setting(text) for text in over or ()])
    with executor(opened, workers, on, hours=hours) as execute:
        found = survey(
            chosen, execute, region, size, cells, seeds, lambda e, n: recall(e, n, opened)
        )
    show_map(console(), found)
    path = out or opened.root / "figures" / f"map-{chosen.name}.png"
    with saving() as save:
        if not over:
            save("the map", remember_map, opened, found)
        if json_:
            save(
                f"--json {json_}", write_whole, json_, json.dumps(found.as_json(), indent=1) + "\n"
            )
        if csv:
            save(f"--csv {csv}", export.write, found.rows(), csv)
        if save(f"the figure {path}", figures.save, map_figure(found), path):
            print(f"figure: {path}")
