"""Every annotation of the package is checked while the tests run (jaxtyping and beartype)."""

import gc
import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
from jaxtyping import install_import_hook

with install_import_hook("ontogeny", "checker.checked"):
    import ontogeny.claim
    import ontogeny.core
    import ontogeny.engine
    import ontogeny.perform

    ontogeny.claim.all_claims()

import pytest

from ontogeny import (
    Analogy,
    Descent,
    Experiment,
    Imbalance,
    Loss,
    OneLayer,
    ReadoutDescent,
    Resemblance,
    Store,
    Success,
)

gc.set_threshold(200_000, 50, 100)  # traced programs are many objects that live long
jax.config.update("jax_disable_most_optimizations", True)  # what is tested here runs once

PROBES = {
    "train loss": Loss("train"),
    "success": Success("conclusion"),
    "resemblance": Resemblance("sources", "targets"),
    "imbalance": Imbalance("train"),
}


def tiny(rate=1.0, ratio=2.0, width=16, steps=20, looks=5, **changes):
    """An experiment that runs in no time: three tuples, two stages."""
    regime = (
        Descent(steps=steps, rate=rate, parts=("key_query", "value")),
        ReadoutDescent(steps=steps, rate=rate),
    )
    model = OneLayer(width=width, scale=0.1)
    fields = {"task": Analogy(tuples=3, ratio=ratio), "model": model, "regime": regime}
    return Experiment(**(fields | {"probes": PROBES, "looks": looks} | changes))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def pytest_collection_modifyitems(items):
    """What takes longest begins first, so that nobody waits for it at the end."""
    slow = ("test_workers", "test_words", "test_cli")
    items.sort(key=lambda item: item.module.__name__ not in slow)
