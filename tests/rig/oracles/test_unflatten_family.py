"""Hybrids inside of a model that is unflattened, which the oracle asks of no cell.

The oracle unflattens a program as it is, and holds its numbers against the split module's.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.fx
from torch.export import ExportedProgram

from corpus.case import Family, Inputs, all_cases
from harness.rig.cell.prepare import PreparedCase
from harness.rig.engines.contract import EngineRefusal
from harness.rig.engines.module import engine_children
from harness.rig.inliners.builtin import BuiltinInliner
from harness.rig.oracles.values import observe

Prepared = Callable[[str], PreparedCase]

NAMES = [case.name for case in all_cases() if case.family is Family.UNFLATTEN]
INLINABLE = [name for name in NAMES if name != "unflatten_cond_in_a_module"]  # see the register
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
    expected = observe(copy.deepcopy(model), case.captured.calls)
    assert expected.difference(observe(unflattened, case.captured.calls)) is None
    return unflattened


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


BAD = {
    "above the bound": ((9, 8), (9, 8)),
    "another size": ((3, 7), (3, 7)),
    "another rank": ((3, 8, 1), (3, 8)),
}


@pytest.mark.parametrize("what", BAD)
def test_with_the_checks_off_the_engine_refuses_what_it_was_not_built_for(
    prepared: Prepared, what: str
) -> None:
    unflattened = torch.export.unflatten(reloaded_split(prepared(DYNAMIC)))
    unflattened.check_input_constraints = False
    x, y = (torch.randn(shape) for shape in BAD[what])
    with pytest.raises(EngineRefusal, match="_run_on_acc_0_engine: input 0"):
        unflattened(x, y)
