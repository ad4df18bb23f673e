"""Template tasks for a language model: αβα or αββ, over unseen words."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ..core.external import External, Trainer
from ..core.fields import ConfigError, choice, count
from .finetuning import FineTuner, FineTuning, FullFineTuning, batch
from .libraries import library
from .likelihood import arrays
from .models import Loaded, Pretrained, fresh

TEMPLATES = ((0, 1, 0), (0, 1, 1))  # the first is worth +1, the second −1
TEST_ROWS = 128  # strings of the validation and of the test


class TunedTemplates(External):
    """A model is fine-tuned to regress ±1 on strings of three words of the form αβα or αββ, by a
    linear readout of its last hidden state; validation and test have words of their own."""

    measured_in = dict.fromkeys(("train loss", "validation loss", "test loss"), "loss")

    pretrained: Pretrained = Pretrained()
    start: str = choice(
        "pretrained", "fresh", doc="pretrained weights, or random ones of the same shapes"
    )
    samples: int = count(32, least=2, doc="n, how many training strings")
    tuning: FineTuning = FullFineTuning()
    batch_size: int = count(32, doc="strings in a step")
    steps: int = count(48, doc="how many steps are trained")
    evaluations: int = count(
        6, doc="how many there are, evenly spaced, besides the one before training"
    )

    @property
    def operations(self) -> float:
        return self.steps * self.batch_size * 2e9

    def begin(self, seed: int) -> Trainer:
        loaded = self.pretrained.load()
        return _TemplateTrainer(
            self, loaded if self.start == "pretrained" else fresh(loaded, seed), seed
        )


class _TemplateTrainer(FineTuner):
    """Trains on strings of words that are one token each."""

    def __init__(self, settings: TunedTemplates, loaded: Loaded, seed: int) -> None:
        torch = library("torch")
        self.settings = settings
        # from 0: the loss starts at 1, that of knowing nothing of labels ±1
        self.readout = torch.nn.Parameter(torch.zeros(loaded.model.config.hidden_size))
        super().__init__(loaded, settings.tuning, seed)
        self.trained["readout"] = self.readout
        self.optimizer.add_param_group({"params": [self.readout]})
        rng = np.random.default_rng([seed, 3])
        # three alphabets without a common word, so that test symbols are unseen
        words = np.array_split(rng.permutation(words_of(loaded)), 3)
        counts = (settings.samples, TEST_ROWS, TEST_ROWS)
        self.train, self.validation, self.test = (
            strings(own, many, rng) for own, many in zip(words, counts, strict=True)
        )

    def loss(self, step: int) -> object:
        inputs, values = self.train
        rows = batch(range(len(inputs)), self.settings.batch_size, step, self.seed)
        return self._squared(inputs[rows], values[rows])

    def _squared(self, inputs: np.ndarray, values: np.ndarray) -> Any:
        torch = library("torch")
        states = self.loaded.model.base_model(
            input_ids=torch.from_numpy(inputs), use_cache=False
        ).last_hidden_state[:, -1]
        outputs = states @ self.readout
        return ((outputs - torch.from_numpy(values)) ** 2).mean()

    def evaluate(self) -> dict[str, np.ndarray]:
        with library("torch").no_grad():
            losses = {
                "train loss": self._squared(*(each[:TEST_ROWS] for each in self.train)),
                "validation loss": self._squared(*self.validation),
                "test loss": self._squared(*self.test),
            }
        return arrays({name: float(loss) for name, loss in losses.items()})


def words_of(loaded: Loaded) -> list[int]:
    """The tokens that are a word of small letters, with a space before it."""
    found = [
        token
        for token, text in enumerate(
            loaded.tokenizer.batch_decode([[n] for n in range(_many(loaded))])
        )
        if text[:1] == " " and text[1:].isascii() and text[1:].isalpha() and text[1:].islower()
    ]
    if len(found) < 6:
        raise ConfigError(f"{loaded.name} has too few tokens that are words")
    return found


def _many(loaded: Loaded) -> int:
    return min(len(loaded.tokenizer), int(loaded.model.config.vocab_size))


def strings(
    words: np.ndarray, many: int, rng: np.random.Generator
) -> tuple[Int[np.ndarray, "string 3"], Float[np.ndarray, " string"]]:
    """So many strings, as many of one form as of the other, and what each is worth."""
    # two different words: a substitution is injective (Definition 3.1 of arXiv 2310.09753)
    pairs = np.stack([rng.choice(words, 2, replace=False) for _ in range(many)])
    kinds = rng.permutation(np.arange(many) % 2)
    forms = np.array(TEMPLATES)[kinds]
    return np.take_along_axis(pairs, forms, axis=1), (1.0 - 2.0 * kinds).astype(np.float32)
