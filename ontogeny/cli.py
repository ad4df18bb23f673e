"""The command line. Everything heavy is imported inside a command, so that help answers at once."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from rich.console import Console

    from .claim import Claim, Scale, Verdict
    from .store import Store

app = App(
    name="ontogeny",
    help="A laboratory of how reasoning emerges in transformers while they train.",
    help_epilogue="Start with `ontogeny judge` (a minute or two), then `ontogeny report`.",
    version_flags=["--version"],
    result_action="return_value",
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
) -> int:
    """List the claims, with what is known of each in this store.

    Parameters
    ----------
    patterns
        Names, parts of names or papers; all if none.
    json_
        Print JSON instead of a table.
    """
    from rich.table import Table

    from .claim import find
    from .report.tables import badge

    claims = find(list(patterns) or ["all"])
    rows = [_status(claim, _store(store)) for claim in claims]
    if json_:
        _print(json.dumps(rows, indent=1, ensure_ascii=False))
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("status", "claim", "paper", "where", "scale"):
        table.add_column(column, overflow="fold")
    for row in rows:
        known = row["outcome"]
        status = badge(known) if known else "· not judged"
        if row["stale"]:
            status = f"· {known}, before a change"
        table.add_row(status, row["claim"], row["paper"], row["where"], row["scale"] or "")
    _console().print(table)
    return 0


@app.command
def judge(
    *patterns: str,
    scale: Size = "laptop",
    seeds: Seeds = None,
    workers: Crew = None,
    json_: JsonFile = None,
    store: Where = None,
) -> int:
    """Run what claims need and say what came of it. What the store has is not run again.

    Parameters
    ----------
    patterns
        Names, parts of names, papers, or `all`; without any, the headline claim of each paper.
    """
    from .claim import find, write_json
    from .claim import judge as judge_claims
    from .store import write_whole

    place, size = _store(store), _scale(scale)
    claims = find(list(patterns))
    with _executor(place, workers) as execute:
        verdicts = judge_claims(claims, execute, size, _positive(seeds, "--seeds"))
    for verdict in verdicts:
        _remember(place, verdict)
    rows = [verdict.as_json() for verdict in verdicts]
    if json_:
        write_whole(json_, write_json(verdicts))
    _show_verdicts(rows)
    return 0


@app.command
def show(claim: str, *, scale: Size = "laptop", store: Where = None) -> int:
    """Show a claim: its sentence, its place, its experiments in full, and its last verdict.

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    """
    from .claim import Verdict
    from .report.page import outline
    from .report.tables import badge, evidence
    from .spell import spell

    chosen, size, console = _one(claim), _scale(scale), _console()
    console.print(f"[bold]{chosen.name}[/]")
    console.print(chosen.says)
    console.print(f"{chosen.paper.title} ({chosen.paper.url}), {chosen.where}\n", style="dim")
    if chosen.untested:
        console.print(f"Not tested here: {chosen.untested}")
        return 0
    for name, experiment in chosen.named(size).items():
        console.print(f"[bold]{name}[/]: {outline(spell(experiment))}", highlight=False)
    console.print()
    status = _status(chosen, _store(store), size)
    last = _store(store).verdict(f"{chosen.name}.{size}")
    if last:
        console.print(badge(last["outcome"]))
        if status["stale"]:
            console.print("(before a change of the experiments or their code)", style="yellow")
        for text in last["trouble"]:
            console.print(text, style="yellow", markup=False)
        console.print(evidence(last))
    else:
        console.print("Not judged yet in this store.", style="yellow")
    for text in chosen.departures_at(size):
        console.print(f"departure: {text}", markup=False)
    command = last["command"] if last else Verdict(chosen, size, [], chosen.seeds, 0.0).command
    console.print(f"\n{command}", style="bold", soft_wrap=True)
    return 0


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
) -> int:
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
    from .report import figures
    from .store import write_whole

    chosen, place, size = _one(claim), _store(store), _scale(scale)
    changes = [what_if.parse_change(text) for text in set_ or []]
    sweeps = dict(what_if.parse_sweep(text) for text in sweep or [])
    with _executor(place, workers) as execute:
        variation = what_if.vary(
            chosen, execute, changes, sweeps, size, _positive(seeds, "--seeds")
        )
    _show_variation(variation)
    if json_:
        write_whole(json_, json.dumps(what_if.as_json(variation), indent=1) + "\n")
    picture = out or place.root / "figures" / f"vary-{chosen.name}.png"
    figures.save(figures.sweep(variation), picture)
    _print(f"picture: {picture}")
    return 0


@app.command
def report(
    *patterns: str, scale: Size = "laptop", out: Path = Path("report"), store: Where = None
) -> int:
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
    from .report import page

    place, size = _store(store), _scale(scale)
    claims = find(list(patterns) or ["all"])
    verdicts, unjudged = [], []
    for chosen in claims:
        verdict = _recall(chosen, place, size)
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
    _print(f"{path}: {len(verdicts)} claims judged, {len(unjudged)} not yet")
    return 0


@app.command
def runs(
    *,
    prune: bool = False,
    json_: Annotated[bool, Parameter(name="--json")] = False,
    store: Where = None,
) -> int:
    """List what the store holds.

    Parameters
    ----------
    prune
        Remove checkpoints, damaged and half-written folders, and runs that no claim asks for.
    json_
        Print JSON instead of a table.
    """
    from rich.table import Table

    from .store import entries

    place = _store(store)
    if prune:
        freed = place.prune(_wanted())
        _print(f"freed {_bytes(freed)}; {_bytes(place.size('runs'))} kept in {place.root}")
        return 0
    rows = [_run_row(place, name, described) for name, described in entries(place)]
    if json_:
        _print(json.dumps(rows, indent=1))
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "task", "model", "stages", "seconds", "size", "written"):
        table.add_column(column, overflow="fold")
    for row in rows:
        size = _bytes(row["bytes"])
        seconds = f"{row['seconds']:.1f}"
        cells = row["task"], row["model"], row["stages"], seconds, size, row["written"]
        table.add_row(row["run"], *cells)
    if rows:
        _console().print(table)
    whole = {kind: place.size(kind) for kind in ("runs", "partial", "damaged")}
    sizes = ", ".join(f"{kind} {_bytes(size)}" for kind, size in whole.items())
    _print(f"{len(rows)} runs in {place.root}: {sizes}")
    return 0


@app.command
def bench(*, json_: JsonFile = None, quick: bool = False) -> int:
    """Measure this machine and how near to its peak the models train, in one run.

    Parameters
    ----------
    quick
        Shorter measurements, less exact.
    """
    from .bench import measure, table
    from .store import write_whole

    def tell(text: str) -> None:
        sys.stderr.write(f"measuring {text}\n")

    found = measure(quick, tell)
    _console().print(table(found))
    if json_:
        write_whole(json_, json.dumps(found, indent=1) + "\n")
    return 0


@app.command(show=False)
def readme(verdicts: Path, text: Path) -> int:
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
    return 0


# ------------------------------------------------------------------------------------------ parts


class _executor:  # noqa: N801
    """Runs experiments with progress on the screen; a stop says how to go on."""

    def __init__(self, store: "Store", workers: int | None) -> None:
        from .fields import Invalid
        from .progress import progress
        from .workers import cores

        if workers is not None and workers < 0:
            raise Invalid(f"--workers must be at least 0, not {workers}")
        self.store, self.workers = store, cores() if workers is None else workers
        self.progress = progress()

    def __enter__(self) -> Any:
        from .engine import execute

        def run(experiments: Any, seeds: int) -> Any:
            return execute(
                experiments,
                seeds,
                workers=self.workers,
                store=self.store,
                progress=self.progress,
            )

        return run

    def __exit__(self, *_: object) -> None:
        self.progress.close()


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


def _positive(value: int | None, what: str) -> int | None:
    from .fields import Invalid

    if value is not None and value < 1:
        raise Invalid(f"{what} must be at least 1, not {value}")
    return value


def _one(pattern: str) -> "Claim":
    from .claim import find
    from .fields import Invalid

    found = find([pattern])
    exact = [claim for claim in found if claim.name == pattern]
    if len(exact or found) > 1:
        names = ", ".join(claim.name for claim in found)
        raise Invalid(f"{pattern!r} could be any of {names}")
    return (exact or found)[0]


def _status(claim: "Claim", store: "Store", scale: "Scale | None" = None) -> dict[str, Any]:
    from .claim import Scale

    outcome, known_scale, stale = "", "", False
    if claim.untested:
        outcome = "untested"
    for size in [scale] if scale else [Scale.PAPER, Scale.LAPTOP]:
        last = store.verdict(f"{claim.name}.{size}")
        if last and not outcome:
            outcome, known_scale = last["outcome"], str(size)
            stale = last.get("digest") != claim.digest(size)
    return {
        "claim": claim.name,
        "says": claim.says,
        "paper": claim.paper.key,
        "where": claim.where,
        "headline": claim.headline,
        "outcome": outcome,
        "scale": known_scale,
        "stale": stale,
        "untested": claim.untested,
    }


def _remember(store: "Store", verdict: "Verdict") -> None:
    if verdict.evidence:
        known = verdict.as_json() | {"digest": verdict.claim.digest(verdict.scale)}
        store.save_verdict(f"{verdict.claim.name}.{verdict.scale}", known)


def _recall(claim: "Claim", store: "Store", scale: "Scale") -> "Verdict | None":
    """A verdict weighed again from the store's runs, without running anything."""
    from .claim import Verdict, weigh
    from .engine import recall

    if claim.untested:
        return Verdict(claim, scale, [], 0, 0.0)
    last = store.verdict(f"{claim.name}.{scale}")
    if last is None:
        return None
    found = recall(claim.named(scale), last["seeds"], store)
    return None if found is None else weigh(claim, scale, found, last["seeds"])


