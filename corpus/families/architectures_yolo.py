"""A YOLO-like network at small size, with random weights."""

from __future__ import annotations

from corpus.case import Family, Program, case
from corpus.families.architectures import GETITEM, SIGMOID, TOPK, dynamic
from corpus.families.architectures_hub import SILU
from corpus.families.architectures_sequential import CHUNK, SOFTMAX
from corpus.inputs import floats
from corpus.models.yolo import Yolo


@case(
    Family.ARCHITECTURES,
    catches="a YOLO-like head whose chunk, split and topk fall back; lists in lists are returned",
    fallback=[CHUNK, "aten.split_with_sizes.default", TOPK, GETITEM, "aten.split.Tensor"],
    wiring=True,
)
def yolo_chunk() -> Program:
    return Program(floats((2, 3, 8, 8)), model=Yolo())


@case(
    Family.ARCHITECTURES,
    catches="a YOLO-like head whose softmax falls back on four chunks of an engine, twice",
    fallback=[*SOFTMAX, SIGMOID],
    wiring=True,
    full=True,
)
def yolo_softmax() -> Program:
    return Program(floats((2, 3, 8, 8)), model=Yolo())


@case(
    Family.ARCHITECTURES,
    catches="a YOLO-like network with a dynamic batch whose silu falls back around channel halves",
    fallback=[SILU, "aten.sigmoid.default"],
    # The sigmoid of a strided slice is scalar code in eager and vector code behind an engine.
    eager_tolerance=1e-5,
    wiring=True,
    dynamic=True,
)
def yolo_silu_dynamic() -> Program:
    return dynamic(Yolo(), (3, 8, 8))
