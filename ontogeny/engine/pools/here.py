"""Units of work one after the other, in this process."""

from collections.abc import Sequence
from functools import partial

from ...core.errors import one_line
from ...core.fields import ConfigError
from ..machine import memory
from ..schedule import Done, Failures, Pool, Progress, given_up, note
from ..store import Record, Store
from ..units import Unit, follow, train


class Here(Pool):
    """One unit after the other in this process."""

    def __init__(self) -> None:
        self.workers, self.memory = 1, memory()

    def run(
        self,
        units: Sequence[Unit],
        store: Store | None,
        progress: Progress,
        failures: Failures | None = None,
    ) -> Done:
        """Runs units in their order."""
        progress.planned(units, 1)
        for unit in units:
            records: list[Record] | None = None
            if failures is None or not given_up(unit, failures):
                progress.began(unit)
                try:
                    records = follow(train(unit, store), partial(progress.evaluated, unit))
                except (Exception, SystemExit) as error:
                    if failures is None:
                        raise
                    brief = str(error) if isinstance(error, ConfigError) else one_line(error)
                    progress.failed(unit, note(failures, unit, brief))
            progress.finished(unit)
            if records is not None:
                yield unit, records