def _wanted() -> set[str]:
    from .claim import Scale, find
    from .perform import Lane

    return {
        Lane("", experiment, seed).name
        for claim in find(["all"])
        for scale in Scale
        for experiment in claim.named(scale).values()
        for seed in range(100)
    }


def _run_row(store: "Store", name: str, described: dict[str, Any]) -> dict[str, Any]:
    experiment = described["experiment"]["experiment"]
    return {
        "run": name,
        "task": _kind(experiment["task"]),
        "model": _kind(experiment["model"]),
        "stages": " → ".join(map(_kind, experiment["regime"])),
        "seconds": described["environment"]["seconds"],
        "written": described["environment"]["written"],
        "trouble": described["environment"]["trouble"],
        "bytes": store.size(f"runs/{name}"),
    }


def _kind(spelled: dict[str, Any]) -> str:
    return str(spelled["is"]).rpartition(".")[2]


def _show_verdicts(rows: list[dict[str, Any]]) -> None:
    from .report.tables import badge, evidence, tally, verdicts

    console = _console()
    for row in rows:
        console.print(badge(row["outcome"]), f"[bold]{row['claim']}[/]", f"[dim]{row['where']}[/]")
        console.print(f"  {row['says']}", highlight=False, markup=False)
        if row["untested"]:
            console.print(f"  not tested here: {row['untested']}", markup=False)
        for text in row["trouble"]:
            console.print(f"  {text}", style="yellow", markup=False)
        if row["evidence"]:
            console.print(evidence(row))
        console.print()
    if len(rows) > 1:
        console.print(verdicts(rows))
    console.print(f"{len(rows)} claims: {tally(rows)}")


def _show_variation(variation: Any) -> None:
    from rich.table import Table

    from .report.tables import badge, ours

    console = _console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for path in variation.sweeps or ["changed"]:
        table.add_column(path)
    table.add_column("verdict", no_wrap=True)
    first = next(iter(variation.verdicts.values()))
    for item in first.evidence:
        table.add_column(item.text, overflow="fold")
    for point, verdict in variation.verdicts.items():
        row = verdict.as_json()
        cells = point or (" ".join(verdict.changes) or "nothing",)
        table.add_row(*cells, badge(row["outcome"]), *(ours(e) for e in row["evidence"]))
    console.print(table)
    for verdict in variation.verdicts.values():
        for text in verdict.trouble:
            console.print(f"{', '.join(verdict.changes)}: {text}", style="yellow", markup=False)
    flips = variation.flips()
    for text in flips:
        console.print(f"flips: {text}")
    if variation.sweeps and not flips:
        console.print("the verdict does not flip in this range")


def _console() -> "Console":
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=160)


def _print(text: str) -> None:
    print(text)


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def main() -> None:
    """Runs a command: exit 0 done, 1 failed, 2 asked for what cannot be, 130 interrupted."""
    try:
        sys.exit(app() or 0)
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
