"""Fine-tuning on sentences: which weights are trained, in which order, and checkpoints."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from ..core.external import Trainer
from ..core.fields import Component, count, number
from .libraries import library, quietly
from .likelihood import Sentence, padded, read
from .models import Loaded

Row = TypeVar("Row")


class FineTuning(Component):
    """Which weights of a pretrained model AdamW trains, and at what learning rate."""

    @abstractmethod
    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        """Prepares a model, and returns the weights to train, by name."""

    @abstractmethod
    def replays(self) -> bool:
        """Whether a run resumes by repeating its steps rather than from a checkpoint."""


class LoRA(FineTuning):
    """Low-rank adapters beside every weight matrix of the layers."""

    learning_rate: float = number(1e-3, above=0.0, doc="η, the size of a step of AdamW")
    rank: int = count(8, doc="rank of the adapters")

    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        torch, peft = library("torch"), library("peft")
        kinds = (torch.nn.Linear, library("transformers.pytorch_utils").Conv1D)
        head = model.get_output_embeddings()
        wanted = peft.LoraConfig(
            r=self.rank,
            # adapters count twice, whatever their rank
            lora_alpha=2 * self.rank,
            # GPT-2's layers (Conv1D) keep their weights transposed
            fan_in_fan_out=model.config.model_type == "gpt2",
            target_modules=[
                name
                for name, module in model.named_modules()
                # the head is often the embeddings themselves
                if isinstance(module, kinds) and module is not head
            ],
        )
        with torch.random.fork_rng(), quietly():
            torch.manual_seed(seed)
            peft.inject_adapter_in_model(wanted, model)
        return {name: values for name, values in model.named_parameters() if values.requires_grad}

    def replays(self) -> bool:
        return False


class FullFineTuning(FineTuning):
    """All weights but the embeddings. Checkpoints would be three times the size of the model, so a
    run resumes by repeating its steps."""

    learning_rate: float = number(1e-4, above=0.0, doc="η, the size of a step of AdamW")

    def prepare(self, model: Any, seed: int) -> dict[str, Any]:
        for each in (model.get_input_embeddings(), model.get_output_embeddings()):
            each.requires_grad_(False)
        return {name: values for name, values in model.named_parameters() if values.requires_grad}

    def replays(self) -> bool:
        return True


class FineTuner(Trainer):
    """Trains a model; subclasses define the loss and the evaluation."""

    def __init__(self, loaded: Loaded, tuning: FineTuning, seed: int) -> None:
        torch = library("torch")
        self.loaded, self.tuning, self.seed, self.step = loaded, tuning, seed, 0
        self.trained = tuning.prepare(loaded.model, seed)
        # each way of tuning has the field with a default of its own, so the base class has none
        learning_rate = getattr(tuning, "learning_rate")  # noqa: B009
        self.optimizer = torch.optim.AdamW(
            self.trained.values(), lr=learning_rate, weight_decay=0.0
        )

    @abstractmethod
    def loss(self, step: int) -> Any:
        """The loss of a step."""

    def advance(self, start: int, stop: int) -> None:
        for step in range(start, stop):
            self.optimizer.zero_grad(set_to_none=True)
            self.loss(step).backward()
            self.optimizer.step()
        self.step = stop

    def save(self) -> dict[str, np.ndarray]:
        state = {"step": np.array(self.step)}
        if self.tuning.replays():
            return state
        for name, values in self.trained.items():
            state[name] = values.detach().numpy().copy()
            # AdamW's two moments and its step count: without them a resumed run would differ
            for key, kept in self.optimizer.state[values].items():
                state[f"{key} of {name}"] = kept.detach().numpy().copy()
        return state

    def restore(self, state: dict[str, np.ndarray]) -> None:
        torch = library("torch")
        step = int(state["step"])
        if self.tuning.replays():
            self.advance(0, step)
            return
        self.step = step
        with torch.no_grad():
            for name, values in self.trained.items():
                values.copy_(torch.from_numpy(state[name]))
                parts = [key for key in state if key.endswith(f" of {name}")]
                # copies: the optimiser writes in place, and would write into what was saved
                self.optimizer.state[values] = {
                    key.partition(" of ")[0]: torch.from_numpy(state[key].copy()) for key in parts
                }


def batch(rows: Sequence[Row], size: int, step: int, seed: int) -> list[Row]:
    """The rows of a step: epochs over all rows, each in a new order that the seed determines."""
    size = min(size, len(rows))
    # by the step's number alone: there is no state of a loader to save
    turns = range(step * size, (step + 1) * size)
    return [rows[order(len(rows), turn // len(rows), seed)[turn % len(rows)]] for turn in turns]


@lru_cache(maxsize=8)
def order(many: int, epoch: int, seed: int) -> list[int]:
    """The order of rows in an epoch."""
    return list(map(int, np.random.default_rng([seed, epoch]).permutation(many)))


def sentence_loss(model: Any, rows: Sequence[Sentence]) -> Any:
    """The cross-entropy of the answers, per token; prompts are not trained on."""
    torch = library("torch")
    # padded at the end, where no token of a causal model sees it
    tokens, mask = padded([[*given, *answer] for given, answer in rows])
    states = model.base_model(
        input_ids=tokens, attention_mask=mask, use_cache=False
    ).last_hidden_state
    at = [
        (row, position)
        for row, (given, answer) in enumerate(rows)
        for position in range(len(given) - 1, len(given) + len(answer) - 1)
    ]
    which, where = torch.tensor(at).T
    logits = read(model, states[which, where])
    return torch.nn.functional.cross_entropy(logits, tokens[which, where + 1])


def mean_loss(model: Any, rows: Sequence[Sentence], size: int) -> float:
    """The mean loss over all sentences, in batches of a size."""
    pieces = [rows[start : start + size] for start in range(0, len(rows), size)]
    with library("torch").no_grad():
        losses = [float(sentence_loss(model, piece)) for piece in pieces]
    return float(np.average(losses, weights=[len(piece) for piece in pieces]))
