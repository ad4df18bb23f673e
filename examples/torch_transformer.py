"""A plain transformer in PyTorch.

ontogeny examine examples/torch_transformer.py:Model
"""

import torch
from torch import Tensor, nn


class Model(nn.Module):
    """Two layers of causal attention, learned positions."""

    def __init__(self, vocab: int, length: int, width: int = 96, depth: int = 2) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm, self.read = nn.LayerNorm(width), nn.Linear(width, vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions(torch.arange(length))
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        return self.read(self.norm(self.layers(x, mask=later)))
