"""Fresh batches, as one would draw them in PyTorch. Tasks that train on a table need none of it."""

import torch
from torch import Tensor


def triggers(task: dict[str, Tensor], settings: dict[str, object]) -> dict[str, Tensor]:
    """Bigrams of a text, but that each of the commonest tokens is always followed by the same."""
    rows, length, reads = (int(str(settings[name])) for name in ("rows", "length", "reads"))
    marked = task["commonest"]
    followers = torch.randint(len(task["first"]), (rows, len(marked)))
    begin, upto = task["first"].cumsum(0), task["after"].cumsum(1)
    chances = torch.rand(length + 1, rows)
    tokens = [torch.searchsorted(begin, chances[0]).clamp(max=len(begin) - 1)]
    for chance in chances[1:]:
        usual = (upto[tokens[-1]] <= chance[:, None]).sum(1).clamp(max=len(begin) - 1)
        asked = tokens[-1][:, None] == marked
        tokens.append(torch.where(asked.any(1), (asked * followers).sum(1), usual))
    drawn = torch.stack(tokens, 1)
    seen = drawn[:, :, None] == marked
    known = ((seen * seen.cumsum(1)).sum(2) > 1)[:, :-1]
    at = (known + torch.rand(known.shape)).topk(min(reads, length), 1).indices
    return {
        "inputs": drawn[:, :-1],
        "at": at,
        "targets": drawn[:, 1:].gather(1, at),
        "weights": known.gather(1, at).float(),
    }


DRAWING = {"Triggers": triggers}
