"""Commands about runs: what the store holds, and what other tools can open."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .app import (
    MACHINE,
    RESULTS,
    AsJson,
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

if TYPE_CHECKING:
    from ..engine.units import News


@app.command(group=MACHINE)
def runs(
    *,
    prune: Annotated[
        bool, Parameter(help="Delete checkpoints, damaged runs, and runs that no claim needs")
    ] = False,
    json_: AsJson = False,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """List the runs in the store, under the claims that ask for them."""
    from ..claims.status import asked, swept, wanted
    from ..engine.store import entries
    from ..report.terminal import in_bytes, run_row, show_runs

    add_claims(claims)
    opened = store_at(store)
    if prune:
        freed = opened.prune(wanted(opened))
        print(f"freed {in_bytes(freed)}; {in_bytes(opened.size('runs'))} left in {opened.root}")
        return
    claimed = {} if opened.empty() else swept(opened) | asked()
    rows = [run_row(opened, name, described, claimed) for name, described in entries(opened)]
    if json_:
        print(json.dumps(rows, indent=1))
        return
    show_runs(rows)
    sizes = {kind: opened.size(kind) for kind in ("runs", "partial", "damaged")}
    text = ", ".join(f"{kind} {in_bytes(size)}" for kind, size in sizes.items())
    print(f"{len(rows)} runs in {opened.root}: {text}")


@app.command(
    group=RESULTS,
    help_epilogue="Example: `ontogeny export feature_resemblance --format parquet`",
)
def export(
    *patterns: Patterns,
    out: Annotated[Path, Parameter(help="The folder to write to")] = Path("results"),
    format_: Annotated[
        str, Parameter(name="--format", help="csv, or parquet (extra [export])")
    ] = "csv",
    arrays: Annotated[
        bool, Parameter(help="Include the entries of vectors and matrices (many rows)")
    ] = False,
    scale: OneScale = None,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Write tidy tables: the evidence of every verdict, and what every probe measured."""
    from ..claims.find import find
    from ..claims.scale import JUDGED
    from ..claims.status import Standing, standing
    from ..core.fields import ConfigError, did_you_mean
    from ..report import export as tables

    if format_ not in ("csv", "parquet"):
        raise ConfigError(
            f"unknown format {format_!r}: {did_you_mean(format_, ['csv', 'parquet'])}"
        )
    scales, opened = [scale_of(scale)] if scale else list(JUDGED), store_at(store)
    out = output_folder(out, "--out")
    add_claims(claims)
    wanted = find(list(patterns) or ["all"])

    def known() -> Iterator[Standing]:
        for chosen, size in product(wanted, scales):
            if found := standing(chosen, opened, size):
                yield found

    evidence: list[tables.Row] = []

    def measured() -> Iterator[tables.Row]:
        for found in known():
            evidence.extend(tables.evidence(found))  # on the way: runs are read once
            own = {"claim": found.claim.name, "scale": str(found.scale)}
            for row in tables.answers(found.runs, most=2 if arrays else 0):
                yield own | row

    # in this order: writing the answers is what collects the evidence
    for name, rows in (("answers", measured()), ("evidence", evidence)):
        path = out / f"{name}.{format_}"
        print(f"{path}: {tables.write(rows, path):,} rows")


@app.command(
    group=RESULTS,
    help_epilogue="Example: `ontogeny weights attention_stays_balanced --scale smoke`",
)
def weights(
    claim: ClaimName,
    /,
    *,
    experiment: Annotated[
        str, Parameter(help="Which of its experiments [the first]", show_default=False)
    ] = "",
    seed: Annotated[int, Parameter(help="Which seed")] = 0,
    format_: Annotated[
        str, Parameter(name="--format", help="safetensors, or gpt2 (for Hugging Face)")
    ] = "safetensors",
    out: Annotated[Path, Parameter(help="The folder for model.safetensors and config.json")] = Path(
        "weights"
    ),
    scale: ScaleName = "laptop",
    claims: MoreClaims = None,
) -> None:
    """Train one of a claim's models again and save its parameters for other tools."""
    from ..claims.find import find_one
    from ..core.fields import ConfigError, did_you_mean
    from ..core.types import Experiment
    from ..engine.weights import check, trained, write

    for written in ("model.safetensors", "config.json"):
        output_file(out / written, "--out")
    if not 0 <= seed < 2**31:  # an int32 in jax
        raise ConfigError(f"--seed must be from 0 to {2**31 - 1}, not {seed}")
    add_claims(claims)
    known = find_one(claim).named(scale_of(scale))
    name = experiment or next(iter(known), "")
    if name not in known:
        raise ConfigError(f"no experiment {name!r} in this claim: {did_you_mean(name, known)}")
    chosen = known[name]
    if not isinstance(chosen, Experiment):
        raise ConfigError(f"{name} is external: it has no model of the laboratory")
    check(chosen, format_)

    # a store keeps answers, not parameters: these are trained once more
    params = trained(chosen, seed, _told(name))
    for path in write(chosen, params, seed, out, format_):
        print(path)


def _told(name: str) -> Callable[["News"], None]:
    """Says how far a run is: in one line of a terminal, else in a line every few seconds."""
    live, spoke = sys.stderr.isatty(), time.monotonic()

    def tell(news: "News") -> None:
        nonlocal spoke
        text, ends = f"{name}: step {news.step:,} of {news.steps:,}", news.step == news.steps
        if live:
            sys.stderr.write(f"\r{text} " + "\n" * ends)
        elif ends or time.monotonic() - spoke > SECONDS:
            sys.stderr.write(f"{text}\n")
            spoke = time.monotonic()
        sys.stderr.flush()

    return tell


SECONDS = 5.0  # between lines
