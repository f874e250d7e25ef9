"""Which values of the structure space each case has."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch.export import ExportedProgram

from corpus.axes import asked
from corpus.axes.catalogue import AXES, UNREACHABLE
from corpus.axes.impossible import impossible_pairs
from corpus.axes.space import values_held
from corpus.axes.view import SplitView
from corpus.case import Case, Inputs, all_cases, corpus_digest
from corpus.children import NON_PERSISTENT, PLAIN
from harness.rig.capture import capture as capturing
from harness.rig.capture import split as splitting
from harness.rig.capture.capture import CapturedProgram, capture

#: Settings of `torch_tensorrt.dynamo.compile` that make other splits.
PARTITIONING: Final = frozenset(
    {"min_block_size", "require_full_compilation", "torch_executed_ops", "use_fast_partitioner"}
)


def view_of(case: Case) -> SplitView:
    """A case, captured and split as a cell would."""
    captured = capture(case, "nonstrict")
    program = captured.program
    if captured.exported is None:
        assert program.split is not None
        return SplitView(program.split, captured.example, bounds=program.bounds)
    return SplitView(
        captured.split(),
        captured.example,
        program.model,
        program.bounds,
        _kinds(captured.exported),
        _given_to_save(captured),
    )


def _kinds(program: ExportedProgram) -> Mapping[str, str]:
    """The attributes of which the split module no longer tells what they were."""
    signature = program.graph_signature
    kinds = dict.fromkeys(signature.lifted_tensor_constants, PLAIN)
    return kinds | dict.fromkeys(signature.non_persistent_buffers, NON_PERSISTENT)


def _given_to_save(captured: CapturedProgram) -> Inputs | None:
    """None where it is made of classes of the package, which is not here."""
    try:
        return captured.given_to_save
    except ModuleNotFoundError as error:
        if error.name != "torch_tensorrt":
            raise
        return None


def values_of(case: Case) -> list[str]:
    """The ids of what a case has: of its split, where the graph lane can make it, and of itself."""
    split = values_held(AXES, view_of(case)) if _splits_here(case) else ()
    return [*split, *asked.met_by(case)]


def _splits_here(case: Case) -> bool:
    """Whether the graph lane's splitter makes the split that the case is about.

    A cache, which goes through the package lane alone for what engines do with it, is split as any
    other model. What a setting makes of a split, or a package that compiles the program before, is
    seen in that package alone.
    """
    if "graph" in case.lanes:
        return True
    return not PARTITIONING & dict(case.settings).keys() and case.build().before_compile is None


def coverage(_: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The axes, the pairs that cannot exist, and each case's values."""
    structure = [
        {
            "name": axis.name,
            "values": {value.id: value.what for value in axis.values},
            "alone": axis.alone,
        }
        for axis in AXES
    ]
    stated = [
        {"name": axis, "values": {f"{axis}/{met.name}": met.what for met in mets}, "alone": True}
        for axis, mets in asked.AXES.items()
    ]
    yield {
        "axes": [*structure, *stated],
        "unreachable": UNREACHABLE,
        "impossible": [
            {"pair": list(pair), "reason": reason} for pair, reason in impossible_pairs(AXES)
        ],
        "cases": {case.name: values_of(case) for case in all_cases()},
    }


def coverage_digest(_: Mapping[str, Any]) -> Iterator[str]:
    """SHA-256 over what `coverage` depends on: the corpus, capturing and splitting, and torch."""
    sources = (capturing.__file__, splitting.__file__, __file__)
    parts = [corpus_digest().encode(), torch.__version__.encode()]
    parts += [Path(source).read_bytes() for source in sources]
    yield hashlib.sha256(b"\0".join(parts)).hexdigest()
