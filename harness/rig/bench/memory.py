"""Peak memory of saving and of loading, each in a process of its own.

A process that has done the like before holds freed memory that it uses again, and would show less
than a user's. A forked child starts with the peak that its parent has at the moment, so what it
reaches above that is what the action took, once it has the modules and the pages of libraries
that any such action needs: those are 10 MB or 30 MB, by what the system's page cache holds.
"""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from harness.rig.bench.forked import Child
from harness.rig.bench.prepared import Measured
from harness.rig.clock import StageClock
from harness.rig.inliners.protocol import Inliner, Inlining
from harness.wire.bench_records import Arm, Size
from harness.wire.routes import Route

_STATM = Path("/proc/self/statm")
_KIB = 1024


def sizes_of(measured: Measured, inliner: Inliner, arm: Arm, folder: Path) -> dict[str, int]:
    """Bytes by `Size`. Run in a worker that has done nothing else."""
    archive = folder / "program.pt2"
    warm_up = folder / "warm_up.pt2"
    saved = _in_a_child(lambda: _save(measured, inliner, arm, archive, warm_up))
    loaded = _in_a_child(lambda: _load(archive, warm_up))
    return {
        Size.FILE: archive.stat().st_size,
        Size.ENGINES: measured.engine_bytes,
        **saved,
        **loaded,
    }


def _save(
    measured: Measured, inliner: Inliner, arm: Arm, archive: Path, warm_up: Path
) -> dict[str, int]:
    route = Route(arm.route)
    program = inliner.produce(
        measured.split,
        route,
        measured.example,
        measured.shapes_given(route),
        StageClock(),
        Inlining(),
    )
    gc.collect()

    def save_alone() -> dict[str, int]:
        _save_and_load_something(warm_up)
        return {Size.SAVE_PEAK: _peak(lambda: torch.export.save(program, archive))[0]}

    # A child once more: what inlining and exporting took must not stand for what saving takes.
    return _in_a_child(save_alone)


def _load(archive: Path, warm_up: Path) -> dict[str, int]:
    _save_and_load_something(warm_up)
    before = _resident()
    peak, loaded = _peak(lambda: torch.export.load(archive))
    gc.collect()
    kept = _resident() - before
    del loaded
    return {Size.LOAD_PEAK: peak, Size.AFTER_LOAD: max(kept, 0)}


def _save_and_load_something(archive: Path) -> None:
    """Load the modules that every save and load needs, and leave next to no freed memory."""
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(1),)), archive)
    torch.export.load(archive)
    gc.collect()


def _peak(action: Callable[[], Any]) -> tuple[int, Any]:
    """The most memory above that of now, in bytes, and what the action returned."""
    before = _resident()
    result = action()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    return max(most - before, 0), result


def _resident() -> int:
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _in_a_child(action: Callable[[], dict[str, int]]) -> dict[str, int]:
    child = Child.fork(lambda _: action())
    try:
        return child.ask({})
    finally:
        child.end()
