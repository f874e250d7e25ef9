"""Real architectures of the `transformers` package at small size, with random weights.

Their code reads the batch size once and reshapes by it all the way, and no TensorRT engine returns
a number. So a dynamic case lets an op fall back after which nothing is reshaped any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.architectures import RELU, dynamic
from corpus.families.architectures_sequential import SOFTMAX
from corpus.families.attributes import LINEAR
from corpus.families.dynamic_shapes import BOUNDS, batch
from corpus.inputs import DYNAMIC, dynamic_size, floats
from corpus.models.hub import T5, VOCABULARY, Bert, Llama, T5Encoder, Vit

GELU = "aten.gelu.default"
SILU = "aten.silu.default"
LAYER_NORM = "aten.layer_norm.default"
HUB = ("transformers",)


def tokens(*shapes: Sequence[int]) -> Callable[[torch.Generator, int | None], Inputs]:
    """Positional tensors of token ids."""

    def make(generator: torch.Generator, size: int | None) -> Inputs:
        chosen = dynamic_size(size)
        sizes = [[chosen if n == DYNAMIC else n for n in shape] for shape in shapes]
        return Inputs(
            tuple(torch.randint(VOCABULARY, shape, generator=generator) for shape in sizes)
        )

    return make


def dynamic_tokens(model: torch.nn.Module, length: int) -> Program:
    return Program(tokens((DYNAMIC, length)), model=model, dynamic_shapes=batch(), bounds=BOUNDS)


@case(
    Family.ARCHITECTURES,
    catches="a BERT whose softmax falls back between query, key and value of one engine",
    fallback=[*SOFTMAX],
    wiring=True,
    requires=HUB,
)
def bert_softmax() -> Program:
    return Program(tokens((2, 6)), model=Bert())


@case(
    Family.ARCHITECTURES,
    catches="a BERT whose layer norms fall back with weights, each read again by a residual sum",
    fallback=[LAYER_NORM, "aten.native_layer_norm.default"],
    requires=HUB,
    full=True,
)
def bert_layer_norm() -> Program:
    return Program(tokens((2, 6)), model=Bert())


@case(
    Family.ARCHITECTURES,
    catches="a BERT with a dynamic batch of tokens whose gelu and pooler's tanh fall back",
    fallback=[GELU, "aten.tanh.default"],
    wiring=True,
    requires=HUB,
    dynamic=True,
)
def bert_gelu_dynamic() -> Program:
    return dynamic_tokens(Bert(), 6)


@case(
    Family.ARCHITECTURES,
    catches="a ViT whose softmax and gelu fall back, the residual read across both",
    fallback=[*SOFTMAX, GELU],
    wiring=True,
    requires=HUB,
)
def vit_softmax() -> Program:
    return Program(floats((2, 3, 8, 8)), model=Vit())


@case(
    Family.ARCHITECTURES,
    catches="a ViT whose layer norms fall back: one's output feeds query, key and value",
    fallback=[LAYER_NORM, "aten.native_layer_norm.default"],
    requires=HUB,
    full=True,
)
def vit_layer_norm() -> Program:
    return Program(floats((2, 3, 8, 8)), model=Vit())


@case(
    Family.ARCHITECTURES,
    catches="a ViT with a dynamic batch, its class token expanded to it, whose gelu falls back",
    fallback=[GELU],
    wiring=True,
    requires=HUB,
    dynamic=True,
)
def vit_gelu_dynamic() -> Program:
    return dynamic(Vit(), (3, 8, 8))


@case(
    Family.ARCHITECTURES,
    catches="an encoder-decoder T5 whose softmax falls back: two engines cross in the decoder",
    fallback=[*SOFTMAX],
    wiring=True,
    requires=HUB,
)
def t5_softmax() -> Program:
    return Program(tokens((2, 5), (2, 4)), model=T5())


@case(
    Family.ARCHITECTURES,
    catches="a T5 whose embedding table is one weight of three: tokens on both sides, positions",
    fallback=["aten.embedding.default"],
    requires=HUB,
    full=True,
)
def t5_embedding() -> Program:
    return Program(tokens((2, 5), (2, 4)), model=T5())


@case(
    Family.ARCHITECTURES,
    catches="a T5 encoder with a dynamic batch whose relu falls back after all reshaping",
    fallback=[RELU],
    wiring=True,
    requires=HUB,
    dynamic=True,
)
def t5_relu_dynamic() -> Program:
    return dynamic_tokens(T5Encoder(), 5)


@case(
    Family.ARCHITECTURES,
    catches="a Llama whose rotary halves fall back: two values, two readers each, grouped keys",
    fallback=["aten.neg.default", *SOFTMAX],
    wiring=True,
    requires=HUB,
    full=True,
)
def llama_rotary() -> Program:
    return Program(tokens((2, 6)), model=Llama())


@case(
    Family.ARCHITECTURES,
    catches="a Llama whose projections fall back: seven weights, one value read by three of them",
    fallback=[*LINEAR, "aten.mm.default"],
    requires=HUB,
)
def llama_linear() -> Program:
    return Program(tokens((2, 6)), model=Llama())


@case(
    Family.ARCHITECTURES,
    catches="a Llama with a dynamic batch whose gated silu falls back between two outputs",
    fallback=[SILU, "aten.sigmoid.default"],
    wiring=True,
    requires=HUB,
    dynamic=True,
)
def llama_silu_dynamic() -> Program:
    return dynamic_tokens(Llama(), 6)
