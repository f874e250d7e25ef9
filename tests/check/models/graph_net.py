"""Molecule property regression: two rounds of message passing, then a mean for every graph."""

import torch
from torch import nn


class Conv(nn.Module):
    """GraphSAGE with edge features: what comes in is the mean over a node's neighbours."""

    def __init__(self, dim, edge_dim):
        super().__init__()
        self.message = nn.Linear(dim + edge_dim, dim)
        self.update = nn.Linear(2 * dim, dim)

    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        messages = torch.relu(self.message(torch.cat([x[src], edge_attr], dim=-1)))
        total = torch.zeros_like(x).index_add_(0, dst, messages)
        degree = torch.zeros(x.shape[0], device=x.device)
        degree = degree.scatter_add_(0, dst, torch.ones_like(dst, dtype=x.dtype))
        mean = total / degree.clamp(min=1).unsqueeze(-1)
        return torch.relu(self.update(torch.cat([x, mean], dim=-1))) + x


class MoleculeNet(nn.Module):
    def __init__(self, atoms=20, dim=32, edge_dim=6, graphs=4):
        super().__init__()
        self.graphs = graphs
        self.atom = nn.Embedding(atoms, dim)
        self.convs = nn.ModuleList(Conv(dim, edge_dim) for _ in range(2))
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, z, edge_index, edge_attr, batch):
        x = self.atom(z)
        for conv in self.convs:
            x = conv(x, edge_index, edge_attr)
        pooled = torch.zeros(self.graphs, x.shape[1], device=x.device).index_add_(0, batch, x)
        count = torch.bincount(batch, minlength=self.graphs).clamp(min=1)
        return self.readout(pooled / count.unsqueeze(-1)).squeeze(-1)


def example():
    nodes, edges = 24, 60
    return (
        torch.randint(0, 20, (nodes,)),
        torch.randint(0, nodes, (2, edges)),
        torch.randn(edges, 6),
        torch.arange(nodes) // 6,
    )
