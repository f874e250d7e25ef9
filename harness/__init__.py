"""The harness: the controller. Never imports torch; what does lives in `harness.rig`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from harness.report.run_frames import RunFrames


def open_run(run: str | Path = "results/latest") -> RunFrames:
    """A run's numbers as pandas frames, for a notebook; `RunFrames` says what is in each column.

    The frames of a published run, which holds its records alone, are made of these anew, and its
    cells are classed by today's table.

    Args:
        run: a run's folder, its id, or ``latest``.

    Raises:
        UsageError: no such run, or its report was never written; says what writes it.
    """
    # Here and not at the top: a worker and the noxfile import this package, and need no pandas.
    from harness.report.run_frames import read_frames
    from harness.report.run_report import published_frames
    from harness.runs.run_folder import RunFolder

    folder = RunFolder.open(run)
    return published_frames(folder) if folder.published else read_frames(folder.path)
