"""Top-p filtering of a language model's logits, with a penalty for what was said already."""

import torch
from torch import nn


class Nucleus(nn.Module):
    def __init__(self, vocabulary=40, width=16, p=0.8):
        super().__init__()
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.p = p

    def forward(self, hidden, said, temperature):
        logits = self.head(hidden)
        seen = logits.gather(1, said)
        seen = torch.where(seen > 0, seen / 1.3, seen * 1.3)
        logits = logits.scatter(1, said, seen) / temperature
        ordered, order = logits.sort(dim=-1, descending=True)
        probability = ordered.softmax(dim=-1)
        outside = probability.cumsum(dim=-1) - probability > self.p
        kept = ordered.masked_fill(outside, float("-inf"))
        filtered = torch.full_like(logits, float("-inf")).scatter(1, order, kept)
        return filtered.softmax(dim=-1), order[:, 0], outside.logical_not().sum(dim=-1)


def example():
    return torch.randn(3, 16), torch.randint(0, 40, (3, 4)), torch.tensor(0.7)
