"""Next-item recommendation: a small SASRec whose output layer is its item embedding."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (each.view(b, t, self.heads, -1).transpose(1, 2) for each in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


class Ranker(nn.Module):
    def __init__(self, items=200, dim=32, heads=2, layers=2, length=20, best=10):
        super().__init__()
        self.best = best
        self.items = nn.Embedding(items, dim, padding_idx=0)
        self.positions = nn.Parameter(torch.randn(length, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, items, bias=False)
        self.head.weight = self.items.weight

    def forward(self, history):
        x = self.items(history) + self.positions
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x[:, -1]))
        scores, best = torch.topk(logits, self.best, dim=-1)
        return scores.softmax(-1), best


def example():
    return (torch.randint(1, 200, (8, 20)),)
