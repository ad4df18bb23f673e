"""Writes ontogeny/__init__.pyi: all that `import ontogeny` gives, by walking the package."""

import builtins
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

ROOT = Path(__file__).parent.parent
STUB = ROOT / "ontogeny" / "__init__.pyi"
sys.path.insert(0, str(ROOT))

# Every public component of these packages is exported,
COMPONENTS = ("tasks", "models", "training", "probes")
# and what else one needs to build, run and judge.
BESIDES = {
    "claims.asking": "Listing Verdicts judge list map sweep",
    "claims.claim": "Claim Paper claim",
    "claims.maps": "Map",
    "claims.region": "Between Fit OneOf Predicted Region",
    "claims.scale": "Scale Sizes",
    "claims.sweep": "Sweep",
    "claims.verdict": "Verdict",
    "core.decision": "Seeds",
    "core.evidence": "Evidence Outcome Reported",
    "core.evaluations": "Log",
    "core.external": "External Trainer",
    "core.fields": "ConfigError",
    "core.measurement": "Measurement",
    "core.run": "Run Runs",
    "core.types": "Batch Experiment FirstTokens Model Moment Probe Solver Stage Task Trace Until",
    "engine.pools.cluster": "Cluster",
    "engine.execute": "execute",
    "engine.keeping": "train",
    "engine.saved": "load",
    "engine.store": "Store",
    "engine.trained": "Trained",
    "scorecard.examine": "examine",
}
HEADING = '"""All that the package gives: `make exports` writes it, and a test compares."""'


def components() -> Iterator[tuple[str, str]]:
    """The module and the name of every public component."""
    from ontogeny.core.fields import Component

    for package in COMPONENTS:
        home = importlib.import_module(f"ontogeny.{package}")
        for found in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
            module = importlib.import_module(found.name)
            for name, thing in inspect.getmembers(module, inspect.isclass):
                own = issubclass(thing, Component) and thing.__module__ == module.__name__
                if own and not inspect.isabstract(thing) and not name.startswith("_"):
                    yield found.name.removeprefix("ontogeny."), name


def stub() -> str:
    """The text of the stub, its lines in the order that ruff would have them."""
    besides = ((home, name) for home, names in BESIDES.items() for name in names.split())
    ranked = sorted(
        (home, 0 if name.isupper() else 1 if name[0].isupper() else 2, name)
        for home, name in {*components(), *besides}
    )
    lines = [f"from .{home} import {name} as {name}\n" for home, _, name in ranked]
    # what has the name of something of Python's own is not imported by `*`
    public = [name for _, _, name in sorted(ranked, key=itemgetter(1, 2))]
    public = [name for name in public if not hasattr(builtins, name)]
    named = "".join(f'    "{name}",\n' for name in public)
    return "".join([HEADING, "\n\n", *lines, f"\n__all__ = [\n{named}]\n\n__version__: str\n"])


if __name__ == "__main__":
    STUB.touch()  # the package reads it
    STUB.write_text(stub())
