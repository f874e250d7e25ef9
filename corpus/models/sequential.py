"""Networks over sequences and sets: recurrent cells, attention, experts, a diffusion block."""

from __future__ import annotations

import torch
from torch import nn


class LstmLayer(nn.Module):
    """torch's own LSTM, one op with three outputs and its weights in a list."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Linear(width, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, width)

    def forward(
        self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        y, (hidden, cell) = self.lstm(torch.relu(self.embed(x)), state)
        return self.head(torch.relu(y)), (hidden, cell * 0.5)


class LstmCell(nn.Module):
    """An LSTM (Hochreiter and Schmidhuber, 1997) unrolled: its four gates are one `chunk`."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.input = nn.Linear(width, 4 * width)
        self.hidden = nn.Linear(width, 4 * width, bias=False)

    def forward(
        self, x: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        steps = []
        for token in x.unbind(1):
            gates = self.input(token) + self.hidden(hidden)
            enter, forget, new, leave = gates.chunk(4, dim=-1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
            hidden = torch.sigmoid(leave) * torch.tanh(cell)
            steps.append(hidden)
        return torch.stack(steps, dim=1), (hidden, cell)


class GruCell(nn.Module):
    """A GRU (Cho et al., 2014) unrolled, as torch writes it: two linears of three gates each."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.input = nn.Linear(width, 3 * width)
        self.hidden = nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        steps = []
        for token in x.unbind(1):
            reset, update, new = self.input(token).chunk(3, dim=-1)
            reset_by, update_by, new_by = self.hidden(hidden).chunk(3, dim=-1)
            update = torch.sigmoid(update + update_by)
            new = torch.tanh(new + torch.sigmoid(reset + reset_by) * new_by)
            hidden = (1 - update) * new + update * hidden
            steps.append(hidden)
        return torch.stack(steps, dim=1), hidden


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
    """A transformer encoder, norms first (Vaswani et al., 2017; Xiong et al., 2020)."""

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


class Experts(nn.Module):
    """A mixture of experts (Shazeer et al., 2017): each token's weight is spread over its best two.

    Dispatch is dense, as exported ones have it: every expert sees every token, most at weight zero.
    Returns the tokens and, for a balance loss, how much each expert was asked for.
    """

    def __init__(self, width: int = 8, experts: int = 3, best: int = 2) -> None:
        super().__init__()
        self.best = best
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
            for _ in range(experts)
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = self.router(x)
        score, chosen = torch.topk(logits, self.best, dim=-1)
        weights = torch.zeros_like(logits).scatter(-1, chosen, torch.softmax(score, dim=-1))
        y = x
        for expert, weight in zip(self.experts, weights.split(1, dim=-1), strict=True):
            y = y + weight * expert(x)
        return y, weights.mean(dim=(0, 1))


class GraphAttention(nn.Module):
    """Two layers of graph attention over a ring (Veličković et al., 2017), heads side by side."""

    def __init__(self, width: int = 8, heads: int = 2, nodes: int = 6) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.score = nn.ModuleList(nn.Linear(width // heads, 2, bias=False) for _ in range(2))
        hops = (torch.arange(nodes) - torch.arange(nodes)[:, None]) % nodes
        self.register_buffer("apart", (hops > 1) & (hops < nodes - 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        apart = self.get_buffer("apart")
        for project, score in zip(self.project, self.score, strict=True):
            mixed = []
            for values in project(x).chunk(self.heads, dim=-1):
                source, target = score(values).chunk(2, dim=-1)
                edges = nn.functional.leaky_relu(source + target.transpose(-2, -1), 0.2)
                edges = edges.masked_fill(apart, -1e9)
                mixed.append(torch.softmax(edges, dim=-1) @ values)
            x = x + nn.functional.elu(torch.cat(mixed, dim=-1))
        return x


class DiffusionBlock(nn.Module):
    """A block of a denoising network (Ho et al., 2020): the time's embedding is added between two
    normalised convolutions, and pixels attend to one another.
    """

    def __init__(self, channels: int = 8, side: int = 4) -> None:
        super().__init__()
        self.side = side
        self.register_buffer("frequencies", torch.logspace(0, -2, channels // 2))
        self.time = nn.Sequential(
            nn.Linear(channels, channels), nn.SiLU(), nn.Linear(channels, 2 * channels)
        )
        self.norm1 = nn.GroupNorm(2, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.GroupNorm(2, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm3 = nn.GroupNorm(2, channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        angles = time[:, None] * self.get_buffer("frequencies")
        embedded = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        scale, shift = embedded[:, :, None, None].chunk(2, dim=1)
        y = self.conv1(nn.functional.silu(self.norm1(x)))
        y = self.norm2(y) * (1 + scale) + shift
        x = x + self.conv2(nn.functional.silu(y))
        q, k, v = (part.flatten(2) for part in self.qkv(self.norm3(x)).chunk(3, dim=1))
        weights = torch.softmax(q.transpose(1, 2) @ k * q.shape[1] ** -0.5, dim=-1)
        mixed = (v @ weights.transpose(1, 2)).unflatten(-1, (self.side, self.side))
        return x + self.out(mixed)
