"""Every annotation of the package is checked while the tests run (jaxtyping and beartype)."""

import gc
import os
from collections import Counter

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
# torch's threads wait for one another by spinning: beside other processes, for what has no core
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # what is tested runs once, here or elsewhere

from jaxtyping import install_import_hook

with install_import_hook("ontogeny", "checker.checked"):
    import ontogeny.claims.claim
    import ontogeny.core.types
    import ontogeny.engine.execute
    import ontogeny.engine.units

    ontogeny.claims.claim.all_claims()

import pytest

from ontogeny import Store

gc.set_threshold(200_000, 50, 100)  # traced programs are many objects that live long


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def user(tmp_path_factory):
    """Somebody who installed the wheel, and has nothing else."""
    import wheel

    shared = tmp_path_factory.getbasetemp()
    # with several workers, the folder above is what they share
    return wheel.installed(shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared)


def pytest_collection_modifyitems(items):
    """What takes longest begins first, so that nobody waits for it at the end."""
    slow = (
        "processes",
        "words",
        "commands",
        "cluster",
        "hostile_training",
        "kills",
        "exits",
        "wheel",
    )
    order = {f"test_{name}": 1 for name in (*slow, "wheel")}
    items.sort(key=lambda item: 0 if "planned" in item.name else order.get(item.path.stem, 2))


def pytest_terminal_summary(terminalreporter):
    """How many attacks there were: what each test says of its own (`record_property`), summed."""
    counts = Counter()
    for report in terminalreporter.getreports("passed"):
        if report.when == "call":
            counts.update({name: n for name, n in report.user_properties if isinstance(n, int)})
    if counts:
        told = ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items()))
        terminalreporter.write_line(f"attacks that ended well: {told}")
