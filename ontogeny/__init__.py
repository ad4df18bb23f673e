"""Ontogeny: a laboratory of how reasoning emerges in transformers while they train."""

import lazy_loader

# The stub beside this file says what there is and where it comes from (`make exports` writes it):
# type checkers and editors read it, and so does this, which imports a name when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
