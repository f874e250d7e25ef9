"""A program that a user's own torch has saved."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import torch


class CannotRead(Exception):
    """This torch does not read an archive: which one wrote it, and what to do instead."""


def load_archive(file: Path) -> torch.export.ExportedProgram:
    """A program that `torch.export.save` wrote.

    Raises:
        CannotRead: this torch does not read it.
    """
    try:
        return torch.export.load(file)
    except Exception as error:
        by = _written_by(file)
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        same = f" {torch.__version__} wrote" in by
        why = f", so it is damaged ({reason})" if same else ""
        raise CannotRead(
            f"torch {torch.__version__} cannot read {file}, {by}{why}; export "
            "and save it with this torch, or name the model's class instead"
        ) from error


def _written_by(file: Path) -> str:
    """Which torch wrote an archive, as it says; torch tells why it cannot read it in its log."""
    try:
        with zipfile.ZipFile(file) as archive:
            (model,) = (each for each in archive.namelist() if each.endswith("models/model.json"))
            return f"which torch {json.loads(archive.read(model))['torch_version']} wrote"
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return "which is no archive that torch.export.save wrote"
