"""Graph attention over a list of edges, whose softmax runs over the edges of a node."""

import torch
import torch.nn.functional as F
from torch import nn


class EdgeAttention(nn.Module):
    def __init__(self, width=10, heads=2):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, width * heads, bias=False)
        self.left = nn.Parameter(torch.randn(heads, width))
        self.right = nn.Parameter(torch.randn(heads, width))
        self.read = nn.Linear(width * heads, 3)

    def forward(self, nodes, edges):
        n = nodes.shape[0]
        source, target = edges[0], edges[1]
        h = self.project(nodes).view(n, self.heads, -1)
        score = (h * self.left).sum(-1)[source] + (h * self.right).sum(-1)[target]
        score = torch.exp(F.leaky_relu(score, 0.2).clamp(max=10))
        total = torch.zeros(n, self.heads).to(nodes.device).index_add(0, target, score)
        weight = score / (total[target] + 1e-6)
        mixed = torch.zeros_like(h).index_add(0, target, h[source] * weight.unsqueeze(-1))
        return self.read(F.elu(mixed.flatten(1)))


def example():
    return {"nodes": torch.randn(9, 10), "edges": torch.randint(0, 9, (2, 20))}
