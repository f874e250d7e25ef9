"""Convolutional networks: ResNet, MobileNet, U-Net, and a single-stage detector."""

from __future__ import annotations

import torch
from torch import nn


class BasicBlock(nn.Module):
    """ResNet's block: two 3x3 convolutions and a shortcut (He et al., 2015)."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """Two stages of one block each, the second with a projection for a shortcut."""

    def __init__(self, width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.stages = nn.Sequential(
            BasicBlock(width, width, 1),
            BasicBlock(width, 2 * width, 2),
        )
        self.head = nn.Linear(2 * width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.stages(self.stem(x))
        return self.head(y.mean(dim=(2, 3)))


class SqueezeExcite(nn.Module):
    """Channels weighted by a gate that reads their means (Hu et al., 2017)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, channels // 4, 1)
        self.excite = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        means = x.mean(dim=(2, 3), keepdim=True)
        gate = nn.functional.hardsigmoid(self.excite(torch.relu(self.squeeze(means))))
        return x * gate


class InvertedResidual(nn.Module):
    """Wide inside, depthwise, narrow at both ends; the projection is linear.

    With ReLU6 MobileNetV2's (Sandler et al., 2018), with hardswish and squeeze-and-excitation
    MobileNetV3's (Howard et al., 2019).
    """

    def __init__(self, channels: int, activation: type[nn.Module]) -> None:
        super().__init__()
        inner = 2 * channels
        self.expand = nn.Conv2d(channels, inner, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.depthwise = nn.Conv2d(inner, inner, 3, padding=1, groups=inner, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.gate = SqueezeExcite(inner) if activation is nn.Hardswish else nn.Identity()
        self.project = nn.Conv2d(inner, channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels)
        self.activation = activation()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.activation(self.bn1(self.expand(x)))
        y = self.gate(self.activation(self.bn2(self.depthwise(y))))
        return x + self.bn3(self.project(y))


class MobileNet(nn.Module):
    """A stem and one block with a residual connection."""

    def __init__(self, activation: type[nn.Module], width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.activation = activation()
        self.block = InvertedResidual(width, activation)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.block(self.activation(self.bn(self.stem(x))))
        return self.head(y.mean(dim=(2, 3)))


class UNet(nn.Module):
    """Two levels down and up again, each handed across (Ronneberger et al., 2015).

    One convolution a level where the paper has two.
    """

    def __init__(self, width: int = 4, classes: int = 2) -> None:
        super().__init__()
        self.down1 = nn.Conv2d(1, width, 3, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bottom = nn.Conv2d(2 * width, 4 * width, 3, padding=1)
        self.raise2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.up2 = nn.Conv2d(4 * width, 2 * width, 3, padding=1)
        self.raise1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.up1 = nn.Conv2d(2 * width, width, 3, padding=1)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one = torch.relu(self.down1(x))
        two = torch.relu(self.down2(nn.functional.max_pool2d(one, 2)))
        y = torch.relu(self.bottom(nn.functional.max_pool2d(two, 2)))
        y = torch.relu(self.up2(torch.cat([two, self.raise2(y)], dim=1)))
        y = torch.relu(self.up1(torch.cat([one, self.raise1(y)], dim=1)))
        return self.head(y)


class Detector(nn.Module):
    """A single-stage detector without anchors on two levels, one head for both (FCOS: Tian et al.,
    2019). Returns for each level its best scores, their classes, and their boxes by two corners.
    """

    def __init__(self, width: int = 8, classes: int = 3, best: int = 3, side: int = 8) -> None:
        super().__init__()
        self.best = best
        self.backbone = nn.ModuleList(
            [nn.Conv2d(3, width, 3, 2, padding=1), nn.Conv2d(width, width, 3, 2, padding=1)]
        )
        self.tower = nn.Conv2d(width, width, 3, padding=1)
        self.classify = nn.Conv2d(width, classes, 1)
        with torch.no_grad():  # or the class with the largest sum would win in every cell
            self.classify.weight.sub_(self.classify.weight.mean(dim=1, keepdim=True)).mul_(4)
        self.distances = nn.Conv2d(width, 4, 1)
        for level, cells in enumerate((side // 2, side // 4)):
            centres = (torch.arange(cells, dtype=torch.float32) + 0.5) / cells
            grid = torch.stack(torch.meshgrid(centres, centres, indexing="xy")).flatten(1)
            self.register_buffer(f"grid{level}", grid)

    def forward(
        self, image: torch.Tensor
    ) -> list[dict[str, torch.Tensor | tuple[torch.Tensor, torch.Tensor]]]:
        found: list[dict[str, torch.Tensor | tuple[torch.Tensor, torch.Tensor]]] = []
        features = image
        for level, stage in enumerate(self.backbone):
            features = torch.relu(stage(features))
            tower = torch.relu(self.tower(features))
            each = torch.sigmoid(self.classify(tower).flatten(2))
            score, label = each.max(dim=1)
            score, cell = torch.topk(score, self.best, dim=-1)
            before, after = self.distances(tower).flatten(2).exp().split(2, dim=1)
            grid = self.get_buffer(f"grid{level}")
            at = cell.unsqueeze(1).expand(-1, 2, -1)
            corners = (grid - before).gather(2, at), (grid + after).gather(2, at)
            found.append({"scores": score, "labels": label.gather(1, cell), "boxes": corners})
        return found
