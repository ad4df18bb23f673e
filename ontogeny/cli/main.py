"""The command line. Everything heavy is imported inside a command, so that help answers at once."""

import atexit
import gc
import json
import os
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Annotated, TextIO, cast

from cyclopts import CycloptsError, Parameter

from . import guests, interrupts, publish  # noqa: F401  (their commands are commands too)
from .app import (
    Changes,
    Crew,
    JsonFile,
    On,
    Seeds,
    Size,
    Where,
    app,
    executor,
    file,
    picture,
    scale_of,
    store_at,
)
from .endings import Incomplete, Patient, keeping, printable, told


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
    from ..claims.claim import find
    from ..claims.status import status
    from ..report.screen import show_list

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
    place, json_ = store_at(store), file(json_)
    with executor(place, workers, on) as execute:
        from ..claims.claim import (  # only now: what workers are forked from imports, too
            find,
            write_json,
        )
        from ..claims.claim import judge as judge_claims

        size = scale_of(scale)
        verdicts = judge_claims(find(list(patterns)), execute, size, seeds)
    from ..claims.status import remember
    from ..engine.files import write_whole
    from ..report.screen import show_verdicts

    show_verdicts([verdict.as_json() for verdict in verdicts])
    with keeping() as keep:
        for verdict in verdicts:
            keep(f"the verdict on {verdict.claim.name}", remember, place, verdict)
        if json_:
            keep(f"--json {json_}", write_whole, json_, write_json(verdicts))
    if broken := [verdict.claim.name for verdict in verdicts if verdict.failed]:
        raise Incomplete(f"evidence that could not be weighed, of {', '.join(broken)}")


@app.command
def show(claim: str, *, scale: Size = "laptop", store: Where = None) -> None:
    """Show a claim: its sentence, its place, its experiments in full, and its last verdict.

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    """
    from ..claims.claim import find_one
    from ..claims.status import status
    from ..report.screen import show_claim

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

    Paths are those that `show` prints: `task.ratio`, `model.width`, `training.0.learning_rate`;
    with the name of one of the claim's experiments in front, only that one changes. Two sweeps make
    a phase diagram.

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    out
        Where the picture goes (.png, .pdf or .svg).
    """
    from ..claims import sweep as what_if
    from ..claims.claim import find_one
    from ..engine.files import write_whole
    from ..engine.serialize import digest
    from ..report import figures
    from ..report.screen import show_variation

    chosen, place, size = find_one(claim), store_at(store), scale_of(scale)
    json_, out = file(json_), picture(out)
    changes = [what_if.parse_change(text) for text in set_ or []]
    sweeps = what_if.parse_sweeps(sweep or [])
    with executor(place, workers, on) as execute:
        variation = what_if.sweep(chosen, execute, changes, sweeps, size, seeds)
    show_variation(variation)
    drawn = out or place.root / "figures" / f"vary-{chosen.name}.png"
    figure = figures.sweep(variation)
    with keeping() as keep:
        if sweeps:
            kept = what_if.as_record(variation, changes, size)
            asked = {part: kept[part] for part in ("claim", "scale", "seeds", "changes", "sweeps")}
            keep("what was found", place.save_variation, digest(asked), kept)
        if json_:
            found = json.dumps(what_if.as_json(variation), indent=1) + "\n"
            keep(f"--json {json_}", write_whole, json_, found)
        if keep(f"the picture {drawn}", figures.save, figure, drawn):
            print(f"picture: {drawn}")
    figures.close(figure)


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
    from ..claims.status import wanted
    from ..engine.store import entries
    from ..report.screen import in_bytes, run_row, show_runs

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
    from ..bench import report, rivals
    from ..bench.speed import measure
    from ..engine.files import write_whole
    from ..report.screen import console

    def tell(text: str) -> None:
        sys.stderr.write(f"measuring {text}\n")

    def keep() -> None:
        if json_:
            write_whole(json_, json.dumps(found, indent=1) + "\n")

    file(json_)

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


def run(words: list[str] | None = None) -> int:
    """Runs a command and says how it ended: 0 done, 1 failed or not all kept, 2 asked for what
    cannot be. What a person could mend is said in one line; so is a fault of ours."""
    output = Patient(sys.stdout)
    problem, code = "", 0
    with redirect_stdout(cast(TextIO, output)):
        try:
            app(words, exit_on_error=False)
        except CycloptsError:  # it has said what is wrong; its own exit code changes with versions
            code = 2
        except SystemExit as end:  # all has been said
            code = end.code if isinstance(end.code, int) else 2
        except Exception as error:
            problem, code = told(error)
        output.flush()
    if output.lost and not problem:
        problem, code = f"the output could not be written: {output.lost}", 1
    with suppress(OSError):
        sys.stderr.write(printable(f"ontogeny: {problem}\n") if problem else "")
        sys.stderr.flush()
    return code


def main() -> None:
    """Runs a command and ends the process; 130 is the exit code of one that was interrupted."""
    gc.set_threshold(50_000)  # imports make many objects that stay: collecting costs a tenth
    try:
        code = run()
    except KeyboardInterrupt:
        interrupts.leave()
    atexit._run_exitfuncs()
    os._exit(code)  # to take this process apart would take half a second


if __name__ == "__main__":
    interrupts.watch()
    main()
