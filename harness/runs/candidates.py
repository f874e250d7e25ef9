"""The candidates of a run: their files are kept in its folder, as they were when it began.

An exporter file is edited a minute later, and a wheel is built anew under the same name. What a run
says of a candidate is explained and reproduced with the file that it judged.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.base.errors import UsageError
from harness.base.files import sha256_of, written_to
from harness.runs.run_folder import RunFolder
from harness.wire.records import SubjectSpec

#: In a run's folder.
CANDIDATES: Final = "candidates"


def keep_candidates(run: Path, subjects: Iterable[SubjectSpec]) -> None:
    """Copy the files of a run's candidates into its folder.

    Raises:
        UsageError: a file has changed since it was read.
    """
    for spec in _candidates(subjects):
        file = file_of(spec)
        with written_to(run):
            (run / CANDIDATES).mkdir(exist_ok=True)
            copy = Path(shutil.copy(file, run / CANDIDATES / file.name))
        if not _is_as_read(spec, copy):
            raise UsageError(f"{file} has changed while the run began", "start the run again")


def candidates_of(run: RunFolder) -> list[SubjectSpec]:
    """A run's candidates with the files that it kept; runs of before that have the user's own."""
    specs = []
    for spec in _candidates(run.provenance().subjects):
        kept = run.path / CANDIDATES / file_of(spec).name
        specs.append(_with_file(spec, kept) if kept.is_file() else spec)
    return specs


def changed_since(run: RunFolder, subject: str) -> Path | None:
    """The file of a candidate, if it is not there any more or not as this run judged it."""
    for spec in _candidates(run.provenance().subjects):
        file = file_of(spec)
        if spec.subject == subject and not (file.is_file() and _is_as_read(spec, file)):
            return file
    return None


def _candidates(subjects: Iterable[SubjectSpec]) -> Iterable[SubjectSpec]:
    files = (spec for spec in subjects if spec.kind.brought)
    return (spec for spec in files if spec.exporter_path or spec.wheel_path)


def file_of(spec: SubjectSpec) -> Path:
    """The exporter file or the wheel of a candidate."""
    return Path(spec.exporter_path or spec.wheel_path or "")


def _with_file(spec: SubjectSpec, file: Path) -> SubjectSpec:
    if spec.exporter_path:
        return dataclasses.replace(spec, exporter_path=str(file))
    return dataclasses.replace(spec, wheel_path=str(file))


def _is_as_read(spec: SubjectSpec, file: Path) -> bool:
    read = spec.exporter_sha256 if spec.exporter_path else spec.wheel_sha256
    return read is None or sha256_of(file) == read
