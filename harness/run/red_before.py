"""What was red in an earlier run, so that it alone can be asked again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.gate.findings import CellClass, Finding, GateReport
from harness.gate.pairs import without_subject
from harness.run.judged_run import Expected, judged_run
from harness.runs.run_folder import RunFolder, read_summary
from harness.wire.records import CellKey, SubjectSpec

_RED = (CellClass.UNEXPECTED_FAILURE, CellClass.UNEXPECTED_PASS)


def red_cells(
    which: str, out: Path, subjects: Sequence[SubjectSpec], expected: Expected
) -> frozenset[CellKey]:
    """The cells, without their subjects, that were red in a run.

    Args:
        which: a run's folder or id; empty for the last run below ``out`` of the candidate that is
            among ``subjects``, in whatever state its file was then.

    Raises:
        UsageError: there is no such run, or nothing was red in it.
    """
    folder = RunFolder.open(which, out) if which else _last(out, subjects)
    found = red_findings(judged_run(folder, expected).report)
    red = frozenset(without_subject(each.key) for each in found)
    if not red:
        raise UsageError(
            f"--failed: nothing was red in run {folder.run_id}", "leave out --failed to ask all"
        )
    return red


def red_findings(report: GateReport) -> list[Finding]:
    """Where a run was not as expected, or a candidate worse than what it is held against."""
    return [each for each in report.findings if each.cell_class in _RED]


def _last(out: Path, subjects: Sequence[SubjectSpec]) -> RunFolder:
    brought = {place for place in map(_brought_from, subjects) if place}
    if not brought:
        raise UsageError("--failed: no candidate is asked for", "name a run with --run")
    made = (path for path in out.iterdir() if not path.is_symlink()) if out.is_dir() else ()
    for path in sorted(made, key=lambda path: path.name, reverse=True):  # names sort by their time
        if read_summary(path) is not None and (path / RunFolder.MARK).is_file():
            folder = RunFolder.open(path, out)
            if brought & set(map(_brought_from, folder.provenance().subjects)):
                return folder
    raise UsageError(
        f"--failed: no run of {', '.join(sorted(brought))} came to its end below {out}",
        "leave out --failed, or name a run with --run",
    )


def _brought_from(spec: SubjectSpec) -> str:
    """Where a user's candidate comes from, whatever its content is; empty for a release."""
    if not spec.kind.brought:
        return ""
    return spec.checkout or spec.exporter_path or spec.wheel_path or ""
