"""What the functional export does in each torch, beside what its family's cells can see.

Its raw result is torch-level IR; lowered, it is what the cells of the family are split from.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch._dynamo import functional_export
from torch.export import Dim, ExportedProgram
from torch.export.dynamic_shapes import _combine_args, _process_dynamic_shapes
from torch.fx import GraphModule, Node

from corpus.case import Family, Inputs, all_cases, find_case
from corpus.families.functional_export import (
    ConstantsOut,
    Crossing,
    HeldTensorsOut,
    NumberBetween,
    OutputsAndInputs,
    ReadInAnotherOrder,
    Stages,
)
from harness.rig.capture.capture import capture, export_like_a_user, functional_tracer
from harness.rig.cell.pipeline import ended_before_routes
from harness.rig.cell.prepare import NotPrepared, prepare
from harness.rig.clock import StageClock
from harness.wire.records import CellKey
from harness.wire.routes import Route
from harness.wire.vocabulary import CellState

VERSION = ".".join(torch.__version__.split(".")[:2])
CASES = [case for case in all_cases() if case.family is Family.FUNCTIONAL_EXPORT]
WRAPPER = "export_root"  # the module that the export puts around the user's own


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A refusal is logged by torch with its whole stack."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def tensors(count: int, size: int = 2) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(size, 8) for _ in range(count))


def torch_level(model: torch.nn.Module, call: Inputs, dynamic_shapes: Any = None) -> GraphModule:
    """The functional export's own result."""
    arguments = _combine_args(model, call.args, dict(call.kwargs))
    capture_for = functional_export._dynamo_graph_capture_for_export(
        model,
        constraints=_process_dynamic_shapes(arguments, dynamic_shapes),
        dynamic_shapes=dynamic_shapes,
    )
    return capture_for(*call.args, **call.kwargs)


def lowered(
    model: torch.nn.Module,
    call: Inputs,
    dynamic_shapes: Any = None,
    preserved: tuple[str, ...] = (),
) -> ExportedProgram:
    with functional_tracer():
        return torch.export.export(
            model,
            call.args,
            dict(call.kwargs),
            dynamic_shapes=dynamic_shapes,
            strict=True,
            preserve_module_call_signature=preserved,
        )


def placeholders(module: GraphModule) -> list[Node]:
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def assert_same(one: Any, other: Any) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=0)


# ---- The capture mode of the family ------------------------------------------------------------


def test_the_family_is_captured_by_the_functional_export_whatever_a_run_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_every_case_of_the_family_says_so() -> None:
    assert {case.capture for case in CASES} == {"functional"}
    assert all(case.capture is None for case in all_cases() if case not in CASES)


# ---- Outputs and inputs ------------------------------------------------------------------------


@pytest.mark.parametrize("model", [OutputsAndInputs(), HeldTensorsOut(), ConstantsOut()], ids=repr)
def test_outputs_are_graph_outputs_inputs_and_constants(model: torch.nn.Module) -> None:
    call = Inputs(tensors(2 if isinstance(model, OutputsAndInputs) else 1))
    traced, program = torch_level(model, call), lowered(model, call).module()
    traced.recompile()
    others = tensors(len(call.args))
    assert_same(traced(*others), model(*others))
    assert_same(program(*others), model(*others))


def test_inputs_that_are_unused_or_reordered_are_placeholders_in_the_user_s_order() -> None:
    a, b, c, d, e = tensors(5)
    call = Inputs((a, b, c), {"shift": d, "ignored": e})
    model = ReadInAnotherOrder()
    traced = torch_level(model, call)
    read = [bool(node.users) for node in placeholders(traced)]
    assert len(read) == 5
    assert read == [True, False, True, True, False]
    assert_same(traced(a, b, c, shift=d, ignored=e), model(a, b, c, shift=d, ignored=e))
    program = lowered(model, call)
    assert list(program.graph_signature.user_inputs) == [
        "last",
        "unused",
        "first",
        "shift",
        "ignored",
    ]
    assert_same(program.module()(b, a, c, shift=e, ignored=d), model(b, a, c, shift=e, ignored=d))


def test_a_number_stays_an_input_that_refuses_another_value() -> None:
    x, y = tensors(2)
    program = lowered(NumberBetween(), Inputs((x, 3, y)))
    assert list(program.graph_signature.user_inputs) == ["x", 3, "y"]
    assert_same(program.module()(x, 3, y), NumberBetween()(x, 3, y))
    with pytest.raises(AssertionError, match="times"):
        program.module()(x, 4, y)


