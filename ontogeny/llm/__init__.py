"""Pretrained language models, in the same kind of experiments as small ones."""

from .diagonals import Diagonals, diagonal_strength, draw_diagonals
from .models import Loaded, Pretrained, absent, get, load, pinned
from .scalings import add_identity_scalings

__all__ = [
    "Diagonals",
    "Loaded",
    "Pretrained",
    "absent",
    "add_identity_scalings",
    "diagonal_strength",
    "draw_diagonals",
    "get",
    "load",
    "pinned",
]
