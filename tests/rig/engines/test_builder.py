import pytest
import torch
from torch.fx import GraphModule

from harness.rig.engines.builder import (
    behind,
    build_segment_engine,
    load_segment,
    payload_contract,
    real_engine_bytes,
)
from harness.rig.engines.contract import UnsupportedSegment, fraction_binding


def exported(model: torch.nn.Module, *inputs: torch.Tensor) -> GraphModule:
    return torch.export.export(model, inputs).module(check_guards=False)


SHAPES = ({0: torch.export.Dim("n", min=2, max=8)},)


class Plus(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def test_ballast_makes_the_payload_larger_and_nothing_else():
    segment = exported(Plus(), torch.ones(2))
    bare = build_segment_engine("_run_on_acc_0", segment)
    heavy = build_segment_engine("_run_on_acc_0", segment, ballast_bytes=1000)
    assert len(heavy.payload) == len(bare.payload) + 1000
    x = torch.randn(2)
    assert torch.equal(load_segment(heavy.payload)(x)[0], load_segment(bare.payload)(x)[0])


def test_ballast_is_the_same_on_every_build():
    segment = exported(Plus(), torch.ones(2))
    payloads = {build_segment_engine("_run_on_acc_0", segment, 64).payload for _ in range(2)}
    assert len(payloads) == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int16])
def test_types_that_tensorrt_lacks_are_refused(dtype):
    with pytest.raises(UnsupportedSegment, match="TensorRT lacks"):
        build_segment_engine("_run_on_acc_0", exported(Plus(), torch.ones(2, dtype=dtype)))


def test_neither_a_tensor_nor_a_size_as_an_output_is_refused():
    class Flag(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, float]:
            return x + 1, x.shape[0] / 2

    program = torch.export.export(Flag(), (torch.ones(3),), dynamic_shapes=SHAPES)
    with pytest.raises(UnsupportedSegment, match="output truediv is a SymFloat, an engine takes"):
        build_segment_engine("_run_on_acc_0", program.module(check_guards=False))


class TestBehindRealBytes:
    def payload(self) -> bytes:
        return build_segment_engine(
            "e", exported(Plus(), torch.ones(3, 4)), ballast_bytes=5
        ).payload

    def test_engine_bytes_and_what_travels_behind_them_are_told_apart(self):
        carried = behind(b"real engine", self.payload())
        assert real_engine_bytes(carried) == b"real engine"
        assert real_engine_bytes(self.payload()) == b""
        assert real_engine_bytes(b"real engine") == b"real engine"

    def test_a_carried_segment_computes_and_promises_the_same(self):
        carried = behind(b"real engine", self.payload())
        x = torch.randn(3, 4)
        assert torch.equal(load_segment(carried)(x)[0], load_segment(self.payload())(x)[0])
        assert payload_contract(carried) == payload_contract(self.payload())

    def test_bytes_without_a_segment_are_told_so(self):
        with pytest.raises(ValueError, match="no segment in these engine bytes"):
            load_segment(b"real engine")


def test_a_fraction_is_given_to_an_engine_as_a_float32_of_any_size():
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
            return x * by.item()

    program = torch.export.export(Scaled(), (torch.ones(3), torch.tensor(0.5)))
    (number,) = (
        node.meta["val"]
        for node in program.graph.nodes
        if isinstance(node.meta.get("val"), torch.SymFloat)
    )
    binding = fraction_binding(number)
    given = torch.tensor(0.37)
    assert binding.dtype is given.dtype
    assert binding.into_segment(given) == given.item()


def test_an_engine_makes_tensors_of_a_size_that_varies():
    class Padded(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, torch.full((2, x.shape[0]), 3.0).T], 1)

    program = torch.export.export(Padded(), (torch.ones(3, 4),), dynamic_shapes=SHAPES)
    payload = build_segment_engine("_run_on_acc_0", program.module(check_guards=False)).payload
    for rows in (2, 5):
        x = torch.randn(rows, 4)
        assert torch.equal(load_segment(payload)(x)[0], Padded()(x))
