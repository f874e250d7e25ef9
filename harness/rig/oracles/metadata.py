"""The metadata oracle: every node's `meta["val"]` is what an interpreter computes there.

Type, shape and dtype are compared. Strides are compared for lifted state only, which is stored and
not computed: an engine's outputs are contiguous whatever the segment's are.
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter, Node

from corpus.case import Inputs
from harness.rig.oracles.finding import Finding
from harness.wire.vocabulary import Stage


class _Recorder(Interpreter):
    """Runs a lifted graph and keeps the value of every node."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__(program.graph_module, garbage_collect_values=False)
        self.values: dict[Node, Any] = {}

    def run_node(self, n: Node) -> Any:
        self.values[n] = super().run_node(n)
        return self.values[n]


def check_program(program: ExportedProgram, call: Inputs, stage: Stage) -> Iterator[Finding]:
    """Findings in a program's metadata, by running its graph on one call's inputs."""
    for node, kind, detail in differences(program, call):
        yield Finding(stage, kind, f"{node.name}: {detail}")


def differences(program: ExportedProgram, call: Inputs) -> Iterator[tuple[Node, str, str]]:
    """What `check_program` finds, each with its node: kind and detail.

    A program that ran may have a node that raises: torch takes out what nobody reads when it loads
    a program. What comes behind such a node is held against nothing.
    """
    recorder = _Recorder(program)
    # The graph runs on copies, because it may write to its inputs and to the lifted state.
    own = copy.deepcopy(call)
    flat = _flat_inputs(program, own)
    copies = [item.detach().clone() if isinstance(item, torch.Tensor) else item for item in flat]
    raised = None
    try:
        with torch.no_grad():
            recorder.run(*copies)
    except Exception as error:  # noqa: BLE001 - the program's own, which is a finding
        raised = error
    sizes = _bind_symbols(program, recorder.values)
    roles = _placeholder_roles(program)

    def role_of(node: Node) -> str:
        return roles.get(node.name) or _role(node)

    for node, value in recorder.values.items():
        if node.op == "output":
            continue
        role = role_of(node)
        meta = node.meta.get("val")
        said = list(_mismatches(meta, value, sizes))
        if not said and role.startswith("lifted"):
            said = list(_stride_mismatch(meta, value, sizes))
        for kind, detail in said:
            yield node, f"{role}: {kind}", detail
    if raised is not None:
        at = next(node for node in program.graph.nodes if node not in recorder.values)
        kind = f"{role_of(at)}: raises {type(raised).__name__}"
        yield at, kind, str(raised).partition("\n")[0]


def _flat_inputs(program: ExportedProgram, call: Inputs) -> list[Any]:
    """The values of the graph's placeholders: the state, then the leaves of the call.

    This does what the program's own `_graph_module_flat_inputs` does, without its comparison of
    pytrees, which raises a TypeError on every program that takes a named tuple.
    """
    leaves, _ = program._get_flat_args_with_check(call.args, dict(call.kwargs))
    targets = [
        str(spec.target)
        for spec in program.graph_signature.input_specs
        if spec.kind is not InputKind.USER_INPUT
    ]
    held = {**program.constants, **program.state_dict}
    return [*(held[target] for target in targets), *leaves]


def _bind_symbols(
    program: ExportedProgram, values: Mapping[Node, Any]
) -> dict[sympy.Symbol, sympy.Number]:
    """The value of every symbol in this run, taken from the first node that has the symbol.

    For a dynamic dimension that node is a placeholder; for a size or a fraction that depends on the
    data, it is the op that makes it. A symbol that no size has alone, as where one is eight times
    as many rows, is what an input's size says that it is.
    """
    sizes: dict[sympy.Symbol, sympy.Number] = {}
    multiples: list[tuple[sympy.Expr, int]] = []
    for node, value in values.items():
        meta = node.meta.get("val")
        for stated, actual in _sizes_of(meta, value):
            if isinstance(stated.node.expr, sympy.Symbol):
                sizes.setdefault(stated.node.expr, sympy.sympify(actual))
            elif node.op == "placeholder":
                multiples.append((stated.node.expr, actual))
    for expression, actual in multiples:
        unknown = expression.free_symbols - sizes.keys()
        if len(unknown) == 1 and expression.is_polynomial(*unknown):
            solved = sympy.solve(expression.subs(sizes) - actual, *unknown)
            if len(solved) == 1 and solved[0].is_integer:
                sizes[unknown.pop()] = solved[0]
    return sizes


