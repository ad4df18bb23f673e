"""The command line: every group of commands is a module beside this one.

Everything heavy is imported inside a command, so that help answers at once.
"""

import atexit
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from typing import TextIO, cast

from cyclopts import CycloptsError

from ..core.process import collect_seldom, exit_at_once
from . import (  # noqa: F401 (their commands)
    bench,
    completion,
    interrupts,
    judge,
    llm,
    map,
    new,
    report,
    runs,
    scorecard,
)
from .app import app
from .exits import REFUSED, Output, explain, printable, refuse_old_names


def run(words: list[str] | None = None) -> int:
    """Runs a command and returns its exit code: 0 done, 1 failed or not all saved, 2 bad request.

    An error that the user can mend is one line, and so is an internal error."""
    # progress goes to standard error: nobody who reads it is no reason to stop the work
    output, errors = Output(sys.stdout), Output(sys.stderr)
    problem, code = "", 0
    with redirect_stdout(cast(TextIO, output)), redirect_stderr(cast(TextIO, errors)):
        try:
            given = sys.argv[1:] if words is None else words
            if given[:1] == ["--complete"]:  # asked by a shell: what is typed need not be whole
                print("".join(f"{word}\n" for word in completion.complete(given[1:])), end="")
            else:
                refuse_old_names(given)
                app(words, exit_on_error=False)
                completion.remember()
        except CycloptsError:  # it has said what is wrong; its own exit code changes with versions
            code = REFUSED
        except SystemExit as end:  # all has been said
            code = end.code if isinstance(end.code, int) else REFUSED
        except Exception as error:
            problem, code = explain(error)
        output.flush()
    if output.lost and not problem:
        problem, code = f"the output could not be written: {output.lost}", 1
    with suppress(OSError):
        sys.stderr.write(printable(f"ontogeny: {problem}\n") if problem else "")
        sys.stderr.flush()
    return code


def main() -> None:
    """Runs a command and ends the process; 130 is the exit code of an interrupted one."""
    collect_seldom()
    try:
        code = run()
    except KeyboardInterrupt:
        interrupts.leave()
    interrupts.stop_watching()
    # what libraries have registered to put their things away: exit_at_once would skip it
    atexit._run_exitfuncs()
    exit_at_once(code)


if __name__ == "__main__":
    interrupts.watch()
    main()
