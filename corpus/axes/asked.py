"""What users met: types of values, stated dimensions, life cycle, ops by name, settings.

These are properties of a case and of the program that its function builds, and not of its split
module; with most structures they have nothing to do. So they are counted one by one, and no pair
with them is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree

from corpus.case import Case, Program


@dataclass(frozen=True)
class Asked:
    """A case and its program."""

    case: Case
    program: Program


Holds = Callable[[Asked], bool]


@dataclass(frozen=True)
class Met:
    """Something that users met: ``what`` says it in words, ``holds`` whether a case asks for it."""

    name: str
    what: str
    holds: Holds


def _tensors(asked: Asked) -> Iterator[torch.Tensor]:
    """What a program is called with, and what its model holds."""
    made = asked.program.inputs(torch.Generator().manual_seed(0), None)
    yield from _only(pytree.tree_leaves((made.args, dict(made.kwargs))))
    if asked.program.model is not None:
        yield from asked.program.model.parameters()
        yield from asked.program.model.buffers()


def _only(leaves: list[Any]) -> Iterator[torch.Tensor]:
    yield from (leaf for leaf in leaves if isinstance(leaf, torch.Tensor))


def _of(*dtypes: torch.dtype) -> Holds:
    return lambda asked: any(tensor.dtype in dtypes for tensor in _tensors(asked))


def _beyond_32_bits(asked: Asked) -> bool:
    return any(
        tensor.dtype is torch.int64 and tensor.numel() > 0 and int(tensor.abs().max()) >= 2**32
        for tensor in _tensors(asked)
    )


def _dims(asked: Asked) -> list[Any]:
    """Every dimension that the program's dynamic shapes state, one for each place."""
    shapes = asked.program.dynamic_shapes
    is_dim = (torch.export.Dim, type(torch.export.Dim.AUTO))
    leaves = pytree.tree_leaves(shapes, is_leaf=lambda leaf: isinstance(leaf, is_dim))
    return [leaf for leaf in leaves if leaf is not None]


def _shared(asked: Asked) -> bool:
    names = [str(dim) for dim in _dims(asked)]
    return len(set(names)) < len(names)


def _derived(asked: Asked) -> bool:
    return any(type(dim).__name__ == "_DerivedDim" for dim in _dims(asked))


def _becomes(name: str) -> Holds:
    def holds(asked: Asked) -> bool:
        change = asked.program.before_compile
        return change is not None and change.__name__ == name

    return holds


def _as_a_packet(asked: Asked) -> bool:
    return any(name.count(".") == 1 for name in asked.case.fallback if name[0] != "_")


def _set(name: str) -> Holds:
    return lambda asked: name in dict(asked.case.settings)


def _block_size(asked: Asked) -> bool:
    return dict(asked.case.settings).get("min_block_size", asked.case.min_block_size) > 1


AXES: dict[str, tuple[Met, ...]] = {
    "type": (
        Met("complex", "a complex input, weight or buffer", _of(torch.complex64, torch.complex128)),
        Met("double", "a float64 input, weight or buffer", _of(torch.float64)),
        Met("bfloat16", "a bfloat16 input, weight or buffer", _of(torch.bfloat16)),
        Met("int64", "an int64 number of more than 32 bits", _beyond_32_bits),
    ),
    "stated dimension": (
        Met("unbounded", "a dimension without an upper bound", lambda a: a.program.unbounded),
        Met("shared", "one Dim in two places of the inputs", _shared),
        Met("derived", "a Dim computed from another", _derived),
        Met(
            "of-save",
            "other dynamic shapes for save than for export",
            lambda asked: asked.program.shapes_for_save is not None,
        ),
    ),
    "before compile": (
        Met("loaded", "saved and loaded", _becomes("saved_and_loaded")),
        Met("decomposed", "decomposed", _becomes("decomposed")),
        Met("unflattened", "unflattened and exported again", _becomes("unflattened_and_exported")),
        Met("exported", "exported again from its own module", _becomes("exported_again")),
        Met("compiled", "compiled once before", _becomes("compiled_before")),
        Met("hybrid", "a program that has engines already", _becomes("hybrid_exported")),
    ),
    "named op": (
        Met("custom", "an op that is not torch's own", lambda asked: bool(asked.case.imports)),
        Met("packet", "a fallback named without its overload", _as_a_packet),
    ),
    "setting": (
        Met("block size", "engines of two ops at least", _block_size),
        Met("whole", "require_full_compilation", _set("require_full_compilation")),
        Met("partitioner", "use_fast_partitioner=False", _set("use_fast_partitioner")),
        Met("truncate", "truncate_double", _set("truncate_double")),
        Met("cache", "reuse_cached_engines", _set("reuse_cached_engines")),
        Met("runtime", "use_python_runtime", _set("use_python_runtime")),
        Met("refit", "immutable_weights=False", _set("immutable_weights")),
        Met("offload", "offload_module_to_cpu", _set("offload_module_to_cpu")),
        Met("lazy", "lazy_engine_init", _set("lazy_engine_init")),
    ),
}


def met_by(case: Case) -> tuple[str, ...]:
    """The ids of what users met that a case asks for, in the order of the axes."""
    asked = Asked(case, case.build())
    return tuple(
        f"{axis}/{met.name}" for axis, mets in AXES.items() for met in mets if met.holds(asked)
    )
