"""A gated linear recurrence in PyTorch: a state whose forget gate depends on the token."""

import torch
from torch import Tensor, nn


class Mixer(nn.Module):
    """h ← f · h + (1 - f) · v, and out comes a gate times h: all of it elementwise."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        value, forget, gate = self.into(x).chunk(3, dim=-1)
        keep, state, states = torch.sigmoid(forget + 2), torch.zeros_like(x[:, 0]), []
        for t in range(x.shape[1]):
            state = keep[:, t] * state + (1 - keep[:, t]) * value[:, t]
            states.append(state)
        return self.out(nn.functional.silu(gate) * torch.stack(states, dim=1))


class Model(nn.Module):
    """Layers of recurrence and feed-forward, norms first."""

    def __init__(self, vocab: int, length: int, width: int = 96, depth: int = 2) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.mixers = nn.ModuleList(Mixer(width) for _ in range(depth))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))
            for _ in range(depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth + 1))
        self.read = nn.Linear(width, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens)
        for n, (mixer, mlp) in enumerate(zip(self.mixers, self.mlps, strict=True)):
            x = x + mixer(self.norms[2 * n](x))
            x = x + mlp(self.norms[2 * n + 1](x))
        return self.read(self.norms[-1](x))
