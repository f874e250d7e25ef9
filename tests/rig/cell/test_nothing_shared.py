"""Nothing that one subject is given is what another is given: no order of subjects shows."""

import copy
import dataclasses

import pytest
import torch

from corpus.case import Case, Family, Inputs, Origin, Program
from corpus.inputs import DYNAMIC, floats
from harness.rig.cell.pipeline import inline_again
from harness.rig.cell.prepare import PreparedCase, prepare
from harness.rig.cell.sharing import Shared
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inliner
from harness.wire.oracles import Oracle
from harness.wire.routes import Route
from tests.rig.conftest import cell_record, said


class WritesToItsInput(torch.nn.Module):
    """What it returns depends on how often it was run on the same tensor."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)  # first: a splitter moves it there, whatever reads the input before
        return x * 2


def written() -> Program:
    return Program(floats((3, 4)), model=WritesToItsInput())


CASE = Case(
    "writes_to_its_input",
    Family.INTERFACES,
    Origin.EXPORTED,
    "a subject that runs the model on what another is given",
    written,
    fallback=("aten.add_.Tensor", "aten.add.Tensor", "aten.copy_.default"),
)
CELLS = (("2.4.0", "legacy"), ("2.5.0", "legacy"), ("2.14.0", "export"), ("torch", "plain"))


@pytest.fixture
def fresh():
    return prepare(CASE, "nonstrict", 0, StageClock())


class Stacks(torch.nn.Module):
    def forward(self, *rows: torch.Tensor) -> torch.Tensor:
        return torch.relu(rows[0] + rows[1]) * 2


def stacked() -> Program:
    dim = torch.export.Dim("rows", min=1, max=8)
    shapes = (({0: dim}, {0: dim}),)
    inputs = floats((DYNAMIC, 4), (DYNAMIC, 4))
    return Program(inputs, model=Stacks(), dynamic_shapes=shapes, bounds=(1, 8))


def run(prepared: PreparedCase, inliners: dict[str, Inliner], subject: str, route: str) -> object:
    return said(cell_record(prepared, inliners[subject], route))


@pytest.mark.parametrize("version", ["2.12.1", "2.13.0", "2.14.0"])
def test_dynamic_shapes_of_star_arguments_harm_who_gives_them_alone(inliners, version):
    """`save(retrace=False)` gives an exporter none, and so works; its legacy route is no other."""
    case = dataclasses.replace(CASE, name="stacks", build=stacked, fallback=("aten.relu.default",))
    prepared = prepare(case, "nonstrict", 0, StageClock())
    ended = {}
    for route in ("legacy", "legacy-no-inputs", "legacy-dynamic"):
        record = cell_record(prepared, inliners[version], route)
        ended[route] = record.verdict(Oracle.COMPLETION).label
    assert ended == {"legacy": "ok", "legacy-no-inputs": "ok", "legacy-dynamic": "error@export"}


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("cells", [CELLS, CELLS[::-1]])
def test_a_model_that_writes_to_its_input_is_judged_as_if_each_subject_were_alone(
    inliners, share, cells
):
    together = prepare(CASE, "nonstrict", 0, StageClock())
    together.shared = Shared() if share else None
    for subject, route in cells:
        alone = run(prepare(CASE, "nonstrict", 0, StageClock()), inliners, subject, route)
        assert run(together, inliners, subject, route) == alone, subject


def test_the_example_stays_what_it_was_when_it_is_inlined_again(inliners, fresh):
    before = copy.deepcopy(fresh.captured.example)
    inline_again(inliners["2.4.0"], fresh, Route.LEGACY, StageClock())
    assert isinstance(before, Inputs)
    torch.testing.assert_close(fresh.captured.example.args, before.args, rtol=0, atol=0)
