"""An exported program's way to disk and back: save, load, run."""

from __future__ import annotations

import errno
import filecmp
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from corpus.case import Case, Inputs
from harness.rig.clock import StageClock
from harness.rig.oracles.observing import observe
from harness.rig.oracles.values import Observed
from harness.wire.vocabulary import Stage

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass
class RoundTrip:
    """A program before it was saved and after it was loaded, filled in as far as it got.

    All fields are None where it was not exported. ``come_back`` is applied to a cross-compiled
    program once it is loaded; before that it holds no engines, so no oracle looks at it.
    ``extra_files`` are the user's own files that are asked for, as they came back with it.
    """

    exported: ExportedProgram | None = None
    come_back: Callable[[ExportedProgram], ExportedProgram] | None = None
    reloaded: ExportedProgram | None = None
    callable: Any = None
    results: Observed | None = None
    # The programs that two archives of it load as, if the bytes of the archives differ.
    saved_twice: tuple[ExportedProgram, ExportedProgram] | None = None
    archive_bytes: int | None = None
    extra_files: dict[str, str] = field(default_factory=dict)

    @property
    def reached(self) -> Stage:
        """RUN if the loaded program ran, LOAD if it was only loaded, EXPORT otherwise."""
        if self.results is not None:
            return Stage.RUN
        return Stage.EXPORT if self.reloaded is None else Stage.LOAD

    @property
    def with_engines(self) -> ExportedProgram | None:
        """What was exported, unless it was cross-compiled, and has placeholders for engines."""
        return self.exported if self.come_back is None else None


def extra_files_of(case: Case) -> Mapping[str, str]:
    """The user's own files that `save` is given with the program, by name."""
    files: Mapping[str, str] = dict(case.save_keywords).get("extra_files", {})
    return files


def save(back: RoundTrip, archive: Path, clock: StageClock) -> None:
    """Save ``back.exported`` as ``archive``.

    Raises:
        Exception: whatever saving raises.
    """
    with clock.during(Stage.SAVE):
        torch.export.save(back.exported, archive)  # type: ignore[arg-type]
    back.archive_bytes = archive.stat().st_size


def load_and_run(
    back: RoundTrip, calls: tuple[Inputs, ...], archive: Path, clock: StageClock
) -> None:
    """Load ``archive``, and run what was loaded on every call.

    Raises:
        Exception: whatever a stage raises; ``back`` holds what came before.
    """
    with clock.during(Stage.LOAD):
        reloaded = torch.export.load(archive)
        back.reloaded = back.come_back(reloaded) if back.come_back else reloaded
    with _state_put_back(back.reloaded), clock.during(Stage.RUN):
        back.callable = back.reloaded.module()
        back.results = observe(back.callable, calls)


def save_again(back: RoundTrip, archive: Path, clock: StageClock) -> None:
    """Save ``back.exported`` a second time; if the archives differ, load both.

    The first archive is loaded again, since `ExportedProgram.module` leaves marks in a program.
    """
    second = second_archive(archive)
    with clock.during(Stage.SAVE):
        torch.export.save(back.exported, second)  # type: ignore[arg-type]
    compare_archives(back, archive, second, clock)


def second_archive(archive: Path) -> Path:
    """The path for a second save. It keeps the file name, because archives contain their name."""
    folder = archive.parent / "again"
    folder.mkdir()
    return folder / archive.name


def compare_archives(back: RoundTrip, archive: Path, second: Path, clock: StageClock) -> None:
    """Load two archives of one program if their bytes differ."""
    if not filecmp.cmp(archive, second, shallow=False):
        with clock.during(Stage.LOAD):
            back.saved_twice = (torch.export.load(archive), torch.export.load(second))


@contextmanager
def _state_put_back(program: ExportedProgram) -> Iterator[None]:
    """Restore a program's state after its calls have written to it.

    The module that runs shares its state with the program, and the other oracles judge the program
    as it was loaded. Running a copy of the module is no way out: a copy loses the hooks that check
    a call's inputs.
    """
    tensors = [*program.state_dict.values(), *program.constants.values()]
    kept = [(item, item.clone()) for item in tensors if isinstance(item, torch.Tensor)]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, copied in kept:
                tensor.copy_(copied)


def is_full_disk(error: Exception) -> bool:
    """Whether an exception means that the disk is full, for which no program is to blame."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM
