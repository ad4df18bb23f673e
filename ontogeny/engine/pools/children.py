"""The processes that a process has started, and those that they have: what they hold, their end.

Where there is no /proc (it is Linux's), nothing is known of them but their process group.
"""

import math
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def family(leader: int) -> set[int]:
    """A process, all that descend from it and, if it leads a session, all of that."""
    parents: dict[int, int] = {}
    found = set()
    for pid, state, parent, session in _all():
        if state != "Z":
            parents[pid] = parent
            if leader in (pid, session):
                found.add(pid)
    size = -1
    while size < len(found):
        size = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return found


def _all() -> list[tuple[int, str, int, int]]:
    """Every process that can be seen: its number, state, parent and session."""
    found = []
    with suppress(OSError):
        for name in os.listdir(_PROC):
            if name.isdigit():
                with suppress(OSError, ValueError, IndexError):
                    # what stands in parentheses is its name, which may hold anything
                    fields = (_PROC / name / "stat").read_text().rpartition(")")[2].split()
                    found.append((int(name), fields[0], int(fields[1]), int(fields[3])))
    return found


def marked(mark: str) -> set[int]:
    """Processes in whose environment a mark stands, and so in that of all whom they start."""
    found = set()
    with suppress(OSError):
        for name in os.listdir(_PROC):
            if name.isdigit():
                with suppress(OSError):
                    if mark.encode() in (_PROC / name / "environ").read_bytes():
                        found.add(int(name))
    return found


def held(pids: set[int], enough: float = math.inf) -> float:
    """Bytes of memory that some processes take up now; what several share is counted once, if all
    would come to more than enough otherwise, since that takes longer."""
    whole = sum(_resident(pid) for pid in pids)
    return whole if whole <= enough else sum(_own(pid) for pid in pids)


def _resident(pid: int) -> float:
    with suppress(OSError, ValueError, IndexError):
        pages = (_PROC / str(pid) / "statm").read_text().split()[1]
        return float(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0.0


def _own(pid: int) -> float:
    """What it holds alone, and its part of what it shares."""
    with suppress(OSError, ValueError, IndexError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * float(line.split()[1])
    return _resident(pid)


def end(leader: int, mark: str = "", seconds: float = 5.0) -> None:
    """Ends a process, its family and all that bear a mark: again and again, since some may start
    others meanwhile."""
    until = time.monotonic() + seconds
    while True:
        others = family(leader) | (marked(mark) if mark else set())
        others.discard(os.getpid())
        if not _PROC.is_dir():
            with suppress(OSError, AttributeError):
                os.killpg(leader, signal.SIGKILL)
        for pid in others:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not others or time.monotonic() > until:
            return
        time.sleep(0.02)