def _sizes_of(meta: Any, value: Any) -> list[tuple[Any, Any]]:
    """The symbolic numbers of a node's metadata, each with its value in this run."""
    if isinstance(meta, torch.Tensor) and isinstance(value, torch.Tensor):
        pairs = list(zip(meta.shape, value.shape, strict=False))
        return [(size, actual) for size, actual in pairs if isinstance(size, torch.SymInt)]
    if isinstance(meta, torch.SymInt | torch.SymFloat) and isinstance(value, int | float):
        return [(meta, value)]
    return []


def _placeholder_roles(program: ExportedProgram) -> dict[str, str]:
    names = {
        InputKind.USER_INPUT: "model input",
        InputKind.PARAMETER: "lifted parameter",
        InputKind.BUFFER: "lifted buffer",
        InputKind.CONSTANT_TENSOR: "lifted constant",
        InputKind.CUSTOM_OBJ: "engine object",
    }
    return {
        spec.arg.name: names.get(spec.kind, "lifted input")
        for spec in program.graph_signature.input_specs
    }


def _is_engine_call(node: Node) -> bool:
    return str(node.target) == "tensorrt.execute_engine.default"


def _role(node: Node) -> str:
    if _is_engine_call(node):
        return "engine call"
    if node.target is operator.getitem and isinstance(node.args[0], Node):
        return "element of an engine" if _is_engine_call(node.args[0]) else "element of an op"
    return "op"


_Mismatches = Iterator[tuple[str, str]]  # a kind and a detail each


def _mismatches(meta: Any, value: Any, sizes: Mapping[sympy.Symbol, sympy.Number]) -> _Mismatches:
    """How ``meta`` differs from ``value``; mostly in one way at most."""
    if isinstance(value, torch.Tensor):
        yield from _tensor_mismatches(meta, value, sizes)
    elif isinstance(value, tuple | list):
        yield from _list_mismatches(meta, value, sizes)
    # None, flags and engine objects have no shape to be wrong about.
    elif isinstance(value, int | float) and not isinstance(value, bool):
        stated = _evaluate(meta, sizes)
        if not (isinstance(stated, int | float) and math.isclose(stated, value)):
            yield "another number", f"{stated}, should be {value}"


def _list_mismatches(
    meta: Any, value: Sequence[Any], sizes: Mapping[sympy.Symbol, sympy.Number]
) -> _Mismatches:
    if not isinstance(meta, tuple | list):
        yield f"a {type(meta).__name__} for a list", ""
        return
    if len(meta) != len(value):
        yield "a list of another length", f"{len(meta)}, should be {len(value)}"
        return
    for index, (stated, actual) in enumerate(zip(meta, value, strict=True)):
        said = list(_mismatches(stated, actual, sizes))
        if said:  # only the first wrong element is reported
            yield from ((kind, f"element {index}: {detail}") for kind, detail in said)
            return


def _tensor_mismatches(
    meta: Any, value: torch.Tensor, sizes: Mapping[sympy.Symbol, sympy.Number]
) -> _Mismatches:
    if meta is None:
        yield "no value", ""
    elif isinstance(meta, tuple | list):
        yield f"a {type(meta).__name__} for a tensor", ""
        # The list is a known defect of releases, which must not hide wrong elements in it.
        yield from _list_mismatches(meta, (value,), sizes)
    elif not isinstance(meta, torch.Tensor):
        yield f"a {type(meta).__name__} for a tensor", ""
    elif meta.dtype != value.dtype:
        yield "another dtype", f"{meta.dtype}, should be {value.dtype}"
    else:
        shape = tuple(_evaluate(size, sizes) for size in meta.shape)
        if shape != tuple(value.shape):
            yield "another shape", f"{shape}, should be {tuple(value.shape)}"


def _stride_mismatch(
    meta: Any, value: Any, sizes: Mapping[sympy.Symbol, sympy.Number]
) -> _Mismatches:
    if not isinstance(value, torch.Tensor):
        return
    stride = tuple(_evaluate(step, sizes) for step in meta.stride())
    if stride != value.stride():
        yield "another stride", f"{stride}, should be {value.stride()}"


def _evaluate(size: Any, sizes: Mapping[sympy.Symbol, sympy.Number]) -> Any:
    """A symbolic number's value in this run. Comparing the symbol itself would add a guard."""
    if not isinstance(size, torch.SymInt | torch.SymFloat | torch.SymBool):
        return size
    value = sympy.sympify(size.node.expr).xreplace(dict(sizes))
    if not value.is_number:
        return str(value)
    return float(value) if isinstance(size, torch.SymFloat) else int(value)
