"""A filter of candidates: only those above a threshold go through the second, costly stage."""

import torch
from torch import nn


class TwoStages(nn.Module):
    def __init__(self):
        super().__init__()
        self.cheap = nn.Linear(8, 1)
        self.costly = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, candidates):
        score = torch.sigmoid(self.cheap(candidates)).squeeze(-1)
        kept = (score > 0.5).nonzero().squeeze(-1)
        return self.costly(candidates[kept]), kept


def example():
    return (torch.randn(16, 8),)
