"""What the command line shows."""

import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from ..claims.claim import Claim
from ..claims.scale import Scale
from ..claims.sweep import Sweep
from ..claims.verdict import Verdict
from ..core import words
from ..core.words import in_bytes
from ..engine.serialize import serialize
from ..engine.store import Store
from .outline import outline
from .tables import badge, evidence, tally, verdicts


def console() -> Console:
    """The terminal; or, for a file or a pipe, wide lines."""
    # without a terminal rich takes 80 columns, and folds names
    return Console() if sys.stdout.isatty() else Console(width=160)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show_verdicts(rows: Sequence[dict[str, Any]]) -> None:
    """Every verdict with its evidence, then one line each."""
    screen = console()
    for row in rows:
        screen.print(badge(row["outcome"]), f"[bold]{row['claim']}[/]", f"[dim]{row['where']}[/]")
        if numbers := words.agreement(row["numbers"]):
            screen.print(f"  numbers: {numbers} with the paper's", highlight=False)
        # no markup: [brackets] in a text are its own
        screen.print(f"  {row['says']}", highlight=False, markup=False)
        if row["untested"]:
            screen.print(f"  not tested here: {row['untested']}", markup=False)
        for text in row["failures"]:
            screen.print(f"  {text}", style="yellow", markup=False)
        if row["evidence"]:
            screen.print(evidence(row))
        if row["exact"]:
            screen.print(f"  exact: {row['exact']}", style="dim", markup=False)
        if row["would_decide"]:
            screen.print(f"  to decide it: {row['would_decide']}", style="yellow", markup=False)
        screen.print()
    if len(rows) > 1:
        screen.print(verdicts(rows))
        screen.print(f"{len(rows)} claims: {tally(rows)}")


def show_sweep(sweep: Sweep) -> None:
    """A line per point of the grid, and where the verdict flips."""
    screen = console()
    table = _table(*(sweep.sweeps or ["changed"]))
    table.add_column("verdict", no_wrap=True)
    first = next(iter(sweep.verdicts.values()))
    for item in first.evidence:
        table.add_column(item.text, overflow="fold")
    for point, verdict in sweep.verdicts.items():
        row = verdict.as_json()
        cells = point or (" ".join(verdict.changes) or "nothing",)
        table.add_row(*cells, badge(row["outcome"]), *map(words.value, verdict.evidence))
    screen.print(table)
    for verdict in sweep.verdicts.values():
        for text in verdict.failures:
            screen.print(f"{', '.join(verdict.changes)}: {text}", style="yellow", markup=False)
    flips = sweep.flips()
    for text in flips:
        screen.print(f"flips: {text}")
    if sweep.sweeps and not flips:
        screen.print("the verdict does not flip in this range")


def show_list(rows: Sequence[dict[str, Any]]) -> None:
    """Every claim with its standing."""
    table = _table("status", "claim", "paper", "where", "scale")
    for row in rows:
        known = row["outcome"]
        status = badge(known) if known else "· not judged"
        if row["stale"]:
            status = f"· {known}, before a change"
        table.add_row(status, row["claim"], row["paper"], row["where"], row["scale"] or "")
    console().print(table)


def show_claim(claim: Claim, scale: Scale, last: dict[str, Any] | None, stale: bool) -> None:
    """A claim in full: its sentence, its experiments, its last verdict."""
    screen = console()
    screen.print(f"[bold]{claim.name}[/]")
    screen.print(claim.says)
    screen.print(f"{claim.paper.title} ({claim.paper.url}), {claim.where}\n", style="dim")
    if claim.untested:
        screen.print(f"Not tested here: {claim.untested}")
        return
    for name, experiment in claim.named(scale).items():
        screen.print(f"[bold]{name}[/]: {outline(serialize(experiment))}", highlight=False)
    screen.print()
    if last:
        screen.print(badge(last["outcome"]))
        if stale:
            screen.print("(before a change of the experiments or their code)", style="yellow")
        for text in last["failures"]:
            screen.print(text, style="yellow", markup=False)
        screen.print(evidence(last))
    else:
        screen.print("Not judged yet in this store.", style="yellow")
    for text in claim.departures_at(scale):
        screen.print(f"departure: {text}", markup=False)
    command = last["command"] if last else Verdict(claim, scale, [], 0, 0.0).command
    screen.print(f"\n{command}", style="bold", soft_wrap=True)


def show_runs(rows: Sequence[dict[str, Any]]) -> None:
    """What a store holds, a line per run."""
    table = _table("run", "task", "model", "stages", "seconds", "size", "written")
    for row in rows:
        seconds, size = f"{row['seconds']:.1f}", in_bytes(row["bytes"])
        cells = row["task"], row["model"], row["stages"], seconds, size, row["written"]
        table.add_row(row["run"], *cells)
    if rows:
        console().print(table)


def run_row(store: Store, name: str, described: dict[str, Any]) -> dict[str, Any]:
    """A run in few words."""
    experiment = described["experiment"]["experiment"]
    return {
        "run": name,
        "task": _kind(experiment["task"]) if "task" in experiment else "",
        "model": _kind(experiment.get("model", experiment)),  # an external one is what it is
        "stages": " → ".join(map(_kind, experiment.get("training", ()))),
        "seconds": described["environment"]["seconds"],
        "written": described["environment"]["written"],
        "failure": described["environment"]["failure"],
        "bytes": store.size(f"runs/{name}"),
    }


def _kind(serialized: dict[str, Any]) -> str:
    return str(serialized["is"]).rpartition(".")[2]
