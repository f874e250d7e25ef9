"""The harness: the controller. Never imports torch; what does lives in `harness.rig`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from harness.report.run_frames import RunFrames


def open_run(run: str | Path = "results/latest") -> RunFrames:
    """A run's numbers as pandas frames, for a notebook; `RunFrames` says what is in each column.

    Args:
        run: a run's folder, its id, or ``latest``.

    Raises:
        UsageError: no such run, or its report was never written; says what writes it.
    """
    # Here and not at the top: a worker and the noxfile import this package, and need no pandas.
    from harness.report.run_frames import read_frames
    from harness.runs.run_folder import RunFolder

    return read_frames(RunFolder.open(run).path)
