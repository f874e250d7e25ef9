"""A captioner of recurrent cells: greedy words, each step's attention, and the state it ends in."""

import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self, width=20, words=30, steps=4):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.look = nn.Linear(width, width, bias=False)
        self.cell = nn.GRUCell(2 * width, width)
        self.say = nn.Linear(width, words)
        self.steps = steps

    def forward(self, regions, start):
        state = regions.mean(dim=1)
        word = start
        said, looks = [], []
        for _ in range(self.steps):
            weight = torch.softmax((regions @ self.look(state).unsqueeze(-1)).squeeze(-1), dim=-1)
            seen = (weight.unsqueeze(-1) * regions).sum(dim=1)
            state = self.cell(torch.cat([self.embed(word), seen], dim=-1), state)
            word = self.say(state).argmax(dim=-1)
            said.append(word)
            looks.append(weight)
        return torch.stack(said, dim=1), torch.stack(looks, dim=1), state


def example():
    return torch.randn(2, 7, 20), torch.zeros(2, dtype=torch.long)
