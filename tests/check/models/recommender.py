"""A multi-task recommender: bags of categories, feature crosses, and three heads by name."""

from typing import NamedTuple

import torch
from torch import nn


class Scores(NamedTuple):
    click: torch.Tensor
    buy: torch.Tensor
    embedding: torch.Tensor


class Recommender(nn.Module):
    def __init__(self, users=50, categories=40, dense=13, dim=16):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.bag = nn.EmbeddingBag(categories, dim, mode="mean")
        self.bottom = nn.Sequential(nn.Linear(dense, 32), nn.ReLU(), nn.Linear(32, dim), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(dim + 3, 32), nn.ReLU())
        self.click, self.buy = nn.Linear(32, 1), nn.Linear(32, 1)
        i, j = torch.tril_indices(3, 3, offset=-1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)

    def forward(self, user, categories, dense):
        x = self.bottom(dense)
        vectors = torch.stack([x, self.user(user), self.bag(categories)], dim=1)
        crosses = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.i, self.j]
        h = self.top(torch.cat([x, crosses], dim=1))
        click = torch.sigmoid(self.click(h)).squeeze(-1)
        buy = torch.sigmoid(self.buy(h)).squeeze(-1) * click
        return Scores(click, buy, h)


def example():
    return (
        torch.randint(0, 50, (6,)),
        torch.randint(0, 40, (6, 5)),
        torch.rand(6, 13),
    )
