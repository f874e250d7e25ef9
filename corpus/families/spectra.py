"""Complex values that a model makes of real ones: spectra, and numbers put together of two parts.

Lowering writes complex values as pairs of reals, but the ops that make these stay in PyTorch, and
return complex tensors. They are for the package lane alone: the graph lane lowers nothing.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Program, case
from corpus.families.alternating_relu import RELU
from corpus.inputs import floats


class Loudness(torch.nn.Module):
    """The mean magnitude of a signal's spectrum, as a feature of a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(4, 8)

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(torch.relu(self.project(signal)))
        return spectrum.abs().mean(-1) * 2


@case(
    Family.TYPES,
    catches="the magnitude of a spectrum, of which two frequencies are taken for its two parts",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=("package",),
)
def loudness_of_a_spectrum() -> Program:
    return Program(floats((2, 3, 4)), model=Loudness())


class Filtered(torch.nn.Module):
    """A learned filter on frequencies, as Fourier neural operators and GFNet have it."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = torch.nn.Parameter(torch.randn(5, dtype=torch.complex64))

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(torch.relu(signal)) * self.filter
        return torch.fft.irfft(spectrum, n=8) * 2 + signal


@case(
    Family.TYPES,
    catches="a spectrum times complex weights, which are pairs of reals by then",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=("package",),
)
def spectrum_filtered() -> Program:
    return Program(floats((2, 8)), model=Filtered())


class ThereAndBack(torch.nn.Module):
    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(torch.fft.rfft(torch.relu(signal)), n=8) * 2


@case(
    Family.TYPES,
    catches="a spectrum that goes from one op in PyTorch to the next, and to no engine",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=("package",),
)
def spectrum_there_and_back() -> Program:
    return Program(floats((2, 8)), model=ThereAndBack())


class Spectrogram(torch.nn.Module):
    """Frames of a signal as magnitudes of frequencies, the front end of most models of speech."""

    window: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(8))

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        frames = torch.stft(torch.relu(signal), 8, 4, window=self.window, return_complex=True)
        return torch.log1p(frames.abs()) * 2


@case(
    Family.TYPES,
    catches="a spectrogram, whose frames are turned as if they were pairs of reals",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=("package",),
)
def spectrogram() -> Program:
    return Program(floats((2, 32)), model=Spectrogram())


class Power(torch.nn.Module):
    """The power of each frequency, as a spectrogram has it before its filters."""

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(torch.relu(signal))
        return spectrum.real**2 + spectrum.imag**2 + 1


@case(
    Family.TYPES,
    catches="the two parts of a spectrum, which are taken out of one dimension too many",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=("package",),
)
def power_of_a_spectrum() -> Program:
    return Program(floats((2, 8)), model=Power())


class PutTogether(torch.nn.Module):
    """Gains out of two channels that stand for a real and an imaginary part."""

    def forward(self, re: torch.Tensor, im: torch.Tensor) -> torch.Tensor:
        return torch.complex(torch.relu(re), im).abs().sum() * 2


@case(
    Family.TYPES,
    catches="a complex number that is put together of two reals, and then taken apart elsewhere",
    fallback=[RELU],
    eager_tolerance=1e-5,
    lanes=("package",),
)
def complex_put_together() -> Program:
    return Program(floats((2, 4), (2, 4)), model=PutTogether())
