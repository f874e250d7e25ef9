"""More real architectures of the `transformers` package, at small size, with random weights.

Dynamic cases as in `corpus.families.architectures_hub`: no engine reshapes by a batch size that
another one read.
"""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.architectures import GETITEM, SIGMOID, SPLIT, dynamic
from corpus.families.architectures_hub import GELU, HUB, LAYER_NORM, dynamic_tokens, tokens
from corpus.families.architectures_sequential import SOFTMAX, TANH
from corpus.families.attributes import LINEAR
from corpus.inputs import floats
from corpus.models.hub import VOCABULARY
from corpus.models.hub2 import Clip, ClipVision, Gpt2, Whisper, WhisperEncoder


def _ids_and_images(generator: torch.Generator, size: int | None) -> Inputs:
    ids = torch.randint(VOCABULARY, (2, 6), generator=generator)
    return Inputs((ids, torch.randn(2, 3, 8, 8, generator=generator)))


def _spectrogram_and_ids(generator: torch.Generator, size: int | None) -> Inputs:
    spectrogram = torch.randn(2, 4, 8, generator=generator)
    return Inputs((spectrogram, torch.randint(VOCABULARY, (2, 4), generator=generator)))


@case(
    Family.ARCHITECTURES,
    catches="a GPT-2 whose split into query, key and value falls back with its three getitems",
    fallback=[SPLIT, GETITEM],
    wiring=True,
    requires=HUB,
)
def gpt2_split() -> Program:
    return Program(tokens((2, 6)), model=Gpt2())


@case(
    Family.ARCHITECTURES,
    catches="a GPT-2 whose tanh and softmax fall back between residual sums of one engine",
    fallback=[*SOFTMAX, TANH],
    wiring=True,
    requires=HUB,
    full=True,
)
def gpt2_softmax() -> Program:
    return Program(tokens((2, 6)), model=Gpt2())


@case(
    Family.ARCHITECTURES,
    catches="a GPT-2 with a dynamic batch whose head falls back with the weight of its embedding",
    fallback=[*LINEAR, "aten.embedding.default", "aten.mm.default"],
    requires=HUB,
    dynamic=True,
)
def gpt2_tied_head_dynamic() -> Program:
    return dynamic_tokens(Gpt2(), 6)


@case(
    Family.ARCHITECTURES,
    catches="a CLIP whose softmax falls back in both towers, engines of one beside the other's",
    fallback=[*SOFTMAX],
    wiring=True,
    requires=HUB,
)
def clip_softmax() -> Program:
    return Program(_ids_and_images, model=Clip())


@case(
    Family.ARCHITECTURES,
    catches="a CLIP's image tower whose layer norms fall back, weights with them",
    fallback=[LAYER_NORM, "aten.native_layer_norm.default"],
    requires=HUB,
    full=True,
)
def clip_layer_norm() -> Program:
    return Program(floats((2, 3, 8, 8)), model=ClipVision())


@case(
    Family.ARCHITECTURES,
    catches="a CLIP's image tower with a dynamic batch whose sigmoid falls back, its input kept",
    fallback=[SIGMOID],
    wiring=True,
    requires=HUB,
    dynamic=True,
)
def clip_sigmoid_dynamic() -> Program:
    return dynamic(ClipVision(), (3, 8, 8))


@case(
    Family.ARCHITECTURES,
    catches="a Whisper whose softmax falls back three times, the encoder's output read by one",
    fallback=[*SOFTMAX],
    wiring=True,
    requires=HUB,
    full=True,
)
def whisper_softmax() -> Program:
    return Program(_spectrogram_and_ids, model=Whisper())


@case(
    Family.ARCHITECTURES,
    catches="a Whisper encoder whose sums fall back, each read by a norm and by the next sum",
    fallback=["aten.add.Tensor"],
    wiring=True,
    requires=HUB,
)
def whisper_add() -> Program:
    return Program(floats((2, 4, 8)), model=WhisperEncoder())


@case(
    Family.ARCHITECTURES,
    catches="a Whisper encoder with a dynamic batch of spectrograms whose gelus fall back",
    fallback=[GELU],
    wiring=True,
    requires=HUB,
    dynamic=True,
)
def whisper_gelu_dynamic() -> Program:
    return dynamic(WhisperEncoder(), (4, 8))
