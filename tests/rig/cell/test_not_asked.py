"""What our stand-ins lack is no verdict on a release, and what they refuse by design is one."""

from types import FunctionType
from typing import Any

import pytest
import torch

from harness.rig.cell.not_asked import not_asked
from harness.rig.engines.contract import EngineRefusal
from harness.rig.engines.module import EngineModule, engine_children
from harness.rig.inliners.builtin import BuiltinInliner
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState
from tests.mutants import Mutant
from tests.rig.conftest import cell_record

TAKES_CHILD = "        trt_module = getattr(gm, name)\n"


@pytest.fixture
def engine(prepared):
    (child, *_) = engine_children(prepared("relu_once").split).values()
    assert isinstance(child, EngineModule)
    return child


def asked_by_upstream(expression: str, **given: Any) -> BaseException:
    """What comes of an expression in a function of a module of upstream's name."""
    code = f"def ask({', '.join(given)}):\n    return {expression}\n"
    module = {"__name__": "torch_tensorrt.dynamo._exporter", "torch": torch}
    exec(code, module)
    ask = module["ask"]
    assert isinstance(ask, FunctionType)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is
        ask(**given)
    return raised.value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("child._use_python_runtime", "the emulated EngineModule lacks _use_python_runtime"),
        ("child.engine.set_group_name('a')", "the stand-in runtime's class Engine lacks set_group"),
        ("torch.ops.tensorrt.NEW_IDX()", "the stand-in runtime lacks NEW_IDX"),
        ("torch.classes.tensorrt.Cache", "the stand-in runtime lacks a class: "),
    ],
)
def test_what_a_stand_in_lacks_is_told(expression, reason, engine):
    assert (not_asked(asked_by_upstream(expression, child=engine)) or "").startswith(reason)


@pytest.mark.parametrize(
    "expression",
    [
        "[].missing",
        "torch.nn.Linear(1, 1).missing",
        "torch.ops.aten.missing",
        "child.engine.name + 1",
    ],
)
def test_what_others_objects_lack_is_a_verdict(expression):
    assert not_asked(asked_by_upstream(expression, child=[])) is None


def test_a_wrapped_cause_is_told_all_the_same(engine):
    cause = asked_by_upstream("child.missing", child=engine)
    error = RuntimeError("export failed")
    error.__cause__ = cause
    assert not_asked(error) == "the emulated EngineModule lacks missing"


def test_an_engine_that_refuses_its_inputs_is_a_verdict(engine):
    refused = asked_by_upstream("child(torch.zeros(7, 7, 7))", child=engine)
    assert isinstance(refused, EngineRefusal)
    assert not_asked(refused) is None
    too_many = asked_by_upstream("child(1, 2, 3, 4)", child=engine)
    assert isinstance(too_many, AssertionError)
    assert not_asked(too_many) is None


def test_our_code_that_raises_below_a_call_of_upstream_s_is_our_limit(engine, monkeypatch):
    monkeypatch.setattr(engine, "input_binding_names", None)
    error = asked_by_upstream("child(1)", child=engine)
    assert (not_asked(error) or "").startswith("what stands in for upstream's raised TypeError: ")


def test_our_code_that_nobody_called_is_no_stand_in():
    with pytest.raises(KeyError) as raised:
        BuiltinInliner("no such wiring")
    assert not_asked(raised.value) is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "        trt_module._use_python_runtime\n",
            "the emulated EngineModule lacks _use_python_runtime",
        ),
        (
            "        from torch_tensorrt.dynamo.runtime._TorchTensorRTModule import deserialize\n",
            "what stands around the exporter lacks a part: cannot import name 'deserialize'",
        ),
        (
            "        import tensorrt\n",
            "what stands around the exporter lacks a part: No module named 'tensorrt'",
        ),
        ("        ENABLED_FEATURES.windows\n", "the emulated EnabledFeatures lacks windows"),
        (
            "        from torch_tensorrt._Input import Input; Input()\n",
            "what stands in for upstream's raised NotImplementedError: Input is a stand-in",
        ),
    ],
)
def test_a_candidate_that_asks_more_of_a_stand_in_is_not_asked(load_mutant, prepared, line, reason):
    candidate = load_mutant(Mutant("asks_more", TAKES_CHILD, TAKES_CHILD + line))
    record = cell_record(prepared("relu_once"), candidate, Route.LEGACY)
    assert (record.state, record.verdicts) == (CellState.UNSUPPORTED, ())
    assert record.reason.startswith(reason)


def test_a_candidate_that_is_wrong_by_itself_is_judged(load_mutant, prepared):
    wrong = load_mutant(Mutant("wrong", TAKES_CHILD, TAKES_CHILD + "        gm.missing\n"))
    record = cell_record(prepared("relu_once"), wrong, Route.LEGACY)
    assert record.state is CellState.ENDED
    assert record.label == "error@inline-engines"
