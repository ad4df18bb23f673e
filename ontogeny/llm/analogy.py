"""Analogies in sentences: from similarity and attribution premises to the conclusion."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import ConfigError, choice, count, string
from .datasets import CLASSIFIED, TEMPLATES, Analogy, analogies, file_of, made_up, shard
from .finetuning import FineTuner, FineTuning, LoRA, batch, mean_loss, sentence_loss
from .likelihood import Sentence, arrays, cosines, score, sentence
from .models import Loaded, Pretrained


class NaturalAnalogy(External):
    """A pretrained model is fine-tuned on similarity and attribution premises, in some order, and
    tested on the conclusion; each premise is seen equally often in every order.

        similarity  "Chair is used for" → "sitting", "Stool is used for" → "sitting"
        attribution "Chair is classified as" → "furniture"
        conclusion  "Stool is classified as" → "furniture"

    The answer is the most likely category, among all categories.
    """

    measured_in = dict.fromkeys(("accuracy", "source accuracy"), "fraction") | {
        "resemblance": "cosine"
    }

    pretrained: Pretrained = Pretrained()
    order: str = choice(
        "joint",
        "late attribution",
        "late similarity",
        "no attribution",
        "no similarity",
        doc="in which order, or without which, the premises are trained",
    )
    names: str = choice(
        "real", "made up", doc="entities as they are called, or under names that mean nothing"
    )
    tuples: str = string(
        "analogies", doc="the table of entities: a packaged name, or the path of a file"
    )
    shards: int = count(12, doc="into how many parts the table is cut, one for each seed")
    tuning: FineTuning = LoRA(learning_rate=2e-3)
    batch_size: int = count(16, doc="sentences in a step")
    steps: int = count(48, doc="how many steps are trained, a multiple of 3")
    evaluations: int = count(
        3, doc="how many there are, evenly spaced, besides the one before training"
    )

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
        return _AnalogyTrainer(self, self.pretrained.load(), seed)


class _AnalogyTrainer(FineTuner):
    """Trains on sentences about a seed's own tuples."""

    def __init__(self, settings: NaturalAnalogy, loaded: Loaded, seed: int) -> None:
        super().__init__(loaded, settings.tuning, seed)
        self.settings = settings
        every = analogies(settings.tuples)
        # of the whole table, not of the seed's rows: chance is the same for all seeds
        self.categories = sorted({row.category for row in every})
        self.rows, _ = shard(every, settings.shards, seed)
        if settings.names == "made up":
            self.rows = with_made_up_names(self.rows, seed)
        self.similarity = [
            sentence(loaded, premise(row, entity), row.aspect)
            for row in self.rows
            for entity in (row.source, row.target)
        ]
        self.attribution = [
            sentence(loaded, question(row.source), row.category) for row in self.rows
        ]

    def loss(self, step: int) -> object:
        rows, since = self.premises(step)
        chosen = batch(rows, self.settings.batch_size, step - since, self.seed)
        return sentence_loss(self.loaded.model, chosen)

    def premises(self, step: int) -> tuple[list[Sentence], int]:
        """The premises of a step, and the step at which they began: similarity has two sentences of
        three, and so two steps of three."""
        third = self.settings.steps // 3
        match self.settings.order:
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
        known, found = (
            score(self.loaded, prompts, self.categories) for prompts in (sources, targets)
        )
        pairs = cosines(known.hidden_states, found.hidden_states).mean(axis=1)
        strangers = _strangers(known.hidden_states, found.hidden_states, right)
        model, size = self.loaded.model, self.settings.batch_size
        return arrays(
            {
                "similarity loss": mean_loss(model, self.similarity, size),
                "attribution loss": mean_loss(model, self.attribution, size),
                "source accuracy": np.mean(known.likelihoods.argmax(axis=1) == right),
                "accuracy": np.mean(found.likelihoods.argmax(axis=1) == right),
                # after the last layer but one: eq. 10 of the paper, for more than one layer
                "resemblance": pairs[-2],
                "resemblance by layer": pairs,
                "strangers by layer": strangers,
                "distinction": pairs[-2] - strangers[-2],
            }
        )


def _strangers(sources: np.ndarray, targets: np.ndarray, right: Sequence[int]) -> np.ndarray:
    """The cosine similarity of sources to targets of other categories, by layer."""
    kinds = np.array(right)
    alike = cosines(sources[:, :, None], targets[:, None])
    apart: np.ndarray = alike[:, kinds[:, None] != kinds[None]].mean(axis=1)
    return apart


def premise(row: Analogy, entity: str) -> str:
    """The prompt for an entity's aspect."""
    return TEMPLATES[row.relation].format(entity=_capital(entity))


def question(entity: str) -> str:
    """The prompt for an entity's category."""
    return CLASSIFIED.format(entity=_capital(entity))


def with_made_up_names(rows: Sequence[Analogy], seed: int) -> list[Analogy]:
    """The same tuples with made-up entities, of which the model knows nothing."""
    words = iter(made_up(2 * len(rows), seed))
    return [row._replace(source=next(words), target=next(words)) for row in rows]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
