"""Every annotation of the package is checked while the tests run (jaxtyping and beartype)."""

import gc
import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # what is tested runs once, here or elsewhere

from jaxtyping import install_import_hook

with install_import_hook("ontogeny", "checker.checked"):
    import ontogeny.claim
    import ontogeny.core
    import ontogeny.engine
    import ontogeny.perform

    ontogeny.claim.all_claims()

import pytest
from small import PROBES, tiny

from ontogeny import Store

__all__ = ["PROBES", "tiny"]

gc.set_threshold(200_000, 50, 100)  # traced programs are many objects that live long


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def pytest_collection_modifyitems(items):
    """What takes longest begins first, so that nobody waits for it at the end."""
    slow = ("test_workers", "test_words", "test_cli", "test_cluster")
    items.sort(key=lambda item: item.module.__name__ not in slow)
