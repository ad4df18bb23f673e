"""A real IPython session, in a process of its own, fed cell by cell."""

import os
import re
import subprocess
import sys

from small import ROOT, TESTS


def session(folder, *cells, **environment):
    """What IPython prints while it runs some cells in a folder, line by line; prompts left out."""
    paths = os.pathsep.join(map(str, (ROOT, TESTS, folder)))
    words = ("--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=nocolor")
    done = subprocess.run(
        [sys.executable, "-m", "IPython", *words],
        # an empty line ends a cell of several lines; within one, a line of blanks is no end
        input="".join(cell.strip().replace("\n\n", "\n    \n") + "\n\n" for cell in cells),
        env=os.environ | {"PYTHONPATH": paths, "IPYTHONDIR": str(folder / "ipython")} | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    lines = (_PROMPTS.sub("", line).strip() for line in done.stdout.splitlines())
    return [line for line in lines if line], done.stderr


_PROMPTS = re.compile(r"^((In \[\d+\]| *\.\.\.): ?)*")


def said(lines, word):
    """What follows a word at the beginning of a line."""
    return [line.removeprefix(word).strip() for line in lines if line.startswith(word)]
