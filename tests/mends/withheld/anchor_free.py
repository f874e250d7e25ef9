"""A detector without anchors: three levels share a head, and the best places of each are kept."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width))
        self.scores = nn.Conv2d(width, classes, 3, padding=1)
        self.distances = nn.Conv2d(width, 4, 3, padding=1)
        self.centre = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, scale):
        x = torch.relu(self.tower(x))
        sides = torch.exp(self.distances(x) * scale)
        return self.scores(x).sigmoid(), sides, self.centre(x).sigmoid()


class AnchorFree(nn.Module):
    def __init__(self, width=16, classes=3):
        super().__init__()
        self.levels = nn.ModuleList(
            [nn.Conv2d(3, width, 3, stride=4, padding=1)]
            + [nn.Conv2d(width, width, 3, stride=2, padding=1) for _ in range(2)]
        )
        self.scales = nn.Parameter(torch.ones(3))
        self.head = Head(width, classes)

    def forward(self, image):
        boxes, scores, labels = [], [], []
        x = image
        for number, level in enumerate(self.levels):
            x = torch.relu(level(x))
            score, sides, centre = self.head(x, self.scales[number])
            score = (score * centre).sqrt().flatten(2)
            best, label = score.max(dim=1)
            kept, where = best.topk(4, dim=1)
            boxes.append(sides.flatten(2).gather(2, where.unsqueeze(1).expand(-1, 4, -1)))
            scores.append(kept)
            labels.append(label.gather(1, where))
        return {
            "boxes": torch.cat(boxes, dim=2).transpose(1, 2),
            "scores": torch.cat(scores, dim=1),
            "labels": torch.cat(labels, dim=1),
        }


def example():
    return (torch.rand(2, 3, 32, 32),)
