"""The command, `ontogeny …` or `python -m ontogeny …`: interrupts are heard before it is loaded."""

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
