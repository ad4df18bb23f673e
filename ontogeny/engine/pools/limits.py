"""How long code that is not ours may take, and how much memory."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

# A loop that never ends is told from slow training by how long it took so far, and by how long it
# was thought to take.
_LEAST = 120.0  # seconds
_TIMES = 20
_FIRST = 5  # times as long for the first evaluation: modules are imported, programs compiled
_SHARE = 0.75  # of the machine's memory


class Limits(NamedTuple):
    """What one who trains may take."""

    seconds: float | None  # in which an evaluation must come; none if what it took so far decides
    memory: float  # bytes, of all processes together


def loading_seconds() -> float:
    """How many seconds a module may take to be loaded and checked."""
    return float(os.environ.get("ONTOGENY_LOADING_SECONDS", "120"))


def evaluation_seconds() -> float | None:
    """How many seconds an evaluation, with the steps before it, may take, if that is laid down."""
    said = os.environ.get("ONTOGENY_EVALUATION_SECONDS")
    return float(said) if said else None


def memory_share() -> float:
    """Bytes that all processes together may take: three quarters of what this machine has."""
    found = []
    with suppress(ValueError, OSError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for file in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        with suppress(ValueError, OSError), open(f"/sys/fs/cgroup/{file}") as text:
            found.append(int(text.read()))
    return _SHARE * min(found, default=8 * 2**30)


class Pace:
    """From evaluation to evaluation of a unit: how long it took, and how long it may take."""

    def __init__(
        self, seconds: float | None, work: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`work`: seconds that an evaluation was thought to take."""
        self.clock, self.fixed = clock, seconds
        self.least = max(_LEAST, _TIMES * work)
        self.since, self.longest, self.first = clock(), 0.0, True

    def heard(self) -> None:
        """An evaluation has come."""
        now = self.clock()
        self.longest, self.since, self.first = max(self.longest, now - self.since), now, False

    @property
    def allowed(self) -> float:
        """Seconds until the next must have come."""
        usual = self.fixed or max(self.least, _TIMES * self.longest)
        return _FIRST * usual if self.first else usual

    @property
    def overdue(self) -> bool:
        """Whether it should have come."""
        return self.clock() - self.since > self.allowed


def too_slow(seconds: float) -> str:
    """What is said of one who takes too long."""
    return f"it did not come to an end within {seconds:.3g} s"


def too_large(bytes_: float) -> str:
    """What is said of one who takes too much memory."""
    return f"it took more than {bytes_ / 1e9:.3g} GB"
