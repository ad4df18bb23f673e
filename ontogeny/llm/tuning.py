"""Fine-tuning on sentences: what is trained, in which order, and how to go on after a break."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ..core.external import Trainer
from ..core.fields import Component, count, number
from .language import Sentence, padded, read
from .libraries import library, quietly
from .models import Loaded

Row = TypeVar("Row")


class Tuning(Component):
    """Which weights of a pretrained model are trained, by AdamW, at what rate."""

    @abstractmethod
    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        """Makes a model ready, and says which weights move, by name."""

    @abstractmethod
    def replays(self) -> bool:
        """Whether a run is taken up by doing its steps again rather than from what it saved."""


class Adapters(Tuning):
    """Low-rank adapters (LoRA) beside every matrix of the layers."""

    learning_rate: float = number(1e-3, above=0.0)
    rank: int = count(8)

    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        torch, peft = library("torch"), library("peft")
        kinds = (torch.nn.Linear, library("transformers.pytorch_utils").Conv1D)
        head = model.get_output_embeddings()
        wanted = peft.LoraConfig(
            r=self.rank,
            lora_alpha=2 * self.rank,
            fan_in_fan_out=model.config.model_type == "gpt2",
            target_modules=[
                name
                for name, module in model.named_modules()
                if isinstance(module, kinds) and module is not head
            ],
        )
        with torch.random.fork_rng(), quietly():
            torch.manual_seed(seed)
            peft.inject_adapter_in_model(wanted, model)
        return {name: values for name, values in model.named_parameters() if values.requires_grad}

    def replays(self) -> bool:
        return False


class Everything(Tuning):
    """All weights but the embeddings. Its checkpoints would be three times the model, so a run that
    is taken up again does its steps again."""

    learning_rate: float = number(1e-4, above=0.0)

    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        for each in (model.get_input_embeddings(), model.get_output_embeddings()):
            each.requires_grad_(False)
        return {name: values for name, values in model.named_parameters() if values.requires_grad}

    def replays(self) -> bool:
        return True


class Learner(Trainer):
    """A model under training: a course that answers in its own way and takes its own steps."""

    def __init__(self, loaded: Loaded, tuning: Tuning, seed: int) -> None:
        torch = library("torch")
        self.loaded, self.tuning, self.seed, self.taken = loaded, tuning, seed, 0
        self.moving = tuning.prepare(loaded.model, seed)
        learning_rate = getattr(tuning, "learning_rate")  # noqa: B009
        self.optimizer = torch.optim.AdamW(self.moving.values(), lr=learning_rate, weight_decay=0.0)

    @abstractmethod
    def loss(self, step: int) -> Any:
        """What the step makes smaller."""

    def advance(self, start: int, stop: int) -> None:
        for step in range(start, stop):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss(step).backward()
            self.optimizer.step()
        self.taken = stop

    def save(self) -> dict[str, np.ndarray]:
        state = {"taken": np.array(self.taken)}
        if self.tuning.replays():
            return state
        for name, values in self.moving.items():
            state[name] = values.detach().numpy().copy()
            for part, kept in self.optimizer.state[values].items():
                state[f"{part} of {name}"] = kept.detach().numpy().copy()
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        torch = library("torch")
        taken = int(state["taken"])
        if self.tuning.replays():
            self.advance(0, taken)
            return
        self.taken = taken
        with torch.no_grad():
            for name, values in self.moving.items():
                values.copy_(torch.from_numpy(state[name]))
                parts = [key for key in state if key.endswith(f" of {name}")]
                self.optimizer.state[values] = {
                    key.partition(" of ")[0]: torch.from_numpy(state[key].copy()) for key in parts
                }


def batch(rows: Sequence[Row], size: int, step: int, seed: int) -> list[Row]:
    """The rows of a step: all in turn, in a new order each time round, so that each is met equally
    often; the same for the same seed."""
    size = min(size, len(rows))
    turns = range(step * size, (step + 1) * size)
    return [rows[order(len(rows), turn // len(rows), seed)[turn % len(rows)]] for turn in turns]


@lru_cache(maxsize=8)
def order(many: int, around: int, seed: int) -> list[int]:
    """The order in which rows are met the so-manieth time round."""
    return list(map(int, np.random.default_rng([seed, around]).permutation(many)))


def sentence_loss(model: Any, rows: Sequence[Sentence]) -> Any:
    """The cross-entropy of what should follow, per token; what is given is not learnt."""
    torch = library("torch")
    tokens, mask = padded([[*given, *answer] for given, answer in rows])
    states = model.base_model(
        input_ids=tokens, attention_mask=mask, use_cache=False
    ).last_hidden_state
    at = [
        (row, place)
        for row, (given, answer) in enumerate(rows)
        for place in range(len(given) - 1, len(given) + len(answer) - 1)
    ]
    which, where = torch.tensor(at).T
    said = read(model, states[which, where])
    return torch.nn.functional.cross_entropy(said, tokens[which, where + 1])


def mean_loss(model: Any, rows: Sequence[Sentence], size: int) -> float:
    """The loss over all sentences, read so many at a time, each sentence counting once."""
    pieces = [rows[start : start + size] for start in range(0, len(rows), size)]
    with library("torch").no_grad():
        losses = [float(sentence_loss(model, piece)) for piece in pieces]
    return float(np.average(losses, weights=[len(piece) for piece in pieces]))
