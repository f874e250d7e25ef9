"""Real architectures at small size, with random weights."""

from __future__ import annotations

import torch
from torch import nn

from corpus.case import Family, Program, case
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.inputs import DYNAMIC, floats

RELU = "aten.relu.default"


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
    """Three stages of one block each."""

    def __init__(self, width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.stages = nn.Sequential(
            BasicBlock(width, width, 1),
            BasicBlock(width, 2 * width, 2),
            BasicBlock(2 * width, 4 * width, 2),
        )
        self.head = nn.Linear(4 * width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.stages(self.stem(x))
        return self.head(y.mean(dim=(2, 3)))


@case(
    Family.ARCHITECTURES,
    catches="a ResNet whose relus fall back: shortcuts read one engine's output twice",
    fallback=[RELU],
    wiring=True,
)
def resnet_relu() -> Program:
    return Program(floats((2, 3, 16, 16)), model=ResNet())


@case(
    Family.ARCHITECTURES,
    catches="a ResNet whose batch norms fall back, weights and buffers with them",
    fallback=["aten.batch_norm.default"],
)
def resnet_batch_norm() -> Program:
    return Program(floats((2, 3, 16, 16)), model=ResNet())


class EncoderLayer(nn.Module):
    """A transformer encoder's layer with its projections in one matrix, split by `chunk`."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # Heads are slices, not a reshape: a batch size would cross from engine to engine.
        q, k, v = (
            part.chunk(self.heads, dim=-1) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        scale = q[0].shape[-1] ** -0.5
        mixed = [
            torch.softmax(q[head] @ k[head].transpose(-2, -1) * scale, dim=-1) @ v[head]
            for head in range(self.heads)
        ]
        x = x + self.out(torch.cat(mixed, dim=-1))
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self, layers: int = 2, width: int = 16, heads: int = 2, tokens: int = 12) -> None:
        super().__init__()
        self.position = nn.Parameter(torch.randn(1, tokens, width))
        self.layers = nn.ModuleList([EncoderLayer(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.position
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


@case(
    Family.ARCHITECTURES,
    catches="a transformer encoder whose softmax falls back between multi-output engines",
    fallback=["aten.softmax.int"],
    wiring=True,
)
def encoder_softmax() -> Program:
    return Program(floats((2, 12, 16)), model=Encoder())


@case(
    Family.ARCHITECTURES,
    catches="a transformer encoder with a dynamic batch whose layer norms and relus fall back",
    fallback=[RELU, "aten.layer_norm.default"],
    wiring=True,
)
def encoder_norm_dynamic() -> Program:
    return Program(
        floats((DYNAMIC, 12, 16)), model=Encoder(), dynamic_shapes=batch(), bounds=BOUNDS
    )
