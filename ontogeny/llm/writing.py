"""A small GPT-2 learns to continue a text, with or without identities in its attention."""

from pathlib import Path
from typing import Any

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import ConfigError, choice, count, number, string
from .language import arrays
from .libraries import library
from .models import Loaded
from .scalings import add_identity_scalings, attentions
from .texts import WIKITEXT, files_of, text
from .tuning import Learner, Tuning


class FromScratch(Tuning):
    """All weights of a small model."""

    learning_rate: float = number(1e-3, above=0.0)

    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        return dict(model.named_parameters())

    def replays(self) -> bool:
        return False


class Writing(External):
    """A GPT-2 is trained on windows of a text and asked for the perplexity of what was held out.

    With identities or without, the same seed begins at the same weights and reads the same windows.
    """

    text: str = string(WIKITEXT)
    units: str = choice("words", "bytes")
    vocab: int = count(4096, least=2)
    identities: str = choice("none", "match and copy")
    depth: int = count(3)
    width: int = count(128)
    heads: int = count(4)
    length: int = count(64, least=2)
    batch_size: int = count(16)
    windows: int = count(128)
    tuning: Tuning = FromScratch()
    steps: int = count(1200)
    evaluations: int = count(6)

    @property
    def operations(self) -> float:
        weights = 12 * self.depth * self.width**2 + self.vocab * self.width
        return 6.0 * self.steps * self.batch_size * self.length * weights

    @property
    def reads(self) -> tuple[Path, ...]:
        return files_of(self.text)

    def begin(self, seed: int) -> Trainer:
        return _Writer(self, seed)


class _Writer(Learner):
    """Reads windows that begin anywhere in the text."""

    def __init__(self, asked: Writing, seed: int) -> None:
        self.asked = asked
        self.text = text(asked.text, asked.units, asked.vocab)
        shorter = min(len(self.text.train), len(self.text.held_out))
        if shorter <= asked.length:
            raise ConfigError(f"Writing.length={asked.length} is more than there is of the text")
        super().__init__(Loaded("a small GPT-2", self._model(seed), None, ""), asked.tuning, seed)

    def _model(self, seed: int) -> Any:
        torch, transformers = library("torch"), library("transformers")
        asked = self.asked
        config = transformers.GPT2Config(
            vocab_size=self.text.vocab,
            n_positions=asked.length,
            n_embd=asked.width,
            n_layer=asked.depth,
            n_head=asked.heads,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=0,
            eos_token_id=0,
        )
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = transformers.GPT2LMHeadModel(config).eval()
        # As in the paper's program, a token is compared with the others and not with itself.
        return model if asked.identities == "none" else add_identity_scalings(model, own=False)

    def loss(self, step: int) -> object:
        rng = np.random.default_rng([self.seed, step])
        starts = rng.integers(0, len(self.text.train) - self.asked.length, self.asked.batch_size)
        return self._cross_entropy(self.text.train, starts)

    def _cross_entropy(self, tokens: np.ndarray, starts: np.ndarray) -> Any:
        torch = library("torch")
        windows = torch.from_numpy(np.stack([tokens[n : n + self.asked.length] for n in starts]))
        said = self.loaded.model(windows, use_cache=False).logits[:, :-1]
        return torch.nn.functional.cross_entropy(
            said.reshape(-1, said.shape[-1]), windows[:, 1:].reshape(-1)
        )

    def evaluate(self) -> dict[str, np.ndarray]:
        held_out = self.text.held_out
        starts = np.linspace(0, len(held_out) - self.asked.length, self.asked.windows).astype(int)
        pieces = np.array_split(starts, -(-len(starts) // self.asked.batch_size))
        with library("torch").no_grad():
            losses = [float(self._cross_entropy(held_out, piece)) for piece in pieces]
        loss = np.average(losses, weights=[len(piece) for piece in pieces])
        return arrays({"held-out loss": loss, "perplexity": np.exp(loss), **self._identities()})

    def _identities(self) -> dict[str, np.ndarray]:
        if self.asked.identities == "none":
            return {}
        both = attentions(self.loaded.model)
        return {
            f"{part} by layer": np.stack([getattr(x, part).detach().numpy() for x in both])
            for part in ("match", "copy")
        }
