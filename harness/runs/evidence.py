"""Failing cells as text files: what each oracle said, and what it showed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from harness.base.files import replace_file, written_to
from harness.runs.commands import explain_command
from harness.wire.records import CellRecord
from harness.wire.vocabulary import Outcome

_LONGEST_NAME = 200  # below the 255 bytes of common file systems


def write_failures(folder: Path, records: Iterable[CellRecord]) -> None:
    """One file for each failing cell, and no file for any other."""
    texts = {file_name(record): evidence_text(record) for record in records if record.failures}
    with written_to(folder):
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.txt"):
            if old.name not in texts:  # from before a resume in which the cell passed
                old.unlink()
    for name, text in texts.items():
        replace_file(folder / name, text.encode(errors="replace"))


def file_name(record: CellRecord) -> str:
    """The file's name: the cell's id, shortened by a digest where it is too long for a name."""
    name = record.key.cell_id
    if len(name.encode()) > _LONGEST_NAME:
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        name = name.encode()[: _LONGEST_NAME - 17].decode(errors="ignore") + "~" + digest
    return f"{name}.txt"


def evidence_text(record: CellRecord) -> str:
    """All verdicts, failures first and with their evidence."""
    key = record.key
    lines = [
        f"{key.case} [{key.subject} {key.route} {key.capture}]: {record.label}",
        f"cell: {key.cell_id}",
        f"measured as: {record.measured_as or key.subject}; attempts: {record.attempts}",
        f"show it: {explain_command(key)}",
        "",
    ]
    for verdict in record.failures:
        lines += [f"{verdict.oracle.value}: {verdict.label}: {verdict.message}"]
        lines += [f"    {line}" for line in verdict.evidence.splitlines()]
        lines += [""]
    for verdict in record.verdicts:
        if verdict not in record.failures:
            reason = f": {verdict.message}" if verdict.outcome is not Outcome.OK else ""
            lines += [f"{verdict.oracle.value}: {verdict.label}{reason}"]
    return "\n".join(lines) + "\n"
