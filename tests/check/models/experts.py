"""A mixture of experts with top-2 routing, in place of a transformer's feed-forward layer."""

import torch
import torch.nn.functional as F
from torch import nn


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate, self.up = nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class MoE(nn.Module):
    def __init__(self, dim=32, hidden=48, experts=4, top_k=2):
        super().__init__()
        self.top_k = top_k
        self.norm = nn.LayerNorm(dim)
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(experts))

    def forward(self, hidden_states):
        batch, length, dim = hidden_states.shape
        x = self.norm(hidden_states).view(-1, dim)
        router_logits = self.router(x)
        weights, chosen = torch.topk(router_logits.softmax(-1), self.top_k, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        # every expert sees every token; what was not routed to it weighs nothing
        dense = torch.zeros_like(router_logits).scatter(-1, chosen, weights)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            out = out + dense[:, i, None] * expert(x)
        return hidden_states + out.view(batch, length, dim), router_logits


def example():
    return (torch.randn(2, 6, 32),)
