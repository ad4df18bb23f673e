"""What a language model says: how likely it finds a continuation, what it makes of a text.

A word may be several tokens. So a continuation is scored whole: its log-likelihood is the sum over
its tokens, and two continuations are compared by what a reader would compare, their probabilities.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .libraries import library
from .models import Loaded

BATCH = 16  # texts read at once when nothing is learnt


class Sentence(NamedTuple):
    """What is given and what should follow, in tokens."""

    given: list[int]
    answer: list[int]


def sentence(loaded: Loaded, given: str, answer: str) -> Sentence:
    """A prompt and its continuation, as the tokenizer cuts them when they stand together."""
    before, whole = loaded.tokens(given), loaded.tokens(f"{given} {answer}")
    if whole[: len(before)] == before and len(whole) > len(before):
        return Sentence(before, whole[len(before) :])
    return Sentence(before, loaded.tokenizer(f" {answer}", add_special_tokens=False)["input_ids"])


class Heard(NamedTuple):
    """How likely each answer is to follow each prompt, and what each prompt has become at its last
    token: before the first layer, and after each."""

    likelihoods: Float[np.ndarray, "prompt answer"]
    features: Float[np.ndarray, "layer prompt width"]


def hear(loaded: Loaded, prompts: Sequence[str], answers: Sequence[str]) -> Heard:
    """What a model says to prompts.

    All answers to a prompt are read at once, beside each other: each sees the prompt and itself.
    """
    rows = [[sentence(loaded, prompt, answer) for answer in answers] for prompt in prompts]
    return _heard(loaded.model, rows)


def log_likelihoods(
    loaded: Loaded, prompts: Sequence[str], answers: Sequence[str]
) -> Float[np.ndarray, "prompt answer"]:
    """How likely each answer is to follow each prompt."""
    return hear(loaded, prompts, answers).likelihoods


class _Packed(NamedTuple):
    """A prompt and all its answers in a row, and where each token of each answer is foretold."""

    tokens: list[int]
    places: list[int]
    owner: list[int]  # which answer a token is of; the prompt is everybody's
    at: list[list[int]]


def _packed(row: Sequence[Sentence]) -> _Packed:
    given = row[0].given
    made = _Packed(list(given), list(range(len(given))), [-1] * len(given), [])
    for number, (_, answer) in enumerate(row):
        start, more = len(made.tokens), len(answer) - 1  # nothing is asked after the last
        made.tokens.extend(answer[:-1])
        made.places.extend(range(len(given), len(given) + more))
        made.owner.extend([number] * more)
        made.at.append([len(given) - 1, *range(start, start + more)])
    return made


def _heard(model: Any, rows: Sequence[Sequence[Sentence]]) -> Heard:
    torch = library("torch")
    likelihoods, features = [], []
    for start in range(0, len(rows), BATCH):
        chosen = rows[start : start + BATCH]
        packed = [_packed(row) for row in chosen]
        with torch.no_grad():
            states = _states(model, packed)
            last = [each.at[0][0] for each in packed]
            features.append(
                np.stack([state[range(len(last)), last].double().numpy() for state in states])
            )
            for state, each, row in zip(states[-1], packed, chosen, strict=True):
                places = [place for at in each.at for place in at]
                answers = torch.tensor([token for _, answer in row for token in answer])
                said = torch.log_softmax(read(model, state[places]).double(), dim=-1)
                tokens = said[torch.arange(len(places)), answers]
                sizes = [len(at) for at in each.at]
                likelihoods.append([float(part.sum()) for part in tokens.split(sizes)])
    return Heard(np.array(likelihoods), np.concatenate(features, axis=1))


def _states(model: Any, packed: Sequence[_Packed]) -> Any:
    """What a model makes of rows in each of which answers stand beside each other unseen."""
    torch = library("torch")
    tokens, real = padded([each.tokens for each in packed])
    places, _ = padded([each.places for each in packed])
    owner = torch.full_like(tokens, -2)  # who fills up a row is nobody's
    for number, each in enumerate(packed):
        owner[number, : len(each.owner)] = torch.tensor(each.owner)
    mine = owner[:, None, :] == owner[:, :, None]
    before = places[:, None, :] <= places[:, :, None]
    sees = (before & (mine | (owner == -1)[:, None, :])) & (real[:, None, :] == 1)
    sees |= torch.eye(tokens.shape[1], dtype=torch.bool)  # or else there is nothing to weigh
    mask = torch.zeros(sees.shape).masked_fill(~sees, torch.finfo(torch.float32).min)
    return model.base_model(
        input_ids=tokens,
        attention_mask=mask[:, None],
        position_ids=places,
        use_cache=False,
        output_hidden_states=True,
    ).hidden_states


def read(model: Any, states: Any) -> Any:
    """What the model's head makes of states."""
    said = model.get_output_embeddings()(states)
    cap = getattr(model.config, "final_logit_softcapping", None)
    return cap * library("torch").tanh(said / cap) if cap else said


def likelihoods_of_own(
    loaded: Loaded, prompts: Sequence[str], answers: Sequence[str]
) -> Float[np.ndarray, " prompt"]:
    """How likely each prompt is to be followed by its own answer."""
    rows = [sentence(loaded, *pair) for pair in zip(prompts, answers, strict=True)]
    return _heard(loaded.model, [[row] for row in rows]).likelihoods[:, 0]


def padded(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Texts of unequal length side by side, and which tokens are theirs."""
    torch = library("torch")
    length = max(map(len, rows))
    tokens = torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    return tokens, mask


def cosines(
    left: Float[np.ndarray, "*#more width"], right: Float[np.ndarray, "*#more width"]
) -> Float[np.ndarray, "*more"]:
    """How alike two features are."""
    norms = np.linalg.norm(left, axis=-1) * np.linalg.norm(right, axis=-1)
    alike: np.ndarray = np.sum(left * right, axis=-1) / norms
    return alike


def arrays(answers: dict[str, Any]) -> dict[str, np.ndarray]:
    """What was seen at a look, each as an array of floats."""
    return {name: np.asarray(answer, float) for name, answer in answers.items()}
