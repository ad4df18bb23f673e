"""What is said of code that is not ours when it fails: in one line, whatever it did."""

import signal
import traceback
from pathlib import Path

_LONGEST = 600  # characters of a message that are shown


def one_line(error: BaseException) -> str:
    """An error and the line of the user's that raised it."""
    kind = type(error).__name__
    try:
        said = " ".join(str(error).split())
    except BaseException:  # its own __str__ fails, or asks to exit: the words are not ours
        return f"an exception of type {kind} that cannot be printed{_where(error)}"
    if len(said) > _LONGEST:
        said = f"{said[:_LONGEST]} …"
    return f"{kind}{said and f': {said}'}{_where(error)}"


def _where(error: BaseException) -> str:
    ours, pythons = Path(__file__).parent.parent, Path(traceback.__file__).parent
    # what is left are files of the user's own: the last of them is where to look
    foreign = (str(ours), str(pythons), "site-packages", "<frozen")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not any(part in frame.filename for part in foreign)]
    if not own:
        return ""
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno}: {own[-1].line})"


def ended(code: int | None) -> str:
    """How a process came to an end before it had done its work, from its exit code."""
    if code is None:
        return "it ended"
    if code >= 0:
        return f"it ended the process (exit code {code})"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    # what the kernel kills for want of memory is told no more than this
    if name == "SIGKILL":
        return "it was killed (SIGKILL; out of memory?)"
    return f"it crashed ({name})"
