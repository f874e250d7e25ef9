"""A step of a weather model on a globe: it wraps around in longitude, and shuffles back up."""

import torch
import torch.nn.functional as F
from torch import nn


class Weather(nn.Module):
    def __init__(self, fields=4, width=16):
        super().__init__()
        self.into = nn.Conv2d(fields + 1, width, 3)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2)
        self.norm = nn.GroupNorm(4, 2 * width)
        self.up = nn.Conv2d(2 * width, 4 * width, 1)
        self.out = nn.Conv2d(2 * width, fields, 1)
        self.spread = nn.Parameter(torch.full((fields, 1, 1), 0.1))

    def wrapped(self, x):
        x = F.pad(x, (1, 1, 0, 0), mode="circular")
        return F.pad(x, (0, 0, 1, 1), mode="replicate")

    def forward(self, state, *, hour):
        clock = torch.sin(hour * 6.283185 / 24).view(-1, 1, 1, 1).expand_as(state[:, :1])
        x = F.silu(self.into(self.wrapped(torch.cat([state, clock], dim=1))))
        y = F.silu(self.norm(self.down(self.wrapped(x))))
        y = F.pixel_shuffle(self.up(y), 2)
        change = self.out(torch.cat([x, y], dim=1))
        return state + self.spread * change


def example():
    return (torch.randn(2, 4, 8, 16),), {"hour": torch.tensor([3.0, 15.0])}
