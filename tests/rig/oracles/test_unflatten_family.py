"""What unflattening does to hybrids, beside what its oracle asks of every cell.

The oracle unflattens a program as it is and holds its numbers against the split module's. Here: a
hybrid inside of a model, its call preserved or one of several; the two ways to run; what refuses an
input; adapted arguments; and state, one engine under two names included.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.fx
import torch.utils._pytree as pytree
from torch.export import ExportedProgram, FlatArgsAdapter
from torch.export.unflatten import InterpreterModuleDispatcher, _disable_interpreter

from corpus.case import Family, Inputs, all_cases
from harness.rig.cell.prepare import PreparedCase
from harness.rig.engines.contract import EngineRefusal
from harness.rig.engines.module import EngineModule, engine_children
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.oracles.values import observe

Prepared = Callable[[str], PreparedCase]

NAMES = [case.name for case in all_cases() if case.family is Family.UNFLATTEN]
INLINABLE = [name for name in NAMES if name != "unflatten_cond_in_a_module"]  # see the register
CONTAINERS = "unflatten_arguments_in_containers"
DYNAMIC = "unflatten_repeated_calls_dynamic"


class Twice(torch.nn.Module):
    """A model that calls a hybrid two times."""

    def __init__(self, hybrid: torch.nn.Module) -> None:
        super().__init__()
        self.hybrid = hybrid

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.hybrid(*args, **kwargs), self.hybrid(*args, **kwargs)


def reloaded(
    model: torch.nn.Module,
    call: Inputs,
    dynamic_shapes: Any = None,
    preserved: tuple[str, ...] = (),
) -> ExportedProgram:
    """The model's program as it comes back from an archive. The model is left as it was."""
    archive = io.BytesIO()
    exported = torch.export.export(
        copy.deepcopy(model),
        call.args,
        dict(call.kwargs),
        dynamic_shapes=dynamic_shapes,
        preserve_module_call_signature=preserved,
    )
    torch.export.save(exported, archive)
    archive.seek(0)
    return torch.export.load(archive)


def reloaded_split(case: PreparedCase) -> ExportedProgram:
    return reloaded(case.split, case.captured.example, case.captured.program.dynamic_shapes)


def results(module: torch.nn.Module, calls: Sequence[Inputs]) -> list[Any]:
    """What a module returns call by call; copied, since a later call may write to it."""
    with torch.no_grad():
        return [
            pytree.tree_map_only(torch.Tensor, torch.clone, module(*call.args, **call.kwargs))
            for call in calls
        ]


def assert_same(one: Any, other: Any) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=0)


def check_twice(case: PreparedCase, hybrid: torch.nn.Module) -> torch.nn.Module:
    """The unflattened form of a model that calls this hybrid, held against the model."""
    model = Twice(hybrid)
    dynamic_shapes = case.captured.program.dynamic_shapes
    program = reloaded(
        model,
        case.captured.example,
        None if dynamic_shapes is None else {"args": dynamic_shapes},
        preserved=("hybrid",),
    )
    unflattened = torch.export.unflatten(program)
    expected = results(copy.deepcopy(model), case.captured.calls)
    assert_same(results(unflattened, case.captured.calls), expected)
    return unflattened


# ---- Calls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_hybrid_whose_call_is_preserved_is_given_back_with_its_children(
    prepared: Prepared, name: str
) -> None:
    case = prepared(name)
    hybrid = check_twice(case, case.split).get_submodule("hybrid")
    assert dict(hybrid.named_children()).keys() >= set(engine_children(case.split))


@pytest.mark.parametrize("name", INLINABLE)
def test_an_inlined_hybrid_in_a_model_computes_the_same(prepared: Prepared, name: str) -> None:
    case = prepared(name)
    check_twice(case, BuiltinInliner("positional").transform(case.split))


class OneOfTwo(torch.nn.Module):
    def __init__(self, left: torch.nn.Module, right: torch.nn.Module) -> None:
        super().__init__()
        self.left = left
        self.right = right

    def forward(self, x: torch.Tensor, y: torch.Tensor, *, right: bool) -> torch.Tensor:
        return self.right(x, y) if right else self.left(x, y)


class EachInTurn(torch.nn.Module):
    def __init__(self, left: torch.nn.Module, right: torch.nn.Module) -> None:
        super().__init__()
        self.either = OneOfTwo(left, right)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = self.either(x, y, right=False)
        return self.either(z, x, right=True) - self.either(z, y, right=False)


def each_in_turn(prepared: Prepared) -> tuple[EachInTurn, torch.nn.Module]:
    """A model whose child runs another hybrid at its second call, and its unflattened form."""
    splits = [
        prepared(name).split for name in ("unflatten_repeated_calls", "functional_nested_modules")
    ]
    model = EachInTurn(*splits)
    call = Inputs((torch.randn(2, 8), torch.randn(2, 8)))
    return model, torch.export.unflatten(reloaded(model, call, preserved=("either",)))


def test_calls_that_run_other_hybrids_are_dispatched_in_their_order(prepared: Prepared) -> None:
    model, unflattened = each_in_turn(prepared)
    dispatcher = unflattened.get_submodule("either")
    assert isinstance(dispatcher, InterpreterModuleDispatcher)
    assert len(dispatcher.call_modules()) == 3
    for _ in range(2):  # the second round starts from the first call again
        x, y = torch.randn(2, 8), torch.randn(2, 8)
        assert_same(unflattened(x, y), model(x, y))


