"""A YOLO-like network: blocks that split and join channels, and a head over two levels."""

from __future__ import annotations

import torch
from torch import nn

Found = list[list[torch.Tensor | list[torch.Tensor]]]


class CrossStage(nn.Module):
    """Channels in two halves, one of them convolved on; all that was made is joined (YOLOv8's C2f,
    after Wang et al., 2019).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(width, width, 1)
        self.inner = nn.Conv2d(width // 2, width // 2, 3, padding=1)
        self.leave = nn.Conv2d(3 * width // 2, width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, worked = self.enter(x).chunk(2, dim=1)
        again = worked + nn.functional.silu(self.inner(worked))
        return nn.functional.silu(self.leave(torch.cat([kept, worked, again], dim=1)))


class Yolo(nn.Module):
    """A single-stage detector whose box sides are distributions over bins (Li et al., 2020).

    Returns what each level found: its best scores, their cells, and for each side of a box, in a
    list of its own, the distances there; then, for both levels together, the raw maps.
    """

    def __init__(self, width: int = 8, classes: int = 3, bins: int = 4, best: int = 3) -> None:
        super().__init__()
        self.classes, self.bins, self.best = classes, bins, best
        self.down = nn.ModuleList(
            [nn.Conv2d(3, width, 3, 2, padding=1), nn.Conv2d(width, width, 3, 2, padding=1)]
        )
        self.blocks = nn.ModuleList([CrossStage(width), nn.SiLU()])
        self.heads = nn.ModuleList(nn.Conv2d(width, 4 * bins + classes, 1) for _ in range(2))
        self.register_buffer("distances", torch.arange(bins, dtype=torch.float32)[:, None])

    def forward(self, image: torch.Tensor) -> tuple[Found, list[torch.Tensor]]:
        found: Found = []
        maps = []
        x = image
        for down, block, head in zip(self.down, self.blocks, self.heads, strict=True):
            x = block(down(x))
            raw = head(x)
            maps.append(raw)
            boxes, logits = raw.flatten(2).split([4 * self.bins, self.classes], dim=1)
            score, cell = torch.topk(torch.sigmoid(logits).amax(dim=1), self.best, dim=-1)
            at = cell.unsqueeze(1)
            sides = [
                (torch.softmax(side, dim=1) * self.get_buffer("distances"))
                .sum(dim=1, keepdim=True)
                .gather(2, at)
                for side in boxes.chunk(4, dim=1)
            ]
            found.append([score, cell, sides])
        return found, maps
