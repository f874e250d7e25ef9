"""An exported program's way to disk and back: save, load, run."""

from __future__ import annotations

import filecmp
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from corpus.case import Inputs
from harness.rig.clock import StageClock
from harness.rig.oracles import values
from harness.rig.records import Stage


@dataclass
class CameBack:
    """What is there of a program, filled in as far as it got. All None: it was not exported."""

    exported: ExportedProgram | None = None
    reloaded: ExportedProgram | None = None
    callable: Any = None
    results: values.Observed | None = None
    # What two archives of it load as, if their bytes differ.
    saved_twice: tuple[ExportedProgram, ExportedProgram] | None = None
    archive_bytes: int | None = None

    @property
    def programs(self) -> Iterator[tuple[ExportedProgram, Stage]]:
        """The program before it was saved and after it was loaded, each with its stage."""
        if self.exported is not None:
            yield self.exported, Stage.EXPORT
        if self.reloaded is not None:
            yield self.reloaded, Stage.LOAD


def send_to_disk(
    back: CameBack, calls: tuple[Inputs, ...], archive: Path, clock: StageClock
) -> None:
    """Save ``back.exported`` as ``archive``, load it, and run what was loaded on every call.

    Raises:
        Exception: whatever a stage raises; ``back`` holds what came before.
    """
    with clock.during(Stage.SAVE):
        torch.export.save(back.exported, archive)  # type: ignore[arg-type]
    back.archive_bytes = archive.stat().st_size
    with clock.during(Stage.LOAD):
        back.reloaded = torch.export.load(archive)
    with _state_put_back(back.reloaded), clock.during(Stage.RUN):
        back.callable = back.reloaded.module()
        back.results = values.observe(back.callable, calls)


def save_again(back: CameBack, archive: Path, clock: StageClock) -> None:
    """Save ``back.exported`` a second time; if that is another archive, load it and the first.

    The first is loaded anew, since `ExportedProgram.module` leaves marks in a program.

    Raises:
        Exception: whatever saving and loading raise.
    """
    second = archive.parent / "again" / archive.name  # an archive's name is inside it, too
    second.parent.mkdir()
    with clock.during(Stage.SAVE):
        torch.export.save(back.exported, second)  # type: ignore[arg-type]
    if not filecmp.cmp(archive, second, shallow=False):
        back.saved_twice = (torch.export.load(archive), torch.export.load(second))


@contextmanager
def _state_put_back(program: ExportedProgram) -> Iterator[None]:
    """Give a program its state back when its calls have written to it.

    The module that runs shares it, and the other oracles judge the program as it was loaded. The
    module cannot be copied instead: a copy has lost the hooks that check a call's inputs.
    """
    tensors = [*program.state_dict.values(), *program.constants.values()]
    kept = [(item, item.clone()) for item in tensors if isinstance(item, torch.Tensor)]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, copied in kept:
                tensor.copy_(copied)
