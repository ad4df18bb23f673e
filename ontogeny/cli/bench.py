"""The command that measures speed."""

import json
import sys
from typing import Annotated

from cyclopts import Parameter

from .app import MACHINE, JsonFile, app, output_file


@app.command(group=MACHINE)
def bench(
    *,
    json_: JsonFile = None,
    quick: Annotated[bool, Parameter(help="Shorter, less exact measurements")] = False,
    verdicts: Annotated[
        bool,
        Parameter(
            help="Also time whole claims, and PyTorch programs of the same training (half an "
            "hour; needs a checkout of the repository and the extra [bench])"
        ),
    ] = False,
) -> None:
    """Measure this machine, and how close to its peak the models train."""
    from ..bench import report, rivals
    from ..bench.speed import measure
    from ..engine.files import write_whole
    from ..report.terminal import console

    def tell(text: str) -> None:
        sys.stderr.write(f"measuring {text}\n")

    def save() -> None:
        if json_:
            write_whole(json_, json.dumps(found, indent=1) + "\n")

    # before half an hour of measuring, and saved after each part of it
    output_file(json_)

    found = measure(quick, tell)
    console().print(report.speeds(found))
    save()
    if not verdicts:
        return
    found["verdicts"] = rivals.verdicts(tell)
    console().print(report.verdicts(found["verdicts"]))
    save()
    if lacking := rivals.absent():
        print(f"no comparison with PyTorch: {lacking}")
        return
    found["races"] = {}
    for family, claim in rivals.CLAIMS.items():
        found["races"][family] = rivals.race(claim, tell)
        save()
    console().print(report.races(found["races"]))
