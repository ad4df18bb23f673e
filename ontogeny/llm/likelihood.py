"""Log-likelihoods of continuations, and hidden states, of a language model.

A word may be several tokens, so a continuation is scored as a whole: its log-likelihood is the sum
over its tokens.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from .libraries import library
from .models import Loaded

BATCH = 16  # prompts per forward pass without gradients


class Sentence(NamedTuple):
    """A prompt and its continuation, in tokens."""

    given: list[int]
    answer: list[int]


def sentence(loaded: Loaded, given: str, answer: str) -> Sentence:
    """A prompt and its continuation, tokenized together."""
    before, whole = loaded.tokens(given), loaded.tokens(f"{given} {answer}")
    # a tokenizer may merge across the seam; the answer is then tokenized apart from the prompt
    if whole[: len(before)] == before and len(whole) > len(before):
        return Sentence(before, whole[len(before) :])
    return Sentence(before, loaded.tokenizer(f" {answer}", add_special_tokens=False)["input_ids"])


class Scores(NamedTuple):
    """The log-likelihood of each answer after each prompt, and the hidden states at each prompt's
    last token: before the first layer, and after each."""

    likelihoods: Float[np.ndarray, "prompt answer"]
    hidden_states: Float[np.ndarray, "layer prompt width"]


def score(loaded: Loaded, prompts: Sequence[str], answers: Sequence[str]) -> Scores:
    """The scores of answers after prompts.

    All answers to a prompt are in one sequence: each attends to the prompt and to itself only.
    """
    rows = [[sentence(loaded, prompt, answer) for answer in answers] for prompt in prompts]
    return _scores(loaded.model, rows)


def log_likelihoods(
    loaded: Loaded, prompts: Sequence[str], answers: Sequence[str]
) -> Float[np.ndarray, "prompt answer"]:
    """The log-likelihood of each answer after each prompt."""
    return score(loaded, prompts, answers).likelihoods


class _Packed(NamedTuple):
    """A prompt and all its answers in one sequence, and where each answer token is predicted."""

    tokens: list[int]
    positions: list[int]
    owner: list[int]  # the answer that a token belongs to; -1 for the prompt
    at: list[list[int]]


def _packed(row: Sequence[Sentence]) -> _Packed:
    given = row[0].given
    made = _Packed(list(given), list(range(len(given))), [-1] * len(given), [])
    for number, (_, answer) in enumerate(row):
        start, more = len(made.tokens), len(answer) - 1  # nothing is predicted after the last
        made.tokens.extend(answer[:-1])
        # each answer's positions go on from the prompt, as if it were the only one
        made.positions.extend(range(len(given), len(given) + more))
        made.owner.extend([number] * more)
        # the first token of every answer is predicted where the prompt ends
        made.at.append([len(given) - 1, *range(start, start + more)])
    return made


def _scores(model: Any, rows: Sequence[Sequence[Sentence]]) -> Scores:
    torch = library("torch")
    likelihoods, hidden_states = [], []
    for start in range(0, len(rows), BATCH):
        chosen = rows[start : start + BATCH]
        packed = [_packed(row) for row in chosen]
        with torch.no_grad():
            states = _states(model, packed)
            last = [each.at[0][0] for each in packed]
            hidden_states.append(
                np.stack([state[range(len(last)), last].double().numpy() for state in states])
            )
            # the library's last state is normed already: it is what the head reads
            for state, each, row in zip(states[-1], packed, chosen, strict=True):
                positions = [position for at in each.at for position in at]
                answers = torch.tensor([token for _, answer in row for token in answer])
                # logits where something is read: everywhere they would be a vocabulary × a sequence
                log_probs = torch.log_softmax(read(model, state[positions]).double(), dim=-1)
                tokens = log_probs[torch.arange(len(positions)), answers]
                sizes = [len(at) for at in each.at]
                likelihoods.append([float(part.sum()) for part in tokens.split(sizes)])
    return Scores(np.array(likelihoods), np.concatenate(hidden_states, axis=1))


def _states(model: Any, packed: Sequence[_Packed]) -> Any:
    """Hidden states of sequences in which answers do not attend to each other."""
    torch = library("torch")
    tokens, real = padded([each.tokens for each in packed])
    positions, _ = padded([each.positions for each in packed])
    owner = torch.full_like(tokens, -2)  # padding
    for number, each in enumerate(packed):
        owner[number, : len(each.owner)] = torch.tensor(each.owner)
    mine = owner[:, None, :] == owner[:, :, None]
    before = positions[:, None, :] <= positions[:, :, None]
    # a token sees the prompt and its own answer, up to itself
    sees = (before & (mine | (owner == -1)[:, None, :])) & (real[:, None, :] == 1)
    sees |= torch.eye(tokens.shape[1], dtype=torch.bool)  # a softmax over nothing would be nan
    # four-dimensional and added to scores, as the library takes a mask of one's own
    mask = torch.zeros(sees.shape).masked_fill(~sees, torch.finfo(torch.float32).min)
    return model.base_model(
        input_ids=tokens,
        attention_mask=mask[:, None],
        position_ids=positions,
        use_cache=False,
        output_hidden_states=True,
    ).hidden_states


def read(model: Any, states: Any) -> Any:
    """The logits of hidden states."""
    logits = model.get_output_embeddings()(states)
    # Gemma 2 caps its logits after the head, in a forward pass that is not used here
    cap = getattr(model.config, "final_logit_softcapping", None)
    return cap * library("torch").tanh(logits / cap) if cap else logits


def likelihoods_of_own(
    loaded: Loaded, prompts: Sequence[str], answers: Sequence[str]
) -> Float[np.ndarray, " prompt"]:
    """The log-likelihood of each prompt's own answer."""
    rows = [sentence(loaded, *pair) for pair in zip(prompts, answers, strict=True)]
    return _scores(loaded.model, [[row] for row in rows]).likelihoods[:, 0]


def padded(rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Sequences of unequal length as one padded batch, and the mask of real tokens."""
    torch = library("torch")
    length = max(map(len, rows))
    tokens = torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows])
    return tokens, mask


def cosines(
    left: Float[np.ndarray, "*#more width"], right: Float[np.ndarray, "*#more width"]
) -> Float[np.ndarray, "*more"]:
    """Cosine similarity."""
    norms = np.linalg.norm(left, axis=-1) * np.linalg.norm(right, axis=-1)
    alike: np.ndarray = np.sum(left * right, axis=-1) / norms
    return alike


def arrays(answers: dict[str, Any]) -> dict[str, np.ndarray]:
    """The answers of an evaluation, each as an array of floats."""
    return {name: np.asarray(answer, float) for name, answer in answers.items()}
