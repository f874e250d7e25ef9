"""The functional export as a capture mode, and what a torch without it is asked."""

from typing import Any

import pytest
import torch
from torch._dynamo import functional_export

from corpus.case import Family, all_cases, find_case
from harness.rig.capture.capture import capture
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared, prepare
from harness.rig.clock import StageClock
from harness.wire.records import CellKey
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState

CASES = [case for case in all_cases() if case.family is Family.FUNCTIONAL_EXPORT]


def test_the_family_is_captured_by_the_functional_export_whatever_a_run_asks_for(monkeypatch):
    seen = []
    original = functional_export._dynamo_graph_capture_for_export

    def spy(*args: Any, **kwargs: Any) -> Any:
        seen.append(args[0])
        return original(*args, **kwargs)

    monkeypatch.setattr(functional_export, "_dynamo_graph_capture_for_export", spy)
    with torch._export.config.patch(use_new_tracer_experimental=False):
        capture(find_case("functional_outputs_and_inputs"), "nonstrict")
        assert len(seen) == 1
        capture(find_case("relu_once"), "strict")
        assert len(seen) == 1
        capture(find_case("relu_once"), "functional")
        assert len(seen) == 2


def test_every_case_of_the_family_says_so():
    assert {case.capture for case in CASES} == {"functional"}
    assert all(case.capture is None for case in all_cases() if case not in CASES)


def test_a_torch_that_cannot_be_asked_gives_no_verdict(monkeypatch):
    """As torch 2.9, whose strict export has no such tracer."""
    monkeypatch.setattr("harness.rig.capture.capture.export_config", None)
    case = CASES[0]
    with pytest.raises(NotPrepared) as caught:
        prepare(case, "nonstrict", 0, StageClock())
    key = CellKey(case.name, "functional", "2.14.0", Route.LEGACY)
    record = ended_before_routes(key, caught.value.cause, caught.value.stage)
    assert record.state is CellState.UNSUPPORTED
    assert "2.10 brought it" in record.reason
    assert not record.verdicts
