"""Commands about runs: what the store holds, and what other tools can open."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Annotated

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


@app.command(group=MACHINE)
def runs(
    *,
    prune: Annotated[
        bool,
        Parameter(
            help="Delete checkpoints, damaged runs, and runs and parameters that no claim needs"
        ),
    ] = False,
    json_: AsJson = False,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """List the runs in the store, under the claims that ask for them."""
    from ..claims.status import asked, swept, wanted
    from ..core.words import in_bytes
    from ..report.terminal import run_row, show_runs

    add_claims(claims)
    opened = store_at(store)
    if prune:
        freed, left = opened.prune(wanted(opened)), opened.size("runs", "parameters")
        print(f"freed {in_bytes(freed)}; {in_bytes(left)} left in {opened.root}")
        return
    claimed = {} if opened.empty() else swept(opened) | asked()
    rows = [
        run_row(opened, name, described, claimed)
        for name in opened.names()
        if (described := opened.describe(name))
    ]
    if json_:
        print(json.dumps(rows, indent=1))
        return
    show_runs(rows)
    sizes = {kind: opened.size(kind) for kind in ("runs", "parameters", "partial", "damaged")}
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
    store: StorePath = None,
) -> None:
    """Save the parameters of one of a claim's models, trained if they are not in the store."""
    from ..claims.find import find_one
    from ..core.fields import ConfigError, did_you_mean
    from ..core.types import Experiment
    from ..engine.keeping import train
    from ..engine.progress import progress
    from ..engine.weights import check

    for written in ("model.safetensors", "config.json"):
        output_file(out / written, "--out")
    if not 0 <= seed < 2**31:  # an int32 in jax
        raise ConfigError(f"--seed must be from 0 to {2**31 - 1}, not {seed}")
    opened = store_at(store)
    add_claims(claims)
    known = find_one(claim).named(scale_of(scale))
    name = experiment or next(iter(known), "")
    if name not in known:
        raise ConfigError(f"no experiment {name!r} in this claim: {did_you_mean(name, known)}")
    chosen = known[name]
    if not isinstance(chosen, Experiment):
        raise ConfigError(f"{name} is external: it has no model of the laboratory")
    check(chosen, format_)
    shown = progress(opened)
    try:
        trained = train(chosen, seed, store=opened, progress=shown)
    finally:
        shown.close()
    for path in trained.save(out, format_):
        print(path)
