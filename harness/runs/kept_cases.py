"""A user's own cases as a run asked them: their files, and what was read of them, in its folder.

A model is edited a minute later. What a run says of it is told again by what was read, which runs
nothing, and explained and reproduced with the files that the run kept.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.base.errors import UsageError
from harness.base.files import sha256_of, written_to
from harness.runs.run_folder import RunFolder
from harness.wire.record_json import case_from_json, to_json
from harness.wire.records import CaseInfo

#: In a run's folder: copies of the files, as deep as they lay, and what was read of them.
CASES: Final = "cases"
_READ: Final = "cases.json"
#: Of files that are larger together, the largest are not copied.
_LARGEST_BYTES: Final = 200_000_000


@dataclass(frozen=True)
class KeptCases:
    """The cases that a run was made of.

    ``places`` are where they lie as they were: the user's own, or the copies where a file has
    ``changed`` since, which is None where all are as they were. ``python`` is the Python that has
    what they import.
    """

    cases: tuple[CaseInfo, ...]
    places: tuple[str, ...]
    changed: Path | None
    run_id: str
    python: str

    @property
    def words(self) -> str:
        """What is said once of a file that has changed; empty where none has."""
        since = f"{self.changed} has changed since; this is as it was in run {self.run_id}"
        return since if self.changed else ""

    @property
    def interpreter(self) -> str:
        """The Python, to have their code run. Raises UsageError where it is gone."""
        if not Path(self.python).exists():
            raise UsageError(
                f"{self.python} is gone, which had what the cases of run {self.run_id} import",
                "run it again",
            )
        return self.python

    def runnable(self) -> tuple[str, ...]:
        """The places, to have their code run.

        Raises:
            UsageError: a file has changed of which there is no copy.
        """
        if self.changed and not self.places:
            raise UsageError(
                f"{self.changed} has changed since run {self.run_id}, which has no copy of it",
                "run it again",
            )
        return self.places


def keep_cases(
    run: RunFolder,
    places: Sequence[str],
    files: Iterable[str],
    cases: Iterable[CaseInfo],
    python: str,
) -> None:
    """Copy the files of a user's cases into a run's folder, and what was read of them.

    An entry point's package is installed, and has a version: it is not copied.

    Args:
        places: the files and folders that the user named.
        files: all that their cases are made of.
        python: the Python that imported them.
    """
    if not places or not all(Path(place).exists() for place in places):
        return
    sums = {file: sha256_of(Path(file)) for file in files}
    root = Path(os.path.commonpath([Path(each).parent for each in (*sums, *places)]))
    copied = 0
    for file in sorted(map(Path, sums), key=lambda file: file.stat().st_size):
        copied += file.stat().st_size
        if copied > _LARGEST_BYTES:
            break
        copy = run.path / CASES / file.relative_to(root)
        with written_to(run.path):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
            if file.suffix == ".toml":
                copy.write_text(_moved(file, sums), encoding="utf-8")
    read = [to_json(case) for case in cases]
    other = "" if python == sys.executable else python  # this one may lie elsewhere tomorrow
    run.write(_READ, {"files": sums, "root": str(root), "cases": read, "python": other})


def merge_cases(merged: RunFolder, runs: Iterable[RunFolder]) -> None:
    """Keep in a merged run what one of its runs kept, and what all know of the models."""
    runs = tuple(runs)
    places, known = merged.provenance().corpus, merged.lacking()
    kept = (run for run in runs if (run.path / _READ).is_file())
    of_places = next((run for run in kept if run.provenance().corpus == places), None)
    if of_places is not None and of_places.path != merged.path:
        with written_to(merged.path):
            shutil.copy(of_places.path / _READ, merged.path / _READ)
            shutil.copytree(of_places.path / CASES, merged.path / CASES, dirs_exist_ok=True)
    for case, lacks in dict(pair for run in runs for pair in run.lacking().items()).items():
        if case not in known:
            merged.add_lacking(case, lacks)


def _moved(models: Path, files: Iterable[str]) -> str:
    """The text of a models file in which other files are named from where it lies."""
    text = models.read_text(encoding="utf-8")
    for file in sorted(files, key=len, reverse=True):
        text = text.replace(file, os.path.relpath(file, models.parent))
    return text


def kept_cases(run: RunFolder) -> KeptCases | None:
    """The cases of a run; None where it kept none: the project's own, or a run of before."""
    if not (run.path / _READ).is_file():
        return None
    places = run.provenance().corpus

    def decoded(data: dict[str, Any]) -> KeptCases:
        files, root = dict(data["files"]), Path(data["root"])
        copies = {file: run.path / CASES / Path(file).relative_to(root) for file in files}
        changed = [file for file, read in files.items() if not _is(Path(file), read)]
        there = places
        if changed:
            moved = tuple(str(run.path / CASES / Path(each).relative_to(root)) for each in places)
            there = moved if all(copy.is_file() for copy in copies.values()) else ()
        return KeptCases(
            tuple(map(case_from_json, data["cases"])),
            there,
            Path(changed[0]) if changed else None,
            run.run_id,
            data.get("python") or sys.executable,  # a run of before does not say
        )

    return run.read(_READ, decoded)


def _is(file: Path, read: str) -> bool:
    return file.is_file() and sha256_of(file) == read