def test_a_model_without_an_op_is_captured_with_its_inputs_crossed() -> None:
    x, y = tensors(2)
    traced = torch_level(Crossing(), Inputs((x, y)))
    assert {node.op for node in traced.graph.nodes} == {"placeholder", "output"}
    assert_same(lowered(Crossing(), Inputs((x, y))).module()(x, y), (y, x))


def test_dynamic_dimensions_are_kept_on_the_placeholders_that_have_them() -> None:
    dim = Dim("batch", min=1, max=8)
    x, y = tensors(2, 3)
    traced = torch_level(OutputsAndInputs(), Inputs((x, y)), ({0: dim}, {1: None}))
    dynamic, static = (node.meta["val"].shape for node in placeholders(traced))
    assert isinstance(dynamic[0], torch.SymInt)
    assert tuple(static) == (3, 8)
    program = lowered(OutputsAndInputs(), Inputs((x, y)), ({0: dim}, {1: None}))
    ((low, high),) = ((bound.lower, bound.upper) for bound in program.range_constraints.values())
    assert (low, high) == (1, 8)
    assert_same(program.module()(x[:2], y), OutputsAndInputs()(x[:2], y))


# ---- Names -------------------------------------------------------------------------------------


def test_stacks_keys_and_targets_are_cleaned_of_the_wrapper() -> None:
    traced = torch_level(Stages(), Inputs(tensors(2)))
    targets = [str(node.target) for node in traced.graph.nodes if node.op == "get_attr"]
    stacks = [node.meta.get("nn_module_stack", {}) for node in traced.graph.nodes]
    paths = [path for stack in stacks for path, _ in stack.values()]
    assert "L['self'].stage.project" in paths
    for name in (*targets, *traced.state_dict(), *paths, *(key for one in stacks for key in one)):
        assert WRAPPER not in name


def test_the_names_of_nodes_alone_still_show_the_wrapper_until_lowered() -> None:
    assert VERSION == "2.13", f"look at what torch {VERSION} does, and say so here"
    traced = torch_level(Stages(), Inputs(tensors(2)))
    shown = {node.op for node in traced.graph.nodes if WRAPPER in node.name}
    assert shown == {"get_attr"}


def test_the_code_is_older_than_the_clean_names_until_compiled_again() -> None:
    assert VERSION == "2.13", f"look at what torch {VERSION} does, and say so here"
    call = Inputs(tensors(2))
    model = Stages()
    traced = torch_level(model, call)
    with pytest.raises(AttributeError, match=WRAPPER):
        traced(*call.args)
    traced.recompile()
    assert_same(traced(*call.args), model(*call.args))


def test_lowered_state_has_the_model_s_names_and_nothing_shows_the_wrapper() -> None:
    model = Stages()
    program = lowered(model, Inputs(tensors(2)))
    assert set(program.state_dict) == set(model.state_dict())
    assert "stage.scale" in program.constants  # not persistent: in no state dict
    for node in program.graph.nodes:
        assert WRAPPER not in f"{node.name} {node.target} {node.meta.get('nn_module_stack')}"
    assert not any(WRAPPER in entry.fqn for entry in program.module_call_graph)


def test_a_preserved_call_has_its_signature_at_each_call() -> None:
    program = lowered(Stages(), Inputs(tensors(2)), preserved=("stage",))
    signatures = {
        entry.fqn: entry.signature
        for entry in program.module_call_graph
        if entry.fqn and entry.signature is not None
    }
    assert set(signatures) == {"stage", "stage@1"}
    for signature in signatures.values():
        assert len(signature.inputs) == 2
        args, kwargs = signature.in_spec.children()
        assert (args.num_leaves, kwargs.context) == (1, ["shift"])
        assert signature.out_spec.context == ["out"]
    x, y = tensors(2)
    model = Stages()
    unflattened = torch.export.unflatten(lowered(model, Inputs((x, y)), preserved=("stage",)))
    assert_same(unflattened(x, y), model(x, y))


# ---- Refusals ----------------------------------------------------------------------------------


