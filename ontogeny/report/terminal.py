"""What the command line shows."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..claims.status import OUTCOMES, standing_of
from ..core import words
from ..core.words import in_bytes
from ..engine.store import Store
from .tables import STYLES, badge, evidence, read, tally, too_few, verdicts


def console() -> Console:
    """The terminal; or, for a file or a pipe, wide lines."""
    # without a terminal rich takes 80 columns, and folds names
    asked = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return Console() if asked else Console(width=160)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show_verdicts(rows: Sequence[dict[str, Any]]) -> None:
    """Every verdict with its evidence, then one line each."""
    screen = console()
    for row in rows:
        _show_verdict(screen, row)
    if len(rows) > 1:
        for line in verdicts(rows):
            screen.print(line, soft_wrap=True)
        screen.print(f"{len(rows)} claims: {tally(rows)}")


def _show_verdict(screen: Console, row: dict[str, Any]) -> None:
    screen.print(badge(row["outcome"]), f"[bold]{row['claim']}[/]", f"[dim]{row['where']}[/]")
    _show_where(screen, row)
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
    if few := too_few(row["seeds"], read(row)):
        screen.print(f"  {few}", style="yellow")
    if row["exact"]:
        screen.print(f"  exact: {row['exact']}", style="dim", markup=False)
    if row["would_decide"]:
        screen.print(f"  to decide it: {row['would_decide']}", style="yellow", markup=False)
    screen.print()


def _show_where(screen: Console, row: dict[str, Any]) -> None:
    """Where the finding was looked at: all over what the paper leaves open, or at one setting."""
    if found := words.where(row):
        screen.print(f"  finding {row['outcome']}{found}", highlight=False)
    for line in (row.get("map") or {}).get("says", ()):
        screen.print(f"  map: {line}", highlight=False, markup=False)
    if asked := words.ask_for_a_map(row):
        screen.print(f"  {asked}", style="yellow", markup=False, highlight=False)


def show_list(rows: Sequence[dict[str, Any]]) -> None:
    """Every claim with its standing, paper by paper, and how many there are of each."""
    screen = console()
    for paper in dict.fromkeys(row["paper"] for row in rows):
        screen.print(f"[bold]{paper}[/]", highlight=False)
        own = [row for row in rows if row["paper"] == paper]
        widest = max(len(row["claim"]) for row in own) + NAMES
        for row in own:
            mark, word, colour = _standing(row)
            line = Text(f"{mark} {word:<12} ", style=colour).append(row["claim"], "default")
            where = f"{row['where']} ({row['scale']})" if row["scale"] else row["where"]
            if widest + len(where) <= screen.width:  # or there is no room for it
                line.pad_right(widest - line.cell_len)
                line.append(where, "dim")
            screen.print(line, soft_wrap=True)
    if not rows:
        screen.print("no claim is so")
        return
    counts = Counter(standing_of(row) for row in rows)
    told = ", ".join(f"{counts[word]} {word}" for word in OUTCOMES if counts[word])
    screen.print(f"{words.counted(len(rows), 'claim')}: {told}", highlight=False)
    if not {"stale", "unjudged"}.isdisjoint(counts):
        screen.print("ontogeny judge CLAIM judges one", style="dim")


NAMES = 17  # characters before the names and after them


def _standing(row: dict[str, Any]) -> tuple[str, str, str]:
    """A claim's standing as a mark, a word and a colour."""
    word = standing_of(row)
    return ("~", word, "yellow") if word == "stale" else (STYLES[word][0], word, STYLES[word][1])


def show_runs(rows: Sequence[dict[str, Any]]) -> None:
    """What a store holds: an experiment and its seeds in a line, under a claim that asks for it."""
    screen = console()
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["claim"], row["what"], row["experiment"]), []).append(row)
    for claim in sorted({claim for claim, *_ in groups}):
        screen.print(Text(claim or "of no claim (a sweep's, or your own)", style="bold"))
        for (asked, what, _), own in groups.items():
            if asked == claim:
                screen.print(Text(f"  {what}  ").append(_in_short(own), "dim"), soft_wrap=True)


def _in_short(rows: Sequence[dict[str, Any]]) -> str:
    """Runs of one experiment: their seeds, time and size."""
    seeds = sorted(row["seed"] for row in rows)
    whole = len(seeds) > 1 and seeds == list(range(seeds[0], seeds[-1] + 1))
    told = f"{seeds[0]}–{seeds[-1]}" if whole else ", ".join(map(str, seeds))
    seconds, size = (sum(row[name] for row in rows) for name in ("seconds", "bytes"))
    day = max(row["written"] for row in rows)[:10]
    failed = sum(bool(row["failure"]) for row in rows)
    failures = f", {failed} failed" if failed else ""
    kind = f"seed{'s' * (len(seeds) > 1)} {told}"
    return f"{kind}, {words.duration(seconds)}, {in_bytes(size)}, {day}{failures}"


def run_row(
    store: Store, name: str, described: dict[str, Any], asked: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """A run in few words; `asked` are the claims, and what they call it, by an experiment's
    digest."""
    experiment = described["experiment"]["experiment"]
    digest, _, seed = name.rpartition("-")
    task = _kind(experiment["task"]) if "task" in experiment else ""
    model = _kind(experiment.get("model", experiment))  # an external one is what it is
    stages = " → ".join(map(_kind, experiment.get("training", ())))
    claims = asked.get(digest, ())
    claim, _, label = claims[0].partition(": ") if claims else ("", "", "")
    others = f" (and of {len(claims) - 1} more)" if claims[1:] else ""
    plain = ", ".join(filter(None, [task, model, stages]))
    return {
        "run": name,
        "claims": list(claims),
        "claim": claim,
        "what": f"{label}{others}" if claim else plain,
        "experiment": digest,
        "seed": int(seed),
        "task": task,
        "model": model,
        "stages": stages,
        "seconds": described["environment"]["seconds"],
        "written": described["environment"]["written"],
        "failure": described["environment"]["failure"],
        "bytes": store.size(f"runs/{name}"),
    }


def _kind(serialized: dict[str, Any]) -> str:
    return str(serialized["is"]).rpartition(".")[2]
