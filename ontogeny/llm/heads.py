"""How strong the identity is in the heads of a model, as an experiment."""

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import choice, count
from .diagonals import diagonal_strength
from .language import arrays
from .models import Loaded, Pretrained, fresh


class HeadDiagonals(External):
    """The diagonals of a model's heads, next to those of as many heads that have learnt nothing."""

    pretrained: Pretrained = Pretrained()
    start: str = choice("pretrained", "fresh")
    steps: int = count(1)
    evaluations: int = count(1)

    @property
    def operations(self) -> float:
        return 1e11

    def begin(self, seed: int) -> Trainer:
        loaded = self.pretrained.load()
        return _Looking(loaded if self.start == "pretrained" else fresh(loaded, seed), seed)


class _Looking(Trainer):
    """Nothing moves. A seed has every third head to itself, so that seeds are independent."""

    def __init__(self, loaded: Loaded, seed: int) -> None:
        self.found = diagonal_strength(loaded.model)
        self.own = np.arange(self.found.match.size) % 3 == seed % 3

    def evaluate(self) -> dict[str, np.ndarray]:
        chance = self.found.chance
        parts = {"match": self.found.match, "copy": self.found.copy}
        found = {}
        for name, values in parts.items():
            own = values.reshape(-1)[self.own] / chance
            found[f"{name}, strong heads"] = (own > 4).mean()
            found[f"{name}, mean"] = own.mean()
            found[f"{name} by layer and head"] = values / chance
        return arrays(found)

    def advance(self, start: int, stop: int) -> None:
        pass

    def save(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass
