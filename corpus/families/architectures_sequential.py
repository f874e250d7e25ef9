"""Real architectures at small size, with random weights: over sequences, sets and graphs."""

from __future__ import annotations

import torch

from corpus.case import Family, Inputs, Program, case
from corpus.families.architectures import GETITEM, RELU, SIGMOID, SPLIT, TOPK, dynamic
from corpus.families.attributes import LINEAR
from corpus.families.dynamic_shapes import BOUNDS
from corpus.inputs import dynamic_size, floats
from corpus.models.sequential import (
    DiffusionBlock,
    Encoder,
    Experts,
    GraphAttention,
    GruCell,
    LstmCell,
    LstmLayer,
)

#: As torch.export names it, and as lowering does.
SOFTMAX = ("aten.softmax.int", "aten._softmax.default")
TANH = "aten.tanh.default"
CHUNK = "aten.chunk.default"
LSTM = "aten.lstm.input"


def _sequence_and_state(generator: torch.Generator, size: int | None) -> Inputs:
    batch = dynamic_size(size)
    x = torch.randn(batch, 3, 8, generator=generator)
    hidden, cell = (torch.randn(1, batch, 8, generator=generator) for _ in range(2))
    return Inputs((x, (hidden, cell)))


@case(
    Family.ARCHITECTURES,
    catches="an LSTM that falls back whole: three outputs, nested state, four weights in a list",
    fallback=[LSTM, GETITEM],
)
def lstm_layer() -> Program:
    return Program(_sequence_and_state, model=LstmLayer())


@case(
    Family.ARCHITECTURES,
    catches="an LSTM with a dynamic batch that falls back together with the relus around it",
    fallback=[LSTM, GETITEM, RELU],
    dynamic=True,
)
def lstm_layer_dynamic() -> Program:
    dim = torch.export.Dim("batch", min=BOUNDS[0], max=BOUNDS[1])
    shapes = ({0: dim}, ({1: dim}, {1: dim}))
    return Program(_sequence_and_state, model=LstmLayer(), dynamic_shapes=shapes, bounds=BOUNDS)


@case(
    Family.ARCHITECTURES,
    catches="an unrolled LSTM whose gates fall back: four elements of a chunk a step, by kind",
    fallback=[SIGMOID, TANH],
    wiring=True,
    # Eager takes the sigmoid of a strided slice, the split of an engine's contiguous output: on
    # AVX2 that is scalar code against vector code, and the last bits differ.
    eager_tolerance=1e-6,
)
def lstm_cell_gates() -> Program:
    return Program(floats((2, 3, 8), (2, 8), (2, 8)), model=LstmCell())


@case(
    Family.ARCHITECTURES,
    catches="an unrolled LSTM with a dynamic batch whose chunk falls back with four outputs a step",
    fallback=[CHUNK, "aten.unbind.int", GETITEM, "aten.split.Tensor"],
    wiring=True,
    dynamic=True,
)
def lstm_cell_chunk_dynamic() -> Program:
    return dynamic(LstmCell(), (3, 8), (8,), (8,))


@case(
    Family.ARCHITECTURES,
    catches="an unrolled GRU whose tanh falls back between two chunks of three",
    fallback=[TANH],
    wiring=True,
)
def gru_tanh() -> Program:
    return Program(floats((2, 3, 8), (2, 8)), model=GruCell())


@case(
    Family.ARCHITECTURES,
    catches="an unrolled GRU with a dynamic batch whose linears fall back: one weight every step",
    fallback=[*LINEAR],
    dynamic=True,
)
def gru_linear_dynamic() -> Program:
    return dynamic(GruCell(), (3, 8), (8,))


@case(
    Family.ARCHITECTURES,
    catches="a transformer encoder whose softmax falls back between multi-output engines",
    fallback=[*SOFTMAX],
    wiring=True,
)
def encoder_softmax() -> Program:
    return Program(floats((2, 12, 16)), model=Encoder())


@case(
    Family.ARCHITECTURES,
    catches="a transformer encoder with a dynamic batch whose layer norms and relus fall back",
    fallback=[RELU, "aten.layer_norm.default", "aten.native_layer_norm.default"],
    wiring=True,
    dynamic=True,
)
def encoder_norm_dynamic() -> Program:
    return dynamic(Encoder(layers=1), (12, 16))


@case(
    Family.ARCHITECTURES,
    catches="a mixture of experts whose routing falls back: topk, scatter by its indices, split",
    fallback=[TOPK, "aten.scatter.src", SPLIT, GETITEM],
    wiring=True,
)
def experts_topk() -> Program:
    return Program(floats((2, 4, 8)), model=Experts())


@case(
    Family.ARCHITECTURES,
    catches="a mixture of experts with a dynamic batch: relus of three branches over one value",
    fallback=[RELU, *SOFTMAX],
    wiring=True,
    dynamic=True,
)
def experts_relu_dynamic() -> Program:
    return dynamic(Experts(), (4, 8))


@case(
    Family.ARCHITECTURES,
    catches="graph attention whose scores fall back: two heads' chunks cross in leaky relus",
    fallback=["aten.leaky_relu.default", "aten.elu.default"],
    wiring=True,
)
def graph_attention_leaky_relu() -> Program:
    return Program(floats((2, 6, 8)), model=GraphAttention())


@case(
    Family.ARCHITECTURES,
    catches="graph attention with a dynamic batch whose masks fall back: one buffer, four readers",
    fallback=["aten.masked_fill.Scalar", *SOFTMAX],
    dynamic=True,
)
def graph_attention_masked_dynamic() -> Program:
    return dynamic(GraphAttention(), (6, 8))


@case(
    Family.ARCHITECTURES,
    catches="a diffusion block whose group norms fall back, with weights, around a time embedding",
    fallback=["aten.group_norm.default", "aten.native_group_norm.default"],
    full=True,
)
def diffusion_group_norm() -> Program:
    return Program(floats((2, 8, 4, 4), (2,)), model=DiffusionBlock())


@case(
    Family.ARCHITECTURES,
    catches="a diffusion block whose chunks fall back: scale and shift, query, key and value",
    fallback=[CHUNK, GETITEM, "aten.split.Tensor"],
    wiring=True,
)
def diffusion_chunk() -> Program:
    return Program(floats((2, 8, 4, 4), (2,)), model=DiffusionBlock())


@case(
    Family.ARCHITECTURES,
    catches="a diffusion block with a dynamic batch of images and times, two kinds of fallback",
    fallback=["aten.silu.default", *SOFTMAX],
    wiring=True,
    dynamic=True,
)
def diffusion_silu_dynamic() -> Program:
    return dynamic(DiffusionBlock(), (8, 4, 4), ())
