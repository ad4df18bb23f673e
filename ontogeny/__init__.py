"""Ontogeny: a laboratory of how reasoning emerges in transformers while they train."""

import builtins
from typing import Any

import lazy_loader

__version__ = "0.2.0"  # the one place: pyproject.toml, `ontogeny --version` and the page read it

# The stub beside this file says what there is and where it comes from (`make exports` writes it):
# type checkers and editors read it, and so does this, which imports a name when it is first used.
_load, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in _names if not hasattr(builtins, name)]  # `list` is asked for by name


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except AttributeError:
        from .core import renamed

        if name in renamed.CLASSES:  # of an AttributeError, `from ontogeny import` shows no message
            raise ImportError(f"{name} is now called {renamed.CLASSES[name]}") from None
        raise
