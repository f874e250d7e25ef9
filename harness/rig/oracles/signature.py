"""The signature oracle: a program is called as the model is, refuses sizes out of bounds, and tells
what it writes to."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import sympy
import torch
import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils._sympy.numbers import int_oo

from corpus.case import Inputs
from harness.rig.engines.writes import declared_writes, writes_of
from harness.rig.oracles.finding import Finding
from harness.wire.vocabulary import Stage

#: By name, since older torch has no such kind as the second.
_WRITES_TO_STATE = frozenset({"BUFFER_MUTATION", "PARAMETER_MUTATION"})


def expected_specs(example: Inputs, returned: Any) -> tuple[pytree.TreeSpec, pytree.TreeSpec]:
    """The pytrees of a model's inputs and outputs, from a call and its result in eager mode."""
    in_spec = pytree.tree_structure((tuple(example.args), dict(example.kwargs)))
    return in_spec, pytree.tree_structure(returned)


def check_program(
    program: ExportedProgram,
    specs: tuple[pytree.TreeSpec, pytree.TreeSpec],
    ranges: Sequence[tuple[int, int | None]],
    stage: Stage,
    own: int | None = None,
) -> Iterator[Finding]:
    """Findings in a program's call interface and range constraints.

    Args:
        ranges: those of the dynamic dimensions, of which each has one; the upper bound is None if
            the user states none.
        own: how many sizes of the model's inputs vary on their own; None if nobody knows.
    """
    in_spec, out_spec = specs
    signature = program.graph_signature
    users = [spec for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT]
    if len(users) != in_spec.num_leaves:
        detail = f"{len(users)}, should be {in_spec.num_leaves}"
        yield Finding(stage, "another number of inputs", detail)
    returned = [spec for spec in signature.output_specs if spec.kind is OutputKind.USER_OUTPUT]
    if len(returned) != out_spec.num_leaves:
        detail = f"{len(returned)}, should be {out_spec.num_leaves}"
        yield Finding(stage, "another number of outputs", detail)
    for target, times in Counter(declared_writes(signature)).items():
        if times > 1:
            yield Finding(stage, "an update of one tensor is declared more than once", target)
    found = program.call_spec
    if _keywords_sorted(found.in_spec) != _keywords_sorted(in_spec):
        yield Finding(stage, "input structure differs", f"{found.in_spec}, should be {in_spec}")
    if found.out_spec != out_spec:
        yield Finding(stage, "output structure differs", f"{found.out_spec}, should be {out_spec}")
    if ranges:
        symbols = sizes_that_vary(program)
        if own is not None and len(symbols) > own:
            detail = f"{', '.join(sorted(map(str, symbols)))} vary on their own, should be {own}"
            yield Finding(stage, "sizes that are one vary on their own", detail)
        yield from _check_ranges(program, symbols, ranges, stage)


def sizes_that_vary(program: ExportedProgram) -> set[sympy.Symbol]:
    """The symbols of the sizes of a program's user inputs, such as that of a batch."""
    users = {
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.USER_INPUT
    }
    return {
        symbol
        for node in program.graph.nodes
        if node.op == "placeholder" and node.name in users
        for size in getattr(node.meta.get("val"), "shape", ())
        if isinstance(size, torch.SymInt)
        for symbol in size.node.expr.free_symbols
    }


def _keywords_sorted(spec: pytree.TreeSpec) -> pytree.TreeSpec:
    """A call's structure with sorted keywords, since torch binds keywords by name.

    See `torch.export._tree_utils.reorder_kwargs`. A dictionary that is an argument keeps its order,
    and a structure that is not a call is returned unchanged.
    """
    call = pytree.tree_unflatten(range(spec.num_leaves), spec)
    if not (isinstance(call, tuple) and len(call) == 2 and type(call[1]) is dict):
        return spec
    args, kwargs = call
    return pytree.tree_structure((args, dict(sorted(kwargs.items()))))


def _check_ranges(
    program: ExportedProgram,
    symbols: set[sympy.Symbol],
    ranges: Sequence[tuple[int, int | None]],
    stage: Stage,
) -> Iterator[Finding]:
    if not symbols:
        yield Finding(stage, "the dynamic dimension became static", str(program.range_constraints))
    for symbol in sorted(symbols, key=str):
        held = program.range_constraints.get(symbol)
        if held is None:
            yield Finding(stage, "a range constraint is lost", f"{symbol} has none")
            continue
        fitting = [
            each for each in ranges if held.upper == (int_oo if each[1] is None else each[1])
        ]
        lowest = [low for low, high in fitting if high is not None]
        if not fitting:
            should = " or ".join("unbounded" if high is None else str(high) for _, high in ranges)
            yield Finding(
                stage, "another upper bound", f"{symbol} up to {held.upper}, should be {should}"
            )
        elif len(lowest) < len(fitting):
            continue  # without an upper bound none is stated: torch takes 0 or 2 as the lower one
        # Export specialises 0 and 1, so a dimension from 1 may be stated as one from 2.
        elif held.lower not in {*lowest, *(max(low, 2) for low in lowest)}:
            should = " or ".join(map(str, lowest))
            yield Finding(
                stage, "another lower bound", f"{symbol} from {held.lower}, should be {should}"
            )


def check_writes(program: ExportedProgram, changed: int) -> Iterator[Finding]:
    """A finding if calls change more parameters and buffers than the program says it writes.

    It says so by its signature, or by an op of its graph whose schema writes. Whoever transforms a
    program, or runs it by another runtime, knows of no other write.

    Args:
        changed: how many of its parameters and buffers some calls changed.
    """
    if not changed:
        return
    lifted = {
        f"its input {spec.arg.name}": str(spec.target)
        for spec in program.graph_signature.input_specs
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER)
    }
    # An input that is written may have the name of a tensor for its target.
    told = {
        str(spec.target)
        for spec in program.graph_signature.output_specs
        if spec.kind.name in _WRITES_TO_STATE
    }
    told |= {lifted[w.target] for w in writes_of(program.graph_module) if w.target in lifted}
    if changed > len(told):
        detail = f"{len(told)} of {changed} writes are told"
        yield Finding(Stage.RUN, "state is written, and nothing tells of it", detail)


def check_refusal(module: Any, over: Inputs) -> Iterator[Finding]:
    """A finding if a reloaded program takes a size above its bound."""
    own = copy.deepcopy(over)
    try:
        with torch.no_grad():
            module(*own.args, **own.kwargs)
    except Exception:  # noqa: BLE001 - guard, engine profile and shape check refuse differently
        return
    yield Finding(Stage.RUN, "takes a size above the bound", str(_shapes(over)))


def _shapes(inputs: Inputs) -> list[tuple[int, ...]]:
    leaves = pytree.tree_leaves((inputs.args, dict(inputs.kwargs)))
    return [tuple(leaf.shape) for leaf in leaves if isinstance(leaf, torch.Tensor)]
