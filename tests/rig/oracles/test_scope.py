"""Sizes of two programs are compared by what they stand for."""

import io

import torch
from torch.export import ExportedProgram

from harness.rig.oracles.scope import Scope


class Frames(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.arange(torch.sym_min(x.shape[0] - 1, 3) + torch.sym_max(x.shape[0], 2))


def size_returned(program: ExportedProgram) -> object:
    (output,) = program.graph.output_node().args[0]
    return Scope.of(program.graph).canonical(output.meta["val"].shape[0])


def test_the_smaller_or_larger_of_two_sizes_is_the_same_in_a_program_that_is_back_from_disk():
    batch = torch.export.Dim("batch", min=2, max=9)
    program = torch.export.export(Frames(), (torch.randn(4, 2),), dynamic_shapes=({0: batch},))
    archive = io.BytesIO()
    torch.export.save(program, archive)
    archive.seek(0)
    assert size_returned(program) == size_returned(torch.export.load(archive))
