"""Grouped-query attention over a prompt, with normalised queries and keys and a soft cap."""

import torch
from torch import nn

WIDTH, HEADS, GROUPS, SIZE = 32, 4, 2, 8


class GroupedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(WIDTH, HEADS * SIZE, bias=False)
        self.kv = nn.Linear(WIDTH, 2 * GROUPS * SIZE, bias=False)
        self.out = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.norm_q, self.norm_k = nn.RMSNorm(SIZE), nn.RMSNorm(SIZE)
        self.before = nn.RMSNorm(WIDTH)

    def forward(self, hidden, bias):
        x = self.before(hidden)
        b, t, _ = x.shape
        q = self.norm_q(self.q(x).view(b, t, HEADS, SIZE)).transpose(1, 2)
        k, v = self.kv(x).view(b, t, 2 * GROUPS, SIZE).chunk(2, dim=2)
        k = self.norm_k(k).transpose(1, 2).repeat_interleave(HEADS // GROUPS, dim=1)
        v = v.transpose(1, 2).repeat_interleave(HEADS // GROUPS, dim=1)
        scores = torch.tanh(q @ k.transpose(-1, -2) / (SIZE**0.5) / 5.0) * 5.0
        weights = torch.softmax(scores + bias, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(b, t, HEADS * SIZE)
        return hidden + self.out(mixed), weights.mean(dim=1)


def example():
    bias = torch.triu(torch.full((6, 6), -1e4), diagonal=1)
    return torch.randn(2, 6, WIDTH), bias