class Sum(torch.nn.Module):
    def forward(self, image: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.relu(image + mask)


class Branching(torch.nn.Module):
    def forward(self, image: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return image + 1 if image.shape[0] == 2 else torch.relu(image)


class Small(torch.nn.Module):
    def forward(self, image: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return image + 1 if image.shape[0] <= 4 else torch.relu(image)


ROWS, OTHERS = Dim("rows", min=1, max=8), Dim("others", min=1, max=8)

# What is refused, and what the message of each torch says of it, in the user's own names.
REFUSED: dict[str, tuple[torch.nn.Module, Any]] = {
    "two dimensions that must be equal": (Sum(), ({0: ROWS}, {0: OTHERS})),
    "a range that the code narrows": (Small(), ({0: ROWS}, None)),
    "a specialisation that the code forces": (Branching(), ({0: ROWS}, None)),
    "a specialisation that another input forces": (Sum(), ({0: Dim.DYNAMIC}, None)),
    "a constraint on a static value": (Sum(), {"image": {0: ROWS}, "mask": {0: 2}}),
}
SAID = {
    "2.13": {
        "two dimensions that must be equal": [
            "The values of others = L['mask'].size()[0] and rows = L['image'].size()[0] must "
            "always be equal",
            "others = rows",
        ],
        "a range that the code narrows": [
            "Not all values of rows = L['image'].size()[0] in the specified range",
            "rows = Dim('rows', max=4)",
        ],
        "a specialisation that the code forces": [
            "You marked rows as dynamic but your code specialized it to be a constant (2)",
            "rows = 2",
        ],
        "a specialisation that another input forces": [
            "You marked L['image'].size()[0] as dynamic but your code specialized it to be a "
            "constant (2)",
        ],
        "a constraint on a static value": [
            "You marked rows as dynamic but your code specialized it to be a constant (2)",
            "rows = 2",
        ],
    },
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_refusal_speaks_in_the_user_s_own_names(what: str) -> None:
    assert VERSION in SAID, f"what torch {VERSION} says is not known: look at it, and add it"
    model, dynamic_shapes = REFUSED[what]
    for export in (torch_level, lowered):
        with pytest.raises(Exception, match="Constraints violated") as caught:
            export(model, Inputs(tensors(2)), dynamic_shapes)
        message = str(caught.value)
        assert "flat_args" not in message
        for said in SAID[VERSION][what]:
            assert said in message


def test_what_is_accepted_beside_the_refused_shows_that_the_models_can_be_captured() -> None:
    for model, dynamic_shapes in (
        (Sum(), ({0: ROWS}, {0: ROWS})),
        (Small(), ({0: Dim("rows", max=4)}, None)),
        (Branching(), (None, {0: ROWS})),
        (Sum(), (None, {0: None})),
    ):
        call = Inputs(tensors(2))
        program = lowered(model, call, dynamic_shapes)
        assert_same(program.module()(*call.args), model(*call.args))


def test_a_size_outside_of_its_range_is_refused_without_a_name() -> None:
    assert VERSION == "2.13", f"look at what torch {VERSION} says, and say so here"
    with pytest.raises(Exception, match="9 not in range") as caught:
        lowered(Sum(), Inputs(tensors(2, 9)), ({0: ROWS}, {0: ROWS}))
    assert "rows" not in str(caught.value)
    assert "image" not in str(caught.value)


def test_one_tensor_given_for_two_inputs_is_taken_for_one_input() -> None:
    # Silent, and wrong for every other call; so a case gives each input a tensor of its own.
    # Non-strict export does the same.
    assert VERSION == "2.13", f"look at what torch {VERSION} does, and say so here"
    (x,) = tensors(1)
    a, b = tensors(2)
    for program in (
        lowered(Sum(), Inputs((x, x))),
        export_like_a_user(Sum(), Inputs((x, x)), None),
    ):
        assert_same(program.module()(a, b), Sum()(b, b))


def test_a_torch_that_cannot_be_asked_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch 2.9, whose strict export has no such tracer."""
    monkeypatch.setattr("harness.rig.capture.capture.config", None)
    case = CASES[0]
    with pytest.raises(NotPrepared) as caught:
        prepare(case, "nonstrict", 0, StageClock())
    key = CellKey(case.name, "functional", "2.14.0", Route.LEGACY)
    record = ended_before_routes(key, caught.value.cause, caught.value.stage)
    assert record.state is CellState.UNSUPPORTED
    assert "2.10 brought it" in record.reason
    assert not record.verdicts
