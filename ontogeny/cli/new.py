"""Commands that write something to begin with."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from .app import CLAIMS, app, output_folder

new = App(
    name="new",
    help="Write a small working project with claims of your own.",
    group=CLAIMS,
    help_epilogue="Example: `ontogeny new claims my_claims`",
)
app.command(new)


@new.command
def claims(
    name: Annotated[str, Parameter(help="Of the project, and of its Python package")],
    /,
    *,
    into: Annotated[Path, Parameter(help="The folder in which it gets its own")] = Path(),
) -> None:
    """Write a project with a task, a probe, two claims and tests: change what they say."""
    from ..claims.new import new_claims

    for path in new_claims(name, output_folder(into, "--into")):
        print(path)
    print(f"\nNow: cd {into / name}; ontogeny judge")
