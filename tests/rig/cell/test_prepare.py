"""What is prepared once for all cells of a case."""

import copy

import pytest
import torch
from torch.fx import symbolic_trace

from corpus.case import Case, Family, Inputs, Origin, Program
from corpus.inputs import floats
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import (
    NotPrepared,
    WrongSplit,
    fingerprint,
    prepare,
)
from harness.rig.clock import StageClock
from harness.rig.oracles.observing import observe, observe_unchanged
from harness.wire.records import CellKey
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState


@pytest.mark.parametrize(
    ("case", "steps"), [("relu_once", 2), ("fan_in_of_twelve", 3), ("chain_of_nine", 18)]
)
def test_steps_are_the_engines_and_the_fallbacks_of_the_split(prepared, case, steps):
    assert prepared(case).steps == steps


class OtherwiseWhenExported(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + (2 if torch.compiler.is_exporting() else 1)


def test_a_split_that_differs_from_eager_is_one_fact_about_the_case_and_no_verdict():
    case = Case(
        "otherwise_when_exported",
        Family.FOUND,
        Origin.EXPORTED,
        "a split that does not compute what the model does",
        lambda: Program(floats((2, 3)), model=OtherwiseWhenExported()),
        ("aten.relu.default",),
    )
    with pytest.raises(NotPrepared) as raised:
        prepare(case, "nonstrict", 0, StageClock())
    assert isinstance(raised.value.cause, WrongSplit)
    key = CellKey(case.name, "nonstrict", "2.14.0", Route.EXPORT)
    record = ended_before_routes(key, raised.value.cause, raised.value.stage)
    assert (record.state, record.failures) == (CellState.UNSUPPORTED, ())
    assert "numbers differ" in record.reason


class CountsBesideAHistory(torch.nn.Module):
    """It counts its calls, and returns a tensor that has a history, which torch does not copy."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("scale", torch.nn.Parameter(torch.full((3,), 2.0)) * 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.calls.copy_(self.calls + torch.ones_like(x).mean())
        return x * self.scale + self.calls, self.scale


def test_a_module_that_cannot_be_copied_is_called_itself_and_is_as_before():
    module = symbolic_trace(CountsBesideAHistory())
    calls = [Inputs((torch.ones(2, 3),)), Inputs((torch.zeros(2, 3),))]
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(module)
    before = fingerprint(module)
    seen = observe_unchanged(module, calls)
    assert fingerprint(module) == before
    module.scale = module.scale.detach()
    assert seen.difference(observe(module, calls)) is None
    assert fingerprint(module) != before
