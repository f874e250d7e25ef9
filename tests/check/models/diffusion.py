"""A block of a latent diffusion UNet, called with keywords only."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, dim, context, heads=4):
        super().__init__()
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(context, 2 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        q = self.to_q(x)
        k, v = self.to_kv(context).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.to_out(out.transpose(1, 2).flatten(2))


class DiffusionBlock(nn.Module):
    def __init__(self, channels=32, context=24, groups=8):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(channels, 64), nn.SiLU(), nn.Linear(64, 2 * channels))
        self.norm1 = nn.GroupNorm(groups, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.GroupNorm(groups, channels)
        self.attention = CrossAttention(channels, context)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        half = channels // 2
        frequencies = torch.exp(-math.log(10000) * torch.arange(half) / half)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, *, sample, timestep, encoder_hidden_states):
        angles = timestep[:, None].float() * self.frequencies
        emb = self.time(torch.cat([angles.cos(), angles.sin()], dim=-1))
        scale, shift = emb[:, :, None, None].chunk(2, dim=1)
        h = self.conv1(F.silu(self.norm1(sample)))
        h = self.norm2(h) * (1 + scale) + shift
        b, c, height, width = h.shape
        tokens = h.flatten(2).transpose(1, 2)
        tokens = tokens + self.attention(tokens, encoder_hidden_states)
        h = tokens.transpose(1, 2).reshape(b, c, height, width)
        return sample + self.conv2(F.silu(h))


def example():
    return {
        "sample": torch.randn(2, 32, 8, 8),
        "timestep": torch.tensor([10, 500]),
        "encoder_hidden_states": torch.randn(2, 7, 24),
    }
