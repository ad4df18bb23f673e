"""A place for claims of one's own."""

import importlib
import sys

import pytest

from ontogeny.claims import outside
from ontogeny.claims.claim import CLAIMS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that one works in; what is loaded from it is forgotten in the end."""
    monkeypatch.chdir(tmp_path)
    paths, before = list(sys.path), dict(CLAIMS)
    modules, loaded = set(sys.modules), dict(outside._LOADED)
    yield tmp_path
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    kept = ((CLAIMS, before), (outside._LOADED, loaded), (outside._GIVEN, {}))
    for known, was in kept:
        known.clear()
        known.update(was)
    sys.path[:] = paths
    outside._project.cache_clear()
    outside.installed.cache_clear()
    importlib.invalidate_caches()