def test_after_a_call_that_an_engine_refused_the_dispatcher_starts_anew(prepared: Prepared) -> None:
    model, unflattened = each_in_turn(prepared)
    unflattened.check_input_constraints = False
    with pytest.raises(EngineRefusal):
        unflattened(torch.randn(2, 9), torch.randn(2, 8))
    x, y = torch.randn(2, 8), torch.randn(2, 8)
    assert_same(unflattened(x, y), model(x, y))


# ---- Interpreter and generated code ------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_generated_code_computes_what_the_interpreter_computes(
    prepared: Prepared, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = prepared(name)
    program = reloaded_split(case)
    interpreted = observe(torch.export.unflatten(program), case.captured.calls)
    with _disable_interpreter():
        generated = torch.export.unflatten(program)

    def never(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("interpreted")

    monkeypatch.setattr(torch.fx.Interpreter, "run", never)
    assert interpreted.difference(observe(generated, case.captured.calls)) is None
    assert case.reference.difference(interpreted) is None
    with pytest.raises(AssertionError, match="interpreted"):
        results(torch.export.unflatten(program), case.captured.calls)


# ---- What refuses an input ---------------------------------------------------------------------

BAD = {
    "above the bound": ((9, 8), (9, 8)),
    "another size": ((3, 7), (3, 7)),
    "unequal batches": ((3, 8), (4, 8)),
    "another rank": ((3, 8, 1), (3, 8)),
}


@pytest.mark.parametrize("what", BAD)
def test_an_input_that_the_program_refuses_is_refused_after_unflattening(
    prepared: Prepared, what: str
) -> None:
    unflattened = torch.export.unflatten(reloaded_split(prepared(DYNAMIC)))
    x, y = (torch.randn(shape) for shape in BAD[what])
    with pytest.raises(
        RuntimeError, match=r"(Expected|Unexpected number of dimensions in) input at"
    ):
        unflattened(x, y)


@pytest.mark.parametrize("what", ["above the bound", "another size", "another rank"])
def test_with_the_checks_off_the_engine_refuses_what_it_was_not_built_for(
    prepared: Prepared, what: str
) -> None:
    unflattened = torch.export.unflatten(reloaded_split(prepared(DYNAMIC)))
    unflattened.check_input_constraints = False
    x, y = (torch.randn(shape) for shape in BAD[what])
    with pytest.raises(EngineRefusal, match="_run_on_acc_0_engine: input 0"):
        unflattened(x, y)


# ---- Arguments in another form -----------------------------------------------------------------


class ByLeaf(FlatArgsAdapter):
    """Takes the leaves of any containers, last first."""

    def adapt(
        self,
        target_spec: pytree.TreeSpec,
        input_spec: pytree.TreeSpec,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any | None = None,
    ) -> list[Any]:
        assert target_spec.num_leaves == len(input_args)
        return input_args[::-1]


def test_flat_arguments_are_adapted_and_refused_without_an_adapter(prepared: Prepared) -> None:
    case = prepared(CONTAINERS)
    program = reloaded_split(case)
    call = case.captured.calls[1]
    leaves = pytree.tree_leaves((call.args, dict(call.kwargs)))
    with pytest.raises(TypeError, match="no flat args adapter"):
        torch.export.unflatten(program)(*leaves[::-1])
    adapted = torch.export.unflatten(program, ByLeaf())(*leaves[::-1])
    assert_same(adapted, case.reference.returned[1])


# ---- State -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("unflatten_shared_and_unused_parameters", "down.weight", "down.weight"),
        ("unflatten_aliased_buffers", "same.scale", "same.scale"),
        ("unflatten_constants", "first.shift", "first.shift"),
    ],
)
def test_what_two_fallbacks_share_is_one_tensor_after_unflattening(
    prepared: Prepared, name: str, one: str, other: str
) -> None:
    unflattened = torch.export.unflatten(reloaded_split(prepared(name)))
    held = {
        name: tensor
        for tensors in (
            unflattened.named_parameters(remove_duplicate=False),
            unflattened.named_buffers(remove_duplicate=False),
        )
        for name, tensor in tensors
    }
    first, second = held[f"_run_on_gpu_1.{one}"], held[f"_run_on_gpu_3.{other}"]
    assert first is second


def test_what_nothing_reads_stays_in_the_model_and_is_in_no_hybrid(prepared: Prepared) -> None:
    case = prepared("unflatten_shared_and_unused_parameters")
    model = torch.export.unflatten(reloaded(case.captured.eager, case.captured.example))
    assert {"never_read", "never_called.weight"} <= set(model.state_dict())
    hybrid = torch.export.unflatten(reloaded_split(case))
    assert not any("never" in name for name in hybrid.state_dict())


class UnderTwoNames(torch.nn.Module):
    """One engine object, held by two modules, as of a block that a model repeats."""

    def __init__(self, first: EngineModule) -> None:
        super().__init__()
        self.first = first
        self.second = copy.copy(first)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def test_one_engine_under_two_names_is_unflattened_unless_it_was_saved(prepared: Prepared) -> None:
    version = ".".join(torch.__version__.split(".")[:2])
    assert version == "2.13", f"look at what torch {version} does, and say so here"
    case = prepared("relu_once")
    model = UnderTwoNames(case.split.get_submodule("_run_on_acc_0"))  # type: ignore[arg-type]
    (x,) = case.captured.example.args
    exported = torch.export.export(model, (x,))
    unflattened = torch.export.unflatten(exported)
    assert_same(unflattened(x), model(x))
    archive = io.BytesIO()
    torch.export.save(exported, archive)
    archive.seek(0)
    program = torch.export.load(archive)
    assert_same(program.module()(x), model(x))
    # The archive has the engine once for each name; the second one is then in no graph.
    with pytest.raises(AssertionError, match=r"constant 'second\.engine' id not found"):
        torch.export.unflatten(program)
