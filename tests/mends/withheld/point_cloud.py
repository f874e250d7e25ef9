"""Edge convolution over a cloud of points: the nearest neighbours of each, as many as there are."""

import torch
from torch import nn


class PointCloud(nn.Module):
    def __init__(self, near=4):
        super().__init__()
        self.near = near
        self.edge = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16))
        self.label = nn.Linear(16 * 2, 5)

    def forward(self, points):
        b, n, _ = points.shape
        squares = (points * points).sum(-1)
        distance = squares.unsqueeze(2) + squares.unsqueeze(1) - 2 * points @ points.transpose(1, 2)
        _, index = distance.topk(self.near, dim=-1, largest=False)
        flat = index.reshape(b, n * self.near, 1).expand(-1, -1, 3)
        around = points.gather(1, flat).view(b, n, self.near, 3)
        centre = points.unsqueeze(2).expand(-1, -1, self.near, -1)
        local = self.edge(torch.cat([centre, around - centre], dim=-1)).amax(dim=2)
        whole = local.amax(dim=1, keepdim=True).expand(-1, n, -1)
        return self.label(torch.cat([local, whole], dim=-1))


def example():
    return (torch.randn(2, 12, 3),)
