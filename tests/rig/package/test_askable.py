"""Settings that emulated engines cannot answer for end as not asked, each with its reason."""

import types

import pytest

from corpus.case import find_case
from harness.rig.capture.capture import CannotAsk, capture
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.package.compiling import named_by_a_user
from harness.rig.package.executor import LACKING, refits_refused, require_askable
from harness.wire.records import CellKey
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState, Stage


def package(*, python_runtime: bool) -> types.ModuleType:
    """As much of a release as is looked at."""
    made = types.ModuleType("torch_tensorrt")
    runtime = types.SimpleNamespace(**({"PythonTorchTensorRTModule": 1} if python_runtime else {}))
    made.dynamo = types.SimpleNamespace(runtime=runtime)  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("name", LACKING)
def test_a_setting_that_needs_tensorrt_is_not_asked(name):
    with pytest.raises(CannotAsk, match=f"{name} cannot be asked of emulated engines: "):
        require_askable(package(python_runtime=True), {name: True})


def test_a_setting_that_is_false_or_another_is_asked():
    off = dict.fromkeys(LACKING, False)
    require_askable(package(python_runtime=True), {**off, "immutable_weights": False})


def test_the_python_runtime_is_asked_for_where_it_has_no_effect():
    require_askable(package(python_runtime=False), {"use_python_runtime": True})


def test_what_is_not_asked_is_a_cell_with_a_reason():
    key = CellKey("a@product", "nonstrict", "2.14.0", Route.RETRACE, Lane.PACKAGE)
    record = ended_before_routes(key, CannotAsk("refit cannot be asked"), Stage.COMPILE)
    assert (record.state, record.reason) == (CellState.UNSUPPORTED, "refit cannot be asked")


def test_a_package_is_told_of_no_getitem_since_its_own_splitter_keeps_tuples_whole():
    captured = capture(find_case("chunk_as_fallback"), "nonstrict")
    assert "_operator.getitem" in captured.case.fallback, "the graph lane's splitter is told of it"
    assert named_by_a_user(captured) == ("aten.chunk.default", "aten.split.Tensor")


def test_who_refits_an_emulated_engine_is_told_that_it_has_no_refitter():
    torch_tensorrt = package(python_runtime=False)
    torch_tensorrt.dynamo.refit_module_weights = refit = object()
    with refits_refused(torch_tensorrt), pytest.raises(CannotAsk, match="has no refitter"):
        torch_tensorrt.dynamo.refit_module_weights(None)
    assert torch_tensorrt.dynamo.refit_module_weights is refit
