"""What is prepared once for all cells of a case."""

import pytest
import torch

from corpus.case import Case, Family, Origin, Program
from corpus.inputs import floats
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared, WrongSplit, prepare
from harness.rig.clock import StageClock
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
