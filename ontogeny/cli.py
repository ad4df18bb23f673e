"""The command line. Everything heavy is imported inside a command, so that help answers at once."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from .claim import Scale
    from .store import Store

app = App(
    name="ontogeny",
    help="A laboratory of how reasoning emerges in transformers while they train.",
    help_epilogue="Start with `ontogeny judge` (a minute or two), then `ontogeny report`.",
    version_flags=["--version"],
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

Where = Annotated[
    Path | None,
    Parameter(name="--store", help="Folder of runs [ONTOGENY_STORE, else .ontogeny here]"),
]
Size = Annotated[str, Parameter(name="--scale", help="laptop (minutes) or paper (its own size)")]
Seeds = Annotated[int | None, Parameter(name="--seeds", help="Seeds per experiment")]
Crew = Annotated[
    int | None, Parameter(name="--workers", help="Processes; 0 runs in this one [one per core]")
]
JsonFile = Annotated[Path | None, Parameter(name="--json", help="Also write the result here")]


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
    rows = [status(claim, _store(store)) for claim in claims]
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
    json_: JsonFile = None,
    store: Where = None,
) -> None:
    """Run what claims need and say what came of it. What the store has is not run again.

    Parameters
    ----------
    patterns
        Names, parts of names, papers, or `all`; without any, the headline claim of each paper.
    """
    from .claim import find, write_json
    from .claim import judge as judge_claims
    from .ledger import remember
    from .report.screen import show_verdicts
    from .store import write_whole

    place, size = _store(store), _scale(scale)
    claims = find(list(patterns))
    with _executor(place, workers) as execute:
        verdicts = judge_claims(claims, execute, size, seeds)
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

    chosen, place, size = find_one(claim), _store(store), _scale(scale)
    last = place.verdict(f"{chosen.name}.{size}")
    show_claim(chosen, size, last, status(chosen, place, size)["stale"])


@app.command
def vary(
    claim: str,
    *,
    set_: Annotated[list[str] | None, Parameter(name="--set", help="PATH=VALUE")] = None,
    sweep: Annotated[list[str] | None, Parameter(name="--sweep", help="PATH=a,b,c")] = None,
    scale: Size = "laptop",
    seeds: Seeds = None,
    workers: Crew = None,
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
    from .store import write_whole

    chosen, place, size = find_one(claim), _store(store), _scale(scale)
    changes = [what_if.parse_change(text) for text in set_ or []]
    sweeps = dict(what_if.parse_sweep(text) for text in sweep or [])
    with _executor(place, workers) as execute:
        variation = what_if.vary(chosen, execute, changes, sweeps, size, seeds)
    show_variation(variation)
    if json_:
        write_whole(json_, json.dumps(what_if.as_json(variation), indent=1) + "\n")
    picture = out or place.root / "figures" / f"vary-{chosen.name}.png"
    figures.save(figures.sweep(variation), picture)
    print(f"picture: {picture}")


@app.command
def report(
    *patterns: str, scale: Size = "laptop", out: Path = Path("report"), store: Where = None
) -> None:
    """Write a page with the verdicts and curves of all that has been judged in this store.

    Parameters
    ----------
    patterns
        Names, parts of names or papers; all if none.
    out
        The folder to write to.
    """
    import time
    from importlib.metadata import version

    from .claim import find
    from .ledger import verdict_of
    from .report import page

    place, size = _store(store), _scale(scale)
    claims = find(list(patterns) or ["all"])
    verdicts, unjudged = [], []
    for chosen in claims:
        verdict = verdict_of(chosen, place, size)
        if verdict is None:
            unjudged.append(chosen)
        else:
            verdicts.append(verdict)
    notes = {
        "version": version("ontogeny"),
        "date": time.strftime("%Y-%m-%d"),
        "store": place.root.name,
    }
    path = page.write(page.page(verdicts, unjudged, notes), out)
    print(f"{path}: {len(verdicts)} claims judged, {len(unjudged)} not yet")


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

    place = _store(store)
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
def bench(*, json_: JsonFile = None, quick: bool = False) -> None:
    """Measure this machine and how near to its peak the models train, in one run.

    Parameters
    ----------
    quick
        Shorter measurements, less exact.
    """
    from .bench import measure, table
    from .report.screen import console
    from .store import write_whole

    def tell(text: str) -> None:
        sys.stderr.write(f"measuring {text}\n")

    found = measure(quick, tell)
    console().print(table(found))
    if json_:
        write_whole(json_, json.dumps(found, indent=1) + "\n")


@app.command(show=False)
def readme(verdicts: Path, text: Path) -> None:
    """Put the table of a verdicts file between the marks of a text.

    Parameters
    ----------
    verdicts
        What `judge --json` wrote.
    text
        The file to change.
    """
    from .report.tables import markdown
    from .store import write_whole

    head, begin, rest = text.read_text().partition("<!-- verdicts -->\n")
    _, end, tail = rest.partition("<!-- end of verdicts -->")
    table = markdown(json.loads(verdicts.read_text()))
    write_whole(text, f"{head}{begin}{table}\n{end}{tail}")


# ------------------------------------------------------------------------------------------ parts


@contextmanager
def _executor(store: "Store", workers: int | None) -> Iterator[Any]:
    """Runs experiments with progress on the screen, which is left as it was."""
    from .engine import execute
    from .fields import Invalid
    from .progress import progress
    from .workers import cores

    if workers is not None and workers < 0:
        raise Invalid(f"--workers must be at least 0, not {workers}")
    crew, shown = cores() if workers is None else workers, progress()
    try:
        yield partial(execute, workers=crew, store=store, progress=shown)
    finally:
        shown.close()


def _store(path: Path | None) -> "Store":
    from .fields import Invalid
    from .store import Store

    root = path or Path(os.environ.get("ONTOGENY_STORE") or ".ontogeny")
    if root.exists() and not root.is_dir():
        raise Invalid(f"--store {root} is a file, not a folder")
    return Store(root)


def _scale(word: str) -> "Scale":
    from .claim import Scale
    from .fields import Invalid, did_you_mean

    if word not in list(Scale):
        raise Invalid(f"no scale {word!r}: {did_you_mean(word, list(map(str, Scale)))}")
    return Scale(word)


def main() -> None:
    """Runs a command: exit 0 done, 1 failed, 2 asked for what cannot be, 130 interrupted."""
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


if __name__ == "__main__":
    main()
