"""Analogies in sentences: told what two things share and what one of them is, what is the other?"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import ConfigError, choice, count, string
from .language import Sentence, arrays, cosines, hear, sentence
from .models import Loaded, Pretrained
from .tables import CLASSIFIED, TEMPLATES, Analogy, analogies, file_of, made_up, part
from .tuning import Adapters, Learner, Tuning, batch, mean_loss, sentence_loss


class NaturalAnalogy(External):
    """A pretrained model is told in sentences what source and target share and what the source is,
    in some order, and asked what the target is; each premise is told equally often in every order.

        similarity  "Chair is used for" → "sitting", "Stool is used for" → "sitting"
        attribution "Chair is classified as" → "furniture"
        conclusion  "Stool is classified as" → "furniture"

    The answer is the category whose words are likeliest to follow, among all categories.
    """

    pretrained: Pretrained = Pretrained()
    order: str = choice(
        "joint", "late attribution", "late similarity", "no attribution", "no similarity"
    )
    names: str = choice("real", "made up")
    tuples: str = string("analogies")
    parts: int = count(12)
    tuning: Tuning = Adapters(learning_rate=2e-3)
    batch_size: int = count(16)
    steps: int = count(48)
    evaluations: int = count(3)

    def __check_init__(self) -> None:
        super().__check_init__()
        if self.steps % 3:
            raise ConfigError(f"NaturalAnalogy.steps={self.steps} must be divisible by 3")

    @property
    def operations(self) -> float:
        return self.steps * self.batch_size * 1e10

    @property
    def reads(self) -> tuple[Path, ...]:
        return (file_of(self.tuples),)

    def begin(self, seed: int) -> Trainer:
        return _Concluding(self, self.pretrained.load(), seed)


class _Concluding(Learner):
    """Sentences of a seed's own tuples."""

    def __init__(self, asked: NaturalAnalogy, loaded: Loaded, seed: int) -> None:
        super().__init__(loaded, asked.tuning, seed)
        self.asked = asked
        every = analogies(asked.tuples)
        self.categories = sorted({row.category for row in every})
        self.rows, _ = part(every, asked.parts, seed)
        if asked.names == "made up":
            self.rows = renamed(self.rows, seed)
        self.similarity = [
            sentence(loaded, premise(row, entity), row.aspect)
            for row in self.rows
            for entity in (row.source, row.target)
        ]
        self.attribution = [
            sentence(loaded, question(row.source), row.category) for row in self.rows
        ]

    def loss(self, step: int) -> object:
        rows, since = self.lesson(step)
        chosen = batch(rows, self.asked.batch_size, step - since, self.seed)
        return sentence_loss(self.loaded.model, chosen)

    def lesson(self, step: int) -> tuple[list[Sentence], int]:
        """What is told at a step, and since when: similarity takes two sentences of three, and so
        two steps of three."""
        third = self.asked.steps // 3
        match self.asked.order:
            case "joint":
                return self.similarity + self.attribution, 0
            case "no similarity":
                return self.attribution, 0
            case "late attribution" if step >= 2 * third:
                return self.attribution, 2 * third
            case "late similarity" if step < third:
                return self.attribution, 0
            case "late similarity":
                return self.similarity, third
        return self.similarity, 0

    def evaluate(self) -> dict[str, np.ndarray]:
        sources, targets = (
            [question(getattr(r, n)) for r in self.rows] for n in ("source", "target")
        )
        right = [self.categories.index(row.category) for row in self.rows]
        known, found = (hear(self.loaded, asked, self.categories) for asked in (sources, targets))
        pairs = cosines(known.features, found.features).mean(axis=1)
        strangers = _strangers(known.features, found.features, right)
        model, size = self.loaded.model, self.asked.batch_size
        return arrays(
            {
                "similarity loss": mean_loss(model, self.similarity, size),
                "attribution loss": mean_loss(model, self.attribution, size),
                "source success": np.mean(known.likelihoods.argmax(axis=1) == right),
                "success": np.mean(found.likelihoods.argmax(axis=1) == right),
                "resemblance": pairs[-2],
                "resemblance by layer": pairs,
                "strangers by layer": strangers,
                "distinction": pairs[-2] - strangers[-2],
            }
        )


def _strangers(sources: np.ndarray, targets: np.ndarray, right: Sequence[int]) -> np.ndarray:
    """How alike a source is to targets of other categories, layer by layer."""
    kinds = np.array(right)
    alike = cosines(sources[:, :, None], targets[:, None])
    apart: np.ndarray = alike[:, kinds[:, None] != kinds[None]].mean(axis=1)
    return apart


def premise(row: Analogy, entity: str) -> str:
    """What is said of an entity before its aspect."""
    return TEMPLATES[row.relation].format(entity=_capital(entity))


def question(entity: str) -> str:
    """What is said of an entity before its category."""
    return CLASSIFIED.format(entity=_capital(entity))


def renamed(rows: Sequence[Analogy], seed: int) -> list[Analogy]:
    """The same tuples of entities that nobody has heard of: only what is told tells them apart."""
    words = iter(made_up(2 * len(rows), seed))
    return [row._replace(source=next(words), target=next(words)) for row in rows]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
