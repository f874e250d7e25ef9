"""Every way to lose state is found, and nothing is where none was lost."""

import base64
import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from harness.rig.cell.prepare import PreparedCase
from harness.rig.engines.emulated import METADATA_SLOT, engine_slots
from harness.rig.oracles import state
from harness.rig.oracles.observing import content_digest
from harness.rig.oracles.state import ExpectedState, Held, Role, State
from harness.wire.vocabulary import Stage
from tests.rig.conftest import inlined, reloaded

ENGINE = "_run_on_acc_0_engine"


def exported(case: PreparedCase) -> ExportedProgram:
    """A correct program of a case, from disk, so that a test may spoil it."""
    return reloaded(inlined(case), case)


def kinds(case: PreparedCase, program: ExportedProgram) -> set[str]:
    # Its own digest: the reader's remembers what a tensor was before a test wrote to it.
    found = state.check_program(case.state, program, content_digest, Stage.LOAD)
    return {finding.kind for finding in found}


def spec_of(program: ExportedProgram, name: str) -> Any:
    return next(spec for spec in program.graph_signature.input_specs if spec.target == name)


def replace(program: ExportedProgram, name: str, tensor: torch.Tensor) -> None:
    program.state_dict[name] = tensor


def another_value(program: ExportedProgram) -> None:
    program.state_dict["norm.weight"].data[0] += 1


def another_dtype(program: ExportedProgram) -> None:
    replace(program, "norm.running_mean", program.state_dict["norm.running_mean"].double())


def frozen(program: ExportedProgram) -> None:
    program.state_dict["norm.weight"].requires_grad_(False)


def a_parameter_as_a_buffer(program: ExportedProgram) -> None:
    spec = spec_of(program, "norm.weight")
    spec.kind, spec.persistent = InputKind.BUFFER, True
    replace(program, "norm.weight", program.state_dict["norm.weight"].detach())


def not_persistent(program: ExportedProgram) -> None:
    spec_of(program, "norm.running_var").persistent = False
    program.constants["norm.running_var"] = program.state_dict.pop("norm.running_var")


def persistent_by_the_signature_only(program: ExportedProgram) -> None:
    program.constants["norm.running_var"] = program.state_dict.pop("norm.running_var")


def dropped(program: ExportedProgram) -> None:
    del program.state_dict["norm.bias"]


def a_stowaway(program: ExportedProgram) -> None:
    program.state_dict["extra"] = torch.nn.Parameter(torch.ones(3))


def other_strides(program: ExportedProgram) -> None:
    weight = program.state_dict["weight"]
    program.state_dict["weight"] = torch.nn.Parameter(weight.detach().contiguous())


def copied_view(program: ExportedProgram) -> None:
    program.state_dict["head"] = program.state_dict["head"].clone()


def no_engine(program: ExportedProgram) -> None:
    del program.constants[ENGINE]


def two_engines(program: ExportedProgram) -> None:
    slots: list[Any] = list(engine_slots(program.constants[ENGINE]))
    program.constants["again"] = engine_of(slots)


def another_slot(program: ExportedProgram) -> None:
    slots = list(engine_slots(program.constants[ENGINE]))
    slots[METADATA_SLOT] += "A"
    program.constants[ENGINE] = engine_of(slots)


def a_foreign_engine(program: ExportedProgram) -> None:
    slots = list(engine_slots(program.constants[ENGINE]))
    slots[1] = "foreign_engine"
    program.constants["foreign"] = engine_of(slots)


def engine_of(slots: list[str]) -> torch.ScriptObject:
    """An engine with these slots; the bytes of slot 3 are in base64."""
    fields: list[Any] = list(slots)
    fields[3] = base64.b64decode(slots[3])
    return torch.classes.tensorrt.Engine(fields)


NORM = "batch_norm_in_fallback"
FAULTS: list[tuple[Callable[[ExportedProgram], None], str, set[str]]] = [
    (another_value, NORM, {"a parameter is lost", "holds a parameter that was not there"}),
    (another_dtype, NORM, {"a buffer is lost", "holds a buffer that was not there"}),
    (frozen, NORM, {"a parameter has another requires_grad"}),
    (
        a_parameter_as_a_buffer,
        NORM,
        {"a parameter became a buffer", "a parameter has another requires_grad"},
    ),
    (not_persistent, NORM, {"a buffer became a constant"}),
    (persistent_by_the_signature_only, NORM, {"a buffer by the signature, kept as a constant"}),
    (dropped, NORM, {"the signature names what the program does not hold", "a parameter is lost"}),
    (a_stowaway, NORM, {"holds a parameter that was not there"}),
    (other_strides, "transposed_weight_in_fallback", {"a parameter has other strides"}),
    (copied_view, "view_of_a_buffer_in_fallback", {"shared memory became several copies"}),
    (no_engine, NORM, {"the signature names what the program does not hold", "an engine is lost"}),
    (two_engines, NORM, {"an engine is held several times"}),
    (another_slot, NORM, {"a slot of an engine differs"}),
    (a_foreign_engine, NORM, {"holds an engine that was not there"}),
]


