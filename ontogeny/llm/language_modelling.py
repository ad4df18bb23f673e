"""Language modelling: a small GPT-2 trained on a corpus, with or without attention identities."""

from pathlib import Path
from typing import Any

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import ConfigError, choice, count, number, string
from .corpus import WIKITEXT, files_of, read_corpus
from .finetuning import FineTuner, FineTuning
from .libraries import library
from .likelihood import arrays
from .models import Loaded
from .scalings import add_identity_scalings, attentions


class FromScratch(FineTuning):
    """All weights of a small model, from a random start."""

    learning_rate: float = number(1e-3, above=0.0, doc="η, the size of a step of AdamW")

    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        return dict(model.named_parameters())

    def replays(self) -> bool:
        return False


class LanguageModelling(External):
    """A GPT-2 is trained on windows of a corpus; its perplexity on held-out text is measured.

    With and without identities, a seed has the same initial weights and the same windows.
    """

    text: str = string(WIKITEXT, doc="the corpus: a known name, or the path of a text")
    units: str = choice("words", "bytes", doc="what a token is")
    vocab: int = count(4096, least=2, doc="how many tokens there are, the most frequent ones")
    identities: str = choice(
        "none", "kq and vo", doc="which identities are added to the products of attention"
    )
    depth: int = count(3, doc="how many layers")
    width: int = count(128, doc="width of the residual stream")
    heads: int = count(4, doc="how many attention heads a layer has")
    length: int = count(64, least=2, doc="tokens in a window")
    batch_size: int = count(16, doc="windows in a step")
    windows: int = count(128, doc="held-out windows that perplexity is measured on")
    tuning: FineTuning = FromScratch()
    steps: int = count(1200, doc="how many steps are trained")
    evaluations: int = count(
        6, doc="how many there are, evenly spaced, besides the one before training"
    )

    @property
    def operations(self) -> float:
        # 12 d² weights a block, 4 of attention and 8 of the MLP; 6 operations a weight and token
        weights = 12 * self.depth * self.width**2 + self.vocab * self.width
        return 6.0 * self.steps * self.batch_size * self.length * weights

    @property
    def reads(self) -> tuple[Path, ...]:
        return files_of(self.text)

    def begin(self, seed: int) -> Trainer:
        return _LanguageModelTrainer(self, seed)


class _LanguageModelTrainer(FineTuner):
    """Trains on windows that start anywhere in the corpus."""

    def __init__(self, settings: LanguageModelling, seed: int) -> None:
        self.settings = settings
        self.corpus = read_corpus(settings.text, settings.units, settings.vocab)
        shorter = min(len(self.corpus.train), len(self.corpus.held_out))
        if shorter <= settings.length:
            raise ConfigError(f"Writing.length={settings.length} is longer than the corpus")
        super().__init__(
            Loaded("a small GPT-2", self._model(seed), None, ""), settings.tuning, seed
        )

    def _model(self, seed: int) -> Any:
        torch, transformers = library("torch"), library("transformers")
        settings = self.settings
        config = transformers.GPT2Config(
            vocab_size=self.corpus.vocab,
            n_positions=settings.length,
            n_embd=settings.width,
            n_layer=settings.depth,
            n_head=settings.heads,
            # no dropout: a resumed run then needs no state of chance
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
        )
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = transformers.GPT2LMHeadModel(config).eval()
        # As in the paper's program, a token does not attend to itself through the identity.
        return model if settings.identities == "none" else add_identity_scalings(model, own=False)

    def loss(self, step: int) -> object:
        # from seed and step alone: a resumed run, and one with identities, gets the same windows
        rng = np.random.default_rng([self.seed, step])
        starts = rng.integers(
            0, len(self.corpus.train) - self.settings.length, self.settings.batch_size
        )
        return self._cross_entropy(self.corpus.train, starts)

    def _cross_entropy(self, tokens: np.ndarray, starts: np.ndarray) -> Any:
        torch = library("torch")
        windows = torch.from_numpy(np.stack([tokens[n : n + self.settings.length] for n in starts]))
        logits = self.loaded.model(windows, use_cache=False).logits[:, :-1]
        return torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), windows[:, 1:].reshape(-1)
        )

    def evaluate(self) -> dict[str, np.ndarray]:
        held_out = self.corpus.held_out
        # the same windows at every evaluation, spread over the whole text
        starts = np.linspace(0, len(held_out) - self.settings.length, self.settings.windows).astype(
            int
        )
        pieces = np.array_split(starts, -(-len(starts) // self.settings.batch_size))
        with library("torch").no_grad():
            losses = [float(self._cross_entropy(held_out, piece)) for piece in pieces]
        loss = np.average(losses, weights=[len(piece) for piece in pieces])
        return arrays({"held-out loss": loss, "perplexity": np.exp(loss), **self._identities()})

    def _identities(self) -> dict[str, np.ndarray]:
        if self.settings.identities == "none":
            return {}
        both = attentions(self.loaded.model)
        return {
            f"{name} by layer": np.stack([getattr(x, name).detach().numpy() for x in both])
            for name in ("kq_identity", "vo_identity")
        }
