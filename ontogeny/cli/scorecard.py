"""Commands that evaluate one's own architecture, and those it is compared with."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .app import (
    MODELS,
    BatterySeeds,
    On,
    StorePath,
    Workers,
    app,
    check_where,
    executor,
    output_file,
    output_folder,
    store_at,
)
from .exits import saving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..core.external import AnyExperiment
    from ..core.run import Run
    from ..engine.progress import Counted
    from ..engine.store import Store
    from ..scorecard.evaluate import Execute

Battery = Annotated[str, Parameter(help="quick (minutes) or full (ten times as many steps)")]
LearningRate = Annotated[float, Parameter(help="Of AdamW, for all benchmarks")]


@app.command(
    group=MODELS,
    help_epilogue="Example: `ontogeny examine examples/torch_transformer.py:Model --seeds 1`",
)
def examine(
    model: Annotated[str, Parameter(help="FILE.py:Model, or package.module:Model")],
    /,
    *,
    battery: Battery = "quick",
    seeds: BatterySeeds = 3,
    learning_rate: LearningRate = 1e-3,
    references: Annotated[
        str,
        Parameter(
            help="Architectures of the same size to compare with: auto (results that come with "
            "the package), train (train them here: six times as long) or none"
        ),
    ] = "auto",
    name: Annotated[str, Parameter(help="Its name on the scorecard", show_default=False)] = "",
    out: Annotated[
        Path, Parameter(help="The folder for the scorecard and what the module prints")
    ] = Path("scorecard"),
    minutes: Annotated[
        float | None, Parameter(help="Stop after so many minutes [no limit]")
    ] = None,
    memory: Annotated[
        float | None, Parameter(help="Gigabytes it may use [three quarters of this machine's]")
    ] = None,
    workers: Workers = None,
    on: On = None,
    store: StorePath = None,
) -> None:
    """Train your own architecture on a battery of reasoning benchmarks: a scorecard.

    Write a class that takes `vocab` and `length` and maps tokens to logits at every position: a
    PyTorch, equinox or flax module. Templates are in the repository's `examples`.
    """
    from ..scorecard.isolation.process import Process

    # before anything is started
    output_folder(out, "--out")
    with Process(out / "output.txt") as process:  # while it imports what it needs, so do we
        from ..engine.files import write_whole
        from ..engine.machine import cores
        from ..engine.progress import progress
        from ..report import figures
        from ..report.terminal import console
        from ..scorecard.examine import Isolation
        from ..scorecard.examine import examine as examined
        from ..scorecard.scorecard import failed, table
        from ..scorecard.scorecard import figure as figure_of

        check_where(workers, on)
        opened = store_at(store)
        count = cores() if workers is None else workers
        shown = progress(opened)
        try:
            isolation = Isolation(process, opened.root, count, on, minutes, memory, shown)
            card = examined(
                model,
                battery,
                seeds=seeds,
                learning_rate=learning_rate,
                references=references,
                name=name,
                execute=_executor(opened, workers, on, shown),
                isolation=isolation,
            )
        finally:
            shown.close()
    screen = console()
    screen.print(table(card, screen.width))
    if references == "auto" and not card["references"]:
        print("no references of this size and training: --references train makes them here")
    figure, text = figure_of(card), json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    with saving() as save:
        save("the scorecard", write_whole, out / "scorecard.json", text)
        for kind in ("png", "pdf"):
            save(f"its figure ({kind})", figures.save, figure, out / f"scorecard.{kind}")
    printed = ", output.txt" if process.printed else ""
    print(f"{out}/scorecard.json, scorecard.png, scorecard.pdf{printed}")
    # the card is complete and saved; the exit code still says that not all went well
    if broken := failed(card):
        how_many = f"{len(broken)} of {len(card['examined']['skills'])} skills"
        first = ", ".join(next(iter(broken.items())))
        sys.stderr.write(f"ontogeny: {model} failed in {how_many}; {first}\n")
        sys.exit(1)


def _executor(opened: "Store", workers: int | None, on: str | None, shown: "Counted") -> "Execute":
    """Runs reference architectures, when they are to be trained here."""

    def execute(experiments: "Mapping[str, AnyExperiment]", seeds: int) -> "Mapping[str, Run]":
        with executor(opened, workers, on, shown) as run:
            runs: Mapping[str, Run] = run(experiments, seeds)
            return runs

    return execute


@app.command(group=MODELS, help_epilogue="Example: `ontogeny references 1_000_000`")
def references(
    parameters: Annotated[
        int, Parameter(help="Each gets the width that comes closest to so many parameters")
    ] = 300_000,
    /,
    *,
    battery: Battery = "quick",
    seeds: BatterySeeds = 3,
    learning_rate: LearningRate = 1e-3,
    out: Annotated[Path, Parameter(help="The file for their results")] = Path("references.json"),
    workers: Workers = None,
    on: On = None,
    store: StorePath = None,
) -> None:
    """Train the reference architectures that scorecards compare with, at a given size."""
    from ..engine.files import write_whole
    from ..scorecard.examine import train_references

    output_file(out, "--out")
    with executor(store_at(store), workers, on) as execute:
        results = train_references(parameters, battery, seeds, learning_rate, execute)
    write_whole(out, json.dumps(results, ensure_ascii=False) + "\n")
    print(out)