@pytest.mark.parametrize(
    ("spoil", "name", "expected"), FAULTS, ids=[fault[0].__name__ for fault in FAULTS]
)
def test_each_way_to_lose_state_is_found(prepared, spoil, name, expected):
    case = prepared(name)
    program = exported(case)
    assert kinds(case, program) == set()
    spoil(program)
    assert kinds(case, program) == expected


def test_tied_weights_that_came_apart_are_found(prepared):
    case = prepared("tied_weights_in_two_fallbacks")
    program = torch.export.export(copy.deepcopy(case.split), case.captured.example.args)
    assert kinds(case, program) == set()
    name = "_run_on_gpu_3.down.weight"
    program.state_dict[name] = torch.nn.Parameter(program.state_dict[name].detach().clone())
    assert kinds(case, program) == {"shared memory became several copies"}


def held(name: str, content: str, storage: int | None, role: Role = Role.BUFFER) -> Held:
    return Held(name, content, role, False, (1,), storage)


def compared(before: list[Held], after: list[Held]) -> set[str]:
    contents = frozenset(item.content for item in before)
    expected = ExpectedState(State(tuple(before)), contents, frozenset(), contents)
    return {item.kind for item in state.compare_tensors(expected, after, Stage.LOAD)}


def test_equal_tensors_that_became_one_are_found():
    two = [held("a", "zeros", 1), held("b", "zeros", 2)]
    assert compared(two, two) == set()
    assert compared(two, [held("a", "zeros", 1)]) == {"several tensors became one"}


def test_memory_that_is_newly_shared_is_found():
    apart = [held("a", "zeros", 1), held("b", "ones", 2)]
    together = [held("a", "zeros", 1), held("b", "ones", 1)]
    assert compared(apart, together) == {"memory is shared that was not"}
    assert compared(together, apart) == {"shared memory became several copies"}


def test_tensors_without_elements_share_no_memory(tmp_path):
    class TwoEmpty(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("one", torch.empty(0, 2))
            self.register_buffer("other", torch.empty(3, 0))

        def forward(self, x):
            return x + self.one.sum() + self.other.sum()

    before = torch.export.export(TwoEmpty(), (torch.ones(2),))
    torch.export.save(before, tmp_path / "saved.pt2")
    after = torch.export.load(tmp_path / "saved.pt2")
    read = [state.of_program(each, content_digest) for each in (before, after)]
    assert compared(list(read[0].tensors), list(read[1].tensors)) == set()
    assert {item.storage for each in read for item in each.tensors} == {None}


def test_names_do_not_matter_and_what_nobody_reads_may_go():
    assert compared([held("a", "zeros", 1)], [held("b", "zeros", 7)]) == set()
    unread = ExpectedState(
        State((held("a", "zeros", 1),)), frozenset(), frozenset(), frozenset({"zeros"})
    )
    assert list(state.compare_tensors(unread, [], Stage.LOAD)) == []


def test_what_is_lost_on_the_way_to_the_users_module_is_found(prepared):
    case = prepared(NORM)
    module = exported(case).module()
    found = state.check_module(case.state, module, content_digest)
    assert list(found) == []
    module.get_parameter("norm.weight").requires_grad_(False)
    found = state.check_module(case.state, module, content_digest)
    assert {item.kind for item in found} == {"its module: a parameter has another requires_grad"}


def test_a_buffer_that_is_not_persistent_stays_outside_of_the_plain_controls_state_dict(prepared):
    case = prepared("non_persistent_buffer_in_fallback")
    exported_whole = torch.export.export(case.captured.eager, case.captured.example.args)
    found = state.check_program(case.model_state, exported_whole, content_digest, Stage.EXPORT)
    assert list(found) == []
    scale = spec_of(exported_whole, "scale")
    scale.persistent = True
    exported_whole.state_dict["scale"] = exported_whole.constants.pop("scale")
    found = state.check_program(case.model_state, exported_whole, content_digest, Stage.EXPORT)
    assert {item.kind for item in found} == {"a constant became a buffer"}
