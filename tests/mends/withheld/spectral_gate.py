"""Speech denoising in the frequency domain: a mask from magnitudes, phases as they came."""

import torch
from torch import nn


class SpectralGate(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        bins = size // 2 + 1
        self.size = size
        self.mask = nn.Sequential(nn.Linear(bins, 24), nn.SiLU(), nn.Linear(24, bins))

    def forward(self, frames):
        spectrum = torch.fft.rfft(frames, dim=-1)
        magnitude = spectrum.abs()
        gate = torch.sigmoid(self.mask(torch.log1p(magnitude)))
        clean = torch.fft.irfft(spectrum * gate, n=self.size, dim=-1)
        return clean, (1 - gate).mean(dim=(1, 2))


def example():
    return (torch.randn(2, 5, 32),)
