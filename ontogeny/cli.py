"""The command line. Everything heavy is imported inside a command, so that help answers at once."""

import atexit
import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from . import guests, publish  # noqa: F401  (their commands are commands too)
from .options import (
    Changes,
    Crew,
    JsonFile,
    On,
    Seeds,
    Size,
    Where,
    app,
    executor,
    scale_of,
    store_at,
)


@app.command(name="list")
def list_(
    *patterns: str, json_: Annotated[bool, Parameter(name="--json")] = False, store: Where = None
) -> None:
    """List the claims, with what is known of each in this store.

    Parameters
    ----------
    patterns
        Names, parts of names or papers; all if none.
    json_
        Print JSON instead of a table.
    """
    from .claim import find
    from .ledger import status
    from .report.screen import show_list

    claims = find(list(patterns) or ["all"])
    rows = [status(claim, store_at(store)) for claim in claims]
    if json_:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    show_list(rows)


@app.command
def judge(
    *patterns: str,
    scale: Size = "laptop",
    seeds: Seeds = None,
    workers: Crew = None,
    on: On = None,
    json_: JsonFile = None,
    store: Where = None,
) -> None:
    """Run what claims need and say what came of it. What the store has is not run again.

    Parameters
    ----------
    patterns
        Names, parts of names, papers, or `all`; without any, the headline claim of each paper.
    """
    place = store_at(store)
    with executor(place, workers, on) as execute:
        from .claim import find, write_json  # only now: what workers are forked from imports, too
        from .claim import judge as judge_claims

        size = scale_of(scale)
        verdicts = judge_claims(find(list(patterns)), execute, size, seeds)
    from .ledger import remember
    from .report.screen import show_verdicts
    from .store import write_whole

    for verdict in verdicts:
        remember(place, verdict)
    rows = [verdict.as_json() for verdict in verdicts]
    if json_:
        write_whole(json_, write_json(verdicts))
    show_verdicts(rows)


@app.command
def show(claim: str, *, scale: Size = "laptop", store: Where = None) -> None:
    """Show a claim: its sentence, its place, its experiments in full, and its last verdict.

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    """
    from .claim import find_one
    from .ledger import status
    from .report.screen import show_claim

    chosen, place, size = find_one(claim), store_at(store), scale_of(scale)
    last = place.verdict(f"{chosen.name}.{size}")
    show_claim(chosen, size, last, status(chosen, place, size)["stale"])


@app.command
def vary(
    claim: str,
    *,
    set_: Changes = None,
    sweep: Annotated[list[str] | None, Parameter(name="--sweep", help="PATH=a,b,c")] = None,
    scale: Size = "laptop",
    seeds: Seeds = None,
    workers: Crew = None,
    on: On = None,
    out: Path | None = None,
    json_: JsonFile = None,
    store: Where = None,
) -> None:
    """Judge a claim with something changed, and see where its verdict flips.

    Paths are those that `show` prints: `task.ratio`, `model.width`, `regime.0.rate`; with the name
    of one of the claim's experiments in front, only that one changes. Two sweeps make a phase
    diagram.

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    out
        Where the picture goes (.png, .pdf or .svg).
    """
    from . import vary as what_if
    from .claim import find_one
    from .report import figures
    from .report.screen import show_variation
    from .spell import digest
    from .store import write_whole

    chosen, place, size = find_one(claim), store_at(store), scale_of(scale)
    changes = [what_if.parse_change(text) for text in set_ or []]
    sweeps = dict(what_if.parse_sweep(text) for text in sweep or [])
    with executor(place, workers, on) as execute:
        variation = what_if.vary(chosen, execute, changes, sweeps, size, seeds)
    show_variation(variation)
    if sweeps:
        kept = what_if.as_record(variation, changes, size)
        asked = {part: kept[part] for part in ("claim", "scale", "seeds", "changes", "sweeps")}
        place.save_variation(digest(asked), kept)
    if json_:
        write_whole(json_, json.dumps(what_if.as_json(variation), indent=1) + "\n")
    picture = out or place.root / "figures" / f"vary-{chosen.name}.png"
    figure = figures.sweep(variation)
    figures.save(figure, picture)
    figures.close(figure)
    print(f"picture: {picture}")


@app.command
def runs(
    *,
    prune: bool = False,
    json_: Annotated[bool, Parameter(name="--json")] = False,
    store: Where = None,
) -> None:
    """List what the store holds.

    Parameters
    ----------
    prune
        Remove checkpoints, damaged and half-written folders, and runs that no claim asks for.
    json_
        Print JSON instead of a table.
    """
    from .ledger import wanted
    from .report.screen import in_bytes, run_row, show_runs
    from .store import entries

    place = store_at(store)
    if prune:
        freed = place.prune(wanted())
        print(f"freed {in_bytes(freed)}; {in_bytes(place.size('runs'))} kept in {place.root}")
        return
    rows = [run_row(place, name, described) for name, described in entries(place)]
    if json_:
        print(json.dumps(rows, indent=1))
        return
    show_runs(rows)
    whole = {kind: place.size(kind) for kind in ("runs", "partial", "damaged")}
    sizes = ", ".join(f"{kind} {in_bytes(size)}" for kind, size in whole.items())
    print(f"{len(rows)} runs in {place.root}: {sizes}")


@app.command
def bench(*, json_: JsonFile = None, quick: bool = False, verdicts: bool = False) -> None:
    """Measure this machine and how near to its peak the models train, in one run.

    Parameters
    ----------
    quick
        Shorter measurements, less exact.
    verdicts
        Also time claims from nothing to a verdict, and PyTorch programs on the same training
        (half an hour; the programs are in the repository, their extra is `bench`).
    """
    from .bench import report, rivals
    from .bench.speed import measure
    from .report.screen import console
    from .store import write_whole

    def tell(text: str) -> None:
        sys.stderr.write(f"measuring {text}\n")

    def keep() -> None:
        if json_:
            write_whole(json_, json.dumps(found, indent=1) + "\n")

    found = measure(quick, tell)
    console().print(report.speeds(found))
    keep()
    if not verdicts:
        return
    found["verdicts"] = rivals.verdicts(tell)
    console().print(report.verdicts(found["verdicts"]))
    keep()
    if lacking := rivals.absent():
        print(f"no comparison with PyTorch: {lacking}")
        return
    found["races"] = {}
    for family, claim in rivals.CLAIMS.items():
        found["races"][family] = rivals.race(claim, tell)
        keep()
    console().print(report.races(found["races"]))


def main() -> None:
    """Runs a command: exit 0 done, 1 failed, 2 asked for what cannot be, 130 interrupted.

    To be terminated is to be interrupted: what was done is kept.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gc.set_threshold(50_000)  # imports make many objects that stay: collecting costs a tenth
    try:
        app()
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; what was done is kept, and the same command goes on from it\n")
        sys.exit(130)
    except ValueError as error:
        from .fields import Invalid

        if not isinstance(error, Invalid):
            raise
        sys.stderr.write(f"ontogeny: {error}\n")
        sys.exit(2)
    _leave()


def _leave() -> None:
    """Ends this process when all is done: to take it apart would take half a second."""
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody listens: Python has words for it
        return
    os._exit(0)


if __name__ == "__main__":
    main()
