"""Commands that list, show, judge and sweep claims."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .app import (
    CLAIMS,
    AsJson,
    Changes,
    ClaimName,
    JsonFile,
    MoreClaims,
    On,
    ScaleName,
    Seeds,
    StorePath,
    Workers,
    add_claims,
    app,
    begin_workers,
    executor,
    figure_file,
    output_file,
    scale_of,
    store_at,
)
from .exits import Incomplete, saving


@app.command(
    name="list",
    group=CLAIMS,
    help_epilogue="Example: `ontogeny list identity-bridge contradicted`",
)
def list_(
    *patterns: Annotated[
        str,
        Parameter(
            help="Claim names, parts of names, papers [all claims]; of these only those that are "
            "supported, contradicted, undecided, untested, unjudged, stale (judged before a "
            "change), or headline claims"
        ),
    ],
    json_: AsJson = False,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """List the claims, with the last verdict on each."""
    from ..claims.status import listed
    from ..report.terminal import show_list

    add_claims(claims)
    rows = listed(patterns, store_at(store))
    if json_:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    show_list(rows)


@app.command(
    group=CLAIMS, help_epilogue="Example: `ontogeny judge identity_bridge --seeds 5 --json v.json`"
)
def judge(
    *patterns: Annotated[
        str,
        Parameter(
            help="Claim names, parts of names, papers, files, or all "
            "[those of the project that you are in, else each paper's headline claim]"
        ),
    ],
    scale: ScaleName = "laptop",
    seeds: Seeds = None,
    workers: Workers = None,
    on: On = None,
    hours: Annotated[
        float | None, Parameter(help="End after so long, with what is decided by then [no limit]")
    ] = None,
    json_: JsonFile = None,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Run the experiments of claims and print a verdict on each.

    Each claim is judged from as many seeds as it takes, up to the most that it declares. Runs are
    kept in the store: what has finished is not run again, and what was interrupted is resumed.
    """
    opened, json_ = store_at(store), output_file(json_)
    begin_workers(opened, workers, on)  # they import at the same time
    from ..claims.find import find
    from ..claims.outside import project
    from ..claims.verdict import judge as judge_claims
    from ..claims.verdict import write_json
    from ..engine.execute import recall

    add_claims(claims)
    found = find(list(patterns)) if patterns else project() or find([])
    size = scale_of(scale)
    with executor(opened, workers, on, hours=hours) as execute:
        verdicts = judge_claims(found, execute, size, seeds, partial(recall, store=opened))
    from ..claims.status import remember, with_maps
    from ..engine.files import write_whole
    from ..report.terminal import show_verdicts

    verdicts = with_maps(verdicts, opened)
    # shown before it is saved: a full disk must not cost what took hours
    show_verdicts([verdict.as_json() for verdict in verdicts])
    with saving() as save:
        for verdict in verdicts:
            save(f"the verdict on {verdict.claim.name}", remember, opened, verdict)
        if json_:
            save(f"--json {json_}", write_whole, json_, write_json(verdicts))
    if broken := [verdict.claim.name for verdict in verdicts if verdict.failed]:
        raise Incomplete(f"no evidence could be computed for {', '.join(broken)}")


@app.command(group=CLAIMS, help_epilogue="Examples: `ontogeny show feed_forward`, `show TwoHop`")
def show(
    what: Annotated[
        str,
        Parameter(
            help="A claim (its name, or an unambiguous part of it), or the class of a task, model, "
            "stage or probe"
        ),
    ],
    /,
    *,
    full: Annotated[bool, Parameter(help="All experiments of a claim in full")] = False,
    scale: ScaleName = "laptop",
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Show a claim: what decides it, its verdict, its experiments; or a component and its fields.

    Of a claim, one experiment is shown in full, of the others what is different.
    """
    from ..claims.status import standing
    from ..report.explain import named, show_claim, show_component
    from ..report.terminal import console

    add_claims(claims)
    found, opened, size = named(what), store_at(store), scale_of(scale)
    if isinstance(found, type):
        show_component(console(), found)
    else:
        show_claim(console(), found, size, standing(found, opened, size), full)


@app.command(
    group=CLAIMS,
    help_epilogue="Example: `ontogeny sweep attention_stays_balanced --sweep task.ratio=1,2,4`",
)
def sweep(
    claim: ClaimName,
    /,
    *,
    set_: Changes = None,
    sweep: Annotated[
        list[str] | None,
        Parameter(name="--sweep", help="Judge at several values: PATH=a,b,c; at most twice"),
    ] = None,
    scale: ScaleName = "laptop",
    seeds: Seeds = None,
    workers: Workers = None,
    on: On = None,
    out: Annotated[
        Path | None,
        Parameter(help="The figure: .png, .pdf or .svg [figures/sweep-CLAIM.png in the store]"),
    ] = None,
    json_: JsonFile = None,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Judge a claim with settings changed, and see where its verdict flips.

    A PATH is one that `ontogeny show CLAIM` prints, such as `task.ratio`, `model.width` or
    `training.0.learning_rate`. With the name of an experiment in front, it changes only that one.
    Two sweeps make a phase diagram.
    """
    from ..claims import sweep as sweeps_of
    from ..claims.changes import parse_change
    from ..claims.find import find_one
    from ..engine.files import write_whole
    from ..report import figures
    from ..report.sweeps import show_sweep
    from ..report.terminal import console

    add_claims(claims)
    chosen, opened, size = find_one(claim), store_at(store), scale_of(scale)
    json_, out = output_file(json_), figure_file(out)
    changes = [parse_change(text) for text in set_ or []]
    sweeps = sweeps_of.parse_sweeps(sweep or [])
    with executor(opened, workers, on) as execute:
        found = sweeps_of.sweep(chosen, execute, changes, sweeps, size, seeds)
    show_sweep(console(), found)
    path = out or opened.root / "figures" / f"sweep-{chosen.name}.png"
    figure = figures.sweep(found)
    with saving() as save:
        if sweeps:
            save("the sweep", sweeps_of.remember, opened, found, changes, size)
        if json_:
            text = json.dumps(sweeps_of.as_json(found), indent=1) + "\n"
            save(f"--json {json_}", write_whole, json_, text)
        if save(f"the figure {path}", figures.save, figure, path):
            print(f"figure: {path}")
