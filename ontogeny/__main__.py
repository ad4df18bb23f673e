"""The command, `ontogeny …` or `python -m ontogeny …`: interrupts are heard before it is loaded."""

# what is built in of `signal`: to import the rest, and what watches, takes milliseconds
import _signal  # type: ignore[import-not-found]
from contextlib import suppress

with suppress(ValueError):  # not in the main thread
    # until interrupts are watched one ends the process, and does not fail in some import
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from .cli import interrupts


def main() -> None:
    """Loads the command line and runs a command."""
    try:
        interrupts.watch()
        from .cli.main import main as run

        run()
    except KeyboardInterrupt:
        interrupts.leave()


if __name__ == "__main__":
    main()
