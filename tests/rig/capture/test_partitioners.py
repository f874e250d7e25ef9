"""The harness splits as each release's own partitioner does, node for node."""

from __future__ import annotations

import importlib
import operator
import sys
import types
import zipfile
from collections.abc import Callable, Collection, Iterable
from functools import cache
from pathlib import Path

import pytest
import torch
from torch.fx import GraphModule, Node
from torch.fx.node import _get_qualified_name
from torch.fx.passes.tools_common import CALLABLE_NODE_OPS

from corpus.case import Case, Origin, cases_of, find_case
from harness.catalogue.releases import load_catalogue
from harness.rig.capture.capture import CapturedProgram, capture
from harness.rig.capture.split import split_module
from harness.rig.inliners.surroundings import PACKAGE, PARTITIONING, stand_ins
from tests.fetched import FETCHED

CATALOGUE = load_catalogue()
EXPORTED = [case for case in cases_of("graph") if case.origin is Origin.EXPORTED]
# One of each structure that a splitter sees: outputs, dead code, block size, higher-order ops.
FEW = (
    "engine_two_outputs",
    "chunk_of_chunk",
    "unbind_to_four_fallbacks",
    "residual_over_a_fallback",
    "read_by_engine_and_fallbacks",
    "size_into_engine",
    "cond_in_fallback",
    "two_mutated_buffers",
    "every_interface_at_once",
    "gru_linear_dynamic",
)

COMPLEX = frozenset({torch.complex64, torch.complex128})
LOADED = ("/_adjacency_partitioner.py", "/_global_partitioner.py")


@cache
def partition_of(wheel: Path, *, complex_apart: bool = False) -> Partition:
    """A release's partitioner.

    Args:
        complex_apart: whether it leaves complex numbers in PyTorch, as it does from 2.12 on. The
            graph lane, which has one split for all releases, gives them to engines.
    """
    return load_partition(wheel, complex_apart=complex_apart)


def different(wheels: Iterable[Path]) -> list[Path]:
    """One wheel of those whose partitioner is the same, byte for byte."""
    found: dict[tuple[bytes, ...], Path] = {}
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(LOADED)]
            found.setdefault(tuple(archive.read(name) for name in names), wheel)
    return list(found.values())


@cache
def captured_case(name: str) -> CapturedProgram:
    return capture(find_case(name), "nonstrict")


def lines(split: GraphModule) -> list[str]:
    """Every graph of a split module, node by node; names and arguments included."""
    found = [node.format_node() or "output" for node in split.graph.nodes]
    found += [str(split.graph.output_node().args)]
    for name, child in split.named_children():
        if isinstance(child, GraphModule):
            found += [name, *(f"  {line}" for line in lines(child))]
    return found


def both(case: Case, partition: Partition, fallback: tuple[str, ...]) -> list[list[str]]:
    """The release's split and the harness's, of one captured program."""
    captured = captured_case(case.name)
    theirs = partition(captured.fresh_module(), fallback, case.min_block_size)
    ours = split_module(captured.fresh_module(), case.fallback, case.min_block_size)
    return [lines(theirs), lines(ours)]


def check(case: Case, wheel: Path) -> None:
    module = captured_case(case.name).fresh_module()
    if not any(node.op in CALLABLE_NODE_OPS for node in module.graph.nodes):
        return  # `compile` never partitions it
    theirs, ours = both(case, partition_of(wheel), case.fallback)
    assert ours == theirs


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("version", FETCHED)
def test_a_case_is_split_as_by_the_release_itself(toolchain, version, name):
    check(find_case(name), toolchain.wheel(CATALOGUE.get(version)))


@pytest.mark.slow
@pytest.mark.parametrize("case", EXPORTED, ids=lambda case: case.name)
def test_every_case_is_split_as_by_every_release(toolchain, case):
    for wheel in different(toolchain.wheel(release) for release in CATALOGUE):
        check(case, wheel)


@pytest.mark.slow
def test_complex_numbers_alone_are_split_otherwise_by_the_newest_release(toolchain):
    partition = partition_of(toolchain.wheel(CATALOGUE.newest), complex_apart=True)
    unlike = set()
    for case in EXPORTED:
        if any(map(is_complex, captured_case(case.name).fresh_module().graph.nodes)):
            theirs, ours = both(case, partition, case.fallback)
            unlike |= {case.name} if theirs != ours else set()
    assert unlike == {
        "complex_buffer",
        "complex_double_truncated",
        "complex_input_into_engine",
        "complex_output_beside_a_real_one",
    }


