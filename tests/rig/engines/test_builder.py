from __future__ import annotations

import pytest
import torch
from torch.fx import GraphModule

from harness.rig.engines.builder import build_segment_engine, load_segment
from harness.rig.engines.contract import UnsupportedSegment


def exported(model: torch.nn.Module, *inputs: torch.Tensor) -> GraphModule:
    return torch.export.export(model, inputs).module(check_guards=False)


class Plus(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_ballast_makes_the_payload_larger_and_nothing_else() -> None:
    segment = exported(Plus(), torch.ones(2))
    bare = build_segment_engine("_run_on_acc_0", segment)
    heavy = build_segment_engine("_run_on_acc_0", segment, ballast_bytes=1000)
    assert len(heavy.payload) == len(bare.payload) + 1000
    x = torch.randn(2)
    assert torch.equal(load_segment(heavy.payload)(x)[0], load_segment(bare.payload)(x)[0])


def test_ballast_is_the_same_on_every_build() -> None:
    segment = exported(Plus(), torch.ones(2))
    payloads = {build_segment_engine("_run_on_acc_0", segment, 64).payload[-72:] for _ in range(2)}
    assert len(payloads) == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int16])
def test_types_that_tensorrt_lacks_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(UnsupportedSegment, match="TensorRT lacks"):
        build_segment_engine("_run_on_acc_0", exported(Plus(), torch.ones(2, dtype=dtype)))


def test_a_size_as_an_output_is_refused() -> None:
    class Size(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> int:
            return x.shape[0] * 2

    shapes = ({0: torch.export.Dim("n", min=2, max=8)},)
    program = torch.export.export(Size(), (torch.ones(3),), dynamic_shapes=shapes)
    with pytest.raises(UnsupportedSegment, match="not a tensor"):
        build_segment_engine("_run_on_acc_0", program.module(check_guards=False))
