"""Settings that emulated engines cannot answer for end as not asked, each with its reason."""

from __future__ import annotations

import types

import pytest

from harness.rig.functional_export import CannotAsk
from harness.rig.package.askable import LACKING, require_askable
from harness.rig.pipeline import ended_before_routes
from harness.rig.records import CellKey
from harness.rig.vocabulary import CellState, Stage


def package(*, python_runtime: bool) -> types.ModuleType:
    """As much of a release as is looked at."""
    made = types.ModuleType("torch_tensorrt")
    runtime = types.SimpleNamespace(**({"PythonTorchTensorRTModule": 1} if python_runtime else {}))
    made.dynamo = types.SimpleNamespace(runtime=runtime)  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("name", LACKING)
def test_a_setting_that_needs_tensorrt_is_not_asked(name: str) -> None:
    with pytest.raises(CannotAsk, match=f"{name} cannot be asked of emulated engines: "):
        require_askable(package(python_runtime=True), {name: True})


def test_a_setting_that_is_false_or_another_is_asked() -> None:
    off = dict.fromkeys(LACKING, False)
    require_askable(package(python_runtime=True), {**off, "immutable_weights": False})


def test_the_python_runtime_is_asked_for_where_it_has_no_effect() -> None:
    require_askable(package(python_runtime=False), {"use_python_runtime": True})


def test_what_is_not_asked_is_a_cell_with_a_reason() -> None:
    key = CellKey("a@product", "nonstrict", "2.14.0", "save", "package", "segment", "emulated", "p")
    record = ended_before_routes(key, CannotAsk("refit cannot be asked"), Stage.COMPILE)
    assert (record.state, record.reason) == (CellState.UNSUPPORTED, "refit cannot be asked")