def is_complex(node: Node) -> bool:
    return getattr(node.meta.get("val"), "dtype", None) in COMPLEX


@pytest.mark.parametrize("name", ["engine_two_outputs", "residual_over_a_fallback"])
def test_an_op_more_or_less_in_pytorch_is_seen(toolchain, name):
    partition = partition_of(toolchain.wheel(CATALOGUE.newest))
    theirs, ours = both(find_case(name), partition, ())
    assert ours != theirs


def test_another_block_size_is_seen(toolchain):
    captured = captured_case("residual_over_a_fallback")
    fallback = captured.case.fallback
    partition = partition_of(toolchain.wheel(CATALOGUE.newest))
    theirs = partition(captured.fresh_module(), fallback, 2)
    assert lines(theirs) != lines(split_module(captured.fresh_module(), fallback, 1))


def test_a_release_leaves_dead_code_out_of_its_children_too(toolchain):
    captured = captured_case("every_interface_at_once")
    module = captured.fresh_module()
    relu = next(n for n in module.graph.nodes if str(n.target) == "aten.relu.default")
    with module.graph.inserting_after(relu):
        dead = module.graph.call_function(relu.target, relu.args)
        dead.meta = dict(relu.meta)
    partition = partition_of(toolchain.wheel(CATALOGUE.newest))
    theirs = partition(module, captured.case.fallback, 1)
    ours = split_module(captured.fresh_module(), captured.case.fallback, 1)
    assert lines(ours) == lines(theirs)


PARTITIONER = f"{PARTITIONING}._adjacency_partitioner"
CONVERSION = f"{PACKAGE}.dynamo.conversion"
Partition = Callable[[GraphModule, tuple[str, ...], int], GraphModule]


class _EveryOp:
    """In the place of `DYNAMO_CONVERTERS`: every op converts that `compile` has not disallowed.

    A getitem converts where what it reads does (`getitem_validator`,
    dynamo/conversion/ops_evaluators.py).
    """

    compilation_settings = None
    disallowed: Collection[object] = ()

    def __contains__(self, node: Node) -> bool:
        if node.target is operator.getitem:
            read = node.args[0]
            assert isinstance(read, Node)
            return read in self or read.op == "get_attr"
        return node.op == "call_function" and node.target not in self.disallowed


class _Registry:
    @staticmethod
    def qualified_name_or_str(target: object) -> str:
        return target if isinstance(target, str) else _get_qualified_name(target)  # type: ignore[arg-type]


def load_partition(wheel: Path, *, complex_apart: bool) -> Partition:
    """The release's own `partition`, by the ops of a case."""
    modules = stand_ins(wheel)
    vars(modules[f"{PACKAGE}.dynamo._defaults"]).update(
        MIN_BLOCK_SIZE=5, REQUIRE_FULL_COMPILATION=False
    )
    apart = COMPLEX if complex_apart else frozenset()
    vars(modules[f"{PACKAGE}.dynamo.utils"])["COMPLEX_DTYPES"] = apart
    conversion = types.ModuleType(CONVERSION)
    conversion.__path__ = []
    registry = types.ModuleType(f"{CONVERSION}._ConverterRegistry")
    converters = _EveryOp()
    vars(registry).update(DYNAMO_CONVERTERS=converters, ConverterRegistry=_Registry)
    modules |= {CONVERSION: conversion, registry.__name__: registry}
    before = {name for name in sys.modules if name.split(".")[0] == PACKAGE}
    assert not before, f"{PACKAGE} is imported already"
    sys.modules.update(modules)
    try:
        partition = importlib.import_module(PARTITIONER).partition
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
            del sys.modules[name]

    def by_case(module: GraphModule, fallback: tuple[str, ...], least: int) -> GraphModule:
        targets = {node.target for node in module.graph.nodes if node.op == "call_function"}
        executed = {
            target
            for target in targets
            if {str(target), _Registry.qualified_name_or_str(target)} & {*fallback}
        }
        converters.disallowed = executed  # `set_disallowed_targets`, which `compile` calls
        split: GraphModule = partition(module, min_block_size=least, torch_executed_ops=executed)[0]
        return split

    return by_case
