"""The source, and what its claims share."""

from ...claim import Paper

PAPER = Paper(
    "mechanisms",
    "Some Mechanisms in Transformers and their Emergence (talk, 2025) and the papers it rests on",
    "https://arxiv.org/abs/2306.00802",
    "Bietti, Alberto",
)
