"""The bottleneck of a VQ-VAE: the nearest code of each vector, and how often each was used."""

import torch
from torch import nn


class VectorQuantiser(nn.Module):
    def __init__(self, codes=12, width=6):
        super().__init__()
        self.encode = nn.Conv1d(4, width, 3, padding=1)
        self.decode = nn.Conv1d(width, 4, 3, padding=1)
        self.codebook = nn.Embedding(codes, width)
        self.register_buffer("used", torch.zeros(codes))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, signal):
        z = self.encode(signal).transpose(1, 2)
        codes = self.codebook.weight
        distance = z.pow(2).sum(-1, keepdim=True) - 2 * z @ codes.T + codes.pow(2).sum(-1)
        nearest = distance.argmin(dim=-1)
        self.used.add_(nn.functional.one_hot(nearest, 12).sum(dim=(0, 1)).float())
        self.calls.add_(1)
        back = self.decode(self.codebook(nearest).transpose(1, 2))
        return back, nearest, self.used / self.calls


def example():
    return (torch.randn(2, 4, 10),)
