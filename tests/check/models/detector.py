"""A one-stage detector: heads on a feature map, the best boxes by score, and their classes."""

import torch
import torch.nn.functional as F
from torch import nn


def conv(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.SiLU()
    )


class Detector(nn.Module):
    def __init__(self, classes=4, keep=16, width=16):
        super().__init__()
        self.keep = keep
        self.stem = nn.Sequential(conv(3, width, 2), conv(width, width))
        self.down = conv(width, 2 * width, 2)
        self.lateral = nn.Conv2d(width, 2 * width, 1)
        self.cls = nn.Conv2d(2 * width, classes, 1)
        self.box = nn.Conv2d(2 * width, 4, 1)
        y, x = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
        self.register_buffer("grid", torch.stack([x, y], -1).reshape(-1, 2))

    def forward(self, images):
        p1 = self.stem(images)
        p2 = self.down(p1)
        p = self.lateral(p1) + F.interpolate(p2, scale_factor=2.0, mode="nearest")
        scores = self.cls(p).flatten(2).transpose(1, 2).sigmoid()
        deltas = self.box(p).flatten(2).transpose(1, 2)
        centre, size = deltas[..., :2] + self.grid, deltas[..., 2:].exp()
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1)

        best, labels = scores.max(-1)
        best, index = best.topk(self.keep, dim=-1)
        labels = labels.gather(1, index)
        boxes = boxes.gather(1, index.unsqueeze(-1).expand(-1, -1, 4))
        return {"boxes": boxes, "scores": best, "labels": labels}


def build():
    torch.manual_seed(0)
    return Detector().eval()


def example():
    return (torch.rand(2, 3, 32, 32),)
