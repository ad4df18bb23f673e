"""Commands as a person types them, in this process: starting one takes seconds."""

import contextlib
import io
from typing import NamedTuple

from ontogeny.cli.main import run


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


def typed(*words, cwd):
    """Runs a command in a folder. What starts workers needs a process of its own."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run([str(word) for word in words])
    return Ended(code, out.getvalue(), err.getvalue())
