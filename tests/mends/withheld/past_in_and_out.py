"""A decoder block whose past keys and values come in as nested tuples and go out longer."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS = 24, 3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x, past):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        k = torch.cat([past[0], k], dim=2)
        v = torch.cat([past[1], v], dim=2)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(mixed.transpose(1, 2).reshape(b, t, WIDTH)), (k, v)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, WIDTH)
        self.layers = nn.ModuleList([Layer(), Layer()])

    def forward(self, token, past):
        x = self.embed(token)
        grown = []
        for layer, one in zip(self.layers, past, strict=True):
            x, both = layer(x, one)
            grown.append(both)
        return x @ self.embed.weight.T, tuple(grown)


def example():
    past = tuple(
        (torch.randn(1, HEADS, 5, WIDTH // HEADS), torch.randn(1, HEADS, 5, WIDTH // HEADS))
        for _ in range(2)
    )
    return torch.randint(0, 50, (1, 1)), past
