"""Truncating a late MLP to its largest singular values, one layer at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import choice, count, number, string
from .datasets import Completion, completions, file_of, shard
from .libraries import library
from .likelihood import arrays, likelihoods_of_own
from .models import Loaded, Pretrained
from .scalings import layers

# GPT-2; Llama and its kin, which have two; GPT-NeoX
IN = ("c_fc", "gate_proj", "up_proj", "dense_h_to_4h")
OUT = ("c_proj", "down_proj", "dense_4h_to_h")


class Truncation(External):
    """One late MLP at a time is truncated to its largest singular values; then, after each prompt,
    the log-likelihoods of the right answer and of a merely frequent word are compared."""

    measured_in = dict.fromkeys(("log-odds", "chosen log-odds"), "nats") | {
        "chosen accuracy": "fraction"
    }

    pretrained: Pretrained = Pretrained()
    prompts: str = string(
        "completions", doc="the table of prompts: a packaged name, or the path of a file"
    )
    keep: float = number(
        0.01, above=0.0, most=1.0, doc="fraction of the singular values that are kept, the largest"
    )
    matrices: str = choice("in", "out", "both", doc="which matrix of the MLP is truncated")
    # in the talk common bigrams are said to sit in late MLPs; early ones are left alone
    late: int = count(10, doc="how many layers are truncated in turn, counted from the last")
    shards: int = count(3, doc="into how many parts the table is cut, one for each seed")
    steps: int = count(1, doc="one, in which nothing is trained")
    evaluations: int = count(1, doc="how many there are, besides the one before")

    @property
    def operations(self) -> float:
        return 1e13

    @property
    def reads(self) -> tuple[Path, ...]:
        return (file_of(self.prompts),)

    def begin(self, seed: int) -> Trainer:
        return _TruncationTrainer(self, self.pretrained.load(), seed)


class _TruncationTrainer(Trainer):
    """Before the only step the model is intact; after it, one late layer at a time is truncated."""

    def __init__(self, settings: Truncation, loaded: Loaded, seed: int) -> None:
        self.settings, self.loaded, self.truncated = settings, loaded, False
        self.own, self.others = shard(completions(settings.prompts), settings.shards, seed)

    def evaluate(self) -> dict[str, np.ndarray]:
        """Layers are counted from the first late one; the chosen layer is the best on other prompts
        than those it is then evaluated on."""
        found = [self._odds(layer) for layer in self._late()]
        own, others = (np.array([pair[n] for pair in found]) for n in range(2))
        # chosen on its own prompts, the best of ten layers would look good by chance
        chosen = int(others.mean(axis=1).argmax())
        return arrays(
            {
                "log-odds": own.mean(),
                "log-odds by layer": own.mean(axis=1),
                "chosen log-odds": own[chosen].mean(),
                "chosen accuracy": (own[chosen] > 0).mean(),
                "chosen layer": self._late()[chosen],
            }
        )

    def _late(self) -> list[int]:
        depth = len(layers(self.loaded.model))
        return list(range(depth))[-self.settings.late :]

    def _odds(self, layer: int) -> tuple[np.ndarray, np.ndarray]:
        """How much likelier the answer is than the common word, for own prompts and for others."""
        if not self.truncated:
            if not hasattr(self, "intact"):
                self.intact = self._both()
            return self.intact
        keep, matrices = self.settings.keep, self.settings.matrices
        with truncated(self.loaded.model, layer, keep, matrices):
            return self._both()

    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        return log_odds(self.loaded, self.own), log_odds(self.loaded, self.others)

    def advance(self, start: int, stop: int) -> None:
        self.truncated = True

    def save(self) -> dict[str, np.ndarray]:
        # no weights: each layer is put back right after it was measured
        return {"truncated": np.array(self.truncated)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.truncated = bool(state["truncated"])


def log_odds(loaded: Loaded, rows: list[Completion]) -> np.ndarray:
    """How much likelier the answer is than the common word, prompt by prompt."""
    prompts = [row.prompt for row in rows]
    answers = likelihoods_of_own(loaded, prompts, [row.answer for row in rows])
    odds: np.ndarray = answers - likelihoods_of_own(loaded, prompts, [row.common for row in rows])
    return odds


@contextmanager
def truncated(model: Any, layer: int, keep: float, matrices: str = "in") -> Iterator[None]:
    """For a while, only a share of the singular values of a layer's feed-forward matrices is left:
    the largest, and at least one."""
    torch = library("torch")
    block = layers(model)[layer].mlp
    names = {"in": IN, "out": OUT, "both": IN + OUT}[matrices]
    weights = [getattr(block, name).weight for name in names if hasattr(block, name)]
    # put back from copies, not from the factors: bit by bit the model that it was
    whole = [weight.detach().clone() for weight in weights]
    try:
        with torch.no_grad():
            for weight in weights:
                left, values, right = torch.linalg.svd(weight.detach(), full_matrices=False)
                left_over = max(1, int(keep * len(values)))
                values[left_over:] = 0
                weight.copy_(left * values @ right)
        yield
    finally:
        with torch.no_grad():
            for weight, was in zip(weights, whole, strict=True):
                weight.copy_(was)
