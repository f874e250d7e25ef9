"""Optical flow, refined twice: features are looked up where the flow so far points to."""

import torch
import torch.nn.functional as F
from torch import nn


class OpticalFlow(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.features = nn.Conv2d(3, width, 5, stride=4, padding=2)
        self.gate = nn.Conv2d(2 * width + 3, 2 * width, 3, padding=1)
        self.new = nn.Conv2d(2 * width + 3, width, 3, padding=1)
        self.move = nn.Conv2d(width, 2, 3, padding=1)

    def forward(self, first, second):
        a, b = self.features(torch.cat([first, second])).chunk(2)
        n, _, h, w = a.shape
        rows = torch.linspace(-1, 1, h, device=a.device).view(1, h, 1).expand(n, h, w)
        columns = torch.linspace(-1, 1, w, device=a.device).view(1, 1, w).expand(n, h, w)
        grid = torch.stack([columns, rows], dim=-1)
        flow, hidden = torch.zeros_like(grid), torch.tanh(a)
        flows = []
        for _ in range(2):
            seen = F.grid_sample(b, grid + flow, align_corners=True)
            match = (a * seen).sum(dim=1, keepdim=True)
            x = torch.cat([a, match, flow.permute(0, 3, 1, 2)], dim=1)
            update, reset = torch.sigmoid(self.gate(torch.cat([hidden, x], dim=1))).chunk(2, dim=1)
            new = torch.tanh(self.new(torch.cat([reset * hidden, x], dim=1)))
            hidden = (1 - update) * hidden + update * new
            flow = flow + self.move(hidden).permute(0, 2, 3, 1) * 0.1
            flows.append(flow)
        return flows


def example():
    return torch.rand(1, 3, 16, 24), torch.rand(1, 3, 16, 24)
