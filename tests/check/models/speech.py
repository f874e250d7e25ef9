"""A CTC acoustic model: strided convolutions, attention over valid frames, log-probabilities."""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, mels=16, dim=32, heads=4, tokens=29):
        super().__init__()
        self.heads = heads
        self.conv1 = nn.Conv1d(mels, dim, 3, stride=2, padding=1)
        self.conv2 = nn.Conv1d(dim, dim, 3, stride=2, padding=1)
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.ctc = nn.Linear(dim, tokens)

    def forward(self, features, lengths):
        x = F.gelu(self.conv2(F.gelu(self.conv1(features)))).transpose(1, 2)
        lengths = (lengths + 3) // 4
        frames = torch.arange(x.shape[1], device=x.device)
        valid = frames[None, :] < lengths[:, None]

        y = self.norm(x)
        q, k, v = (
            each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for each in self.qkv(y).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~valid[:, None, None, :], float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        x = (x + self.out(y)) * valid.unsqueeze(-1)
        return self.ctc(x).log_softmax(-1), lengths


def example():
    return torch.randn(3, 16, 80), torch.tensor([80, 61, 44])


def dynamic_shapes():
    batch = torch.export.Dim("batch", min=2, max=16)
    return {"features": {0: batch}, "lengths": {0: batch}}
