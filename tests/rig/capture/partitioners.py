"""The adjacency partitioner of a release, loaded alone out of its wheel.

The stand-ins are those of its exporter, and a few more. One of them decides: here every op converts
but those that a case sends to PyTorch, as in the harness's own splitter.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from pathlib import Path

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import _get_qualified_name

from harness.rig.inliners.surroundings import PACKAGE, PARTITIONING, stand_ins

PARTITIONER = f"{PARTITIONING}._adjacency_partitioner"
CONVERSION = f"{PACKAGE}.dynamo.conversion"
Partition = Callable[[GraphModule, tuple[str, ...], int], GraphModule]


class _EveryOp:
    """In the place of `DYNAMO_CONVERTERS`."""

    compilation_settings = None

    def __contains__(self, node: Node) -> bool:
        return node.op == "call_function"


class _Registry:
    @staticmethod
    def qualified_name_or_str(target: object) -> str:
        return target if isinstance(target, str) else _get_qualified_name(target)  # type: ignore[arg-type]


def load_partition(wheel: Path) -> Partition:
    """The release's own `partition`, by the ops of a case."""
    modules = stand_ins(wheel)
    vars(modules[f"{PACKAGE}.dynamo._defaults"]).update(
        MIN_BLOCK_SIZE=5, REQUIRE_FULL_COMPILATION=False
    )
    complex_types = frozenset({torch.complex64, torch.complex128})
    vars(modules[f"{PACKAGE}.dynamo.utils"])["COMPLEX_DTYPES"] = complex_types
    conversion = types.ModuleType(CONVERSION)
    conversion.__path__ = []
    registry = types.ModuleType(f"{CONVERSION}._ConverterRegistry")
    vars(registry).update(DYNAMO_CONVERTERS=_EveryOp(), ConverterRegistry=_Registry)
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
        split: GraphModule = partition(module, min_block_size=least, torch_executed_ops=executed)[0]
        return split

    return by_case
