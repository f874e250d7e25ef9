"""Which cells found the wrong edits that people made of a release, so that none is forgotten.

A run of such an edit is not kept for ever. `wrong_edits.csv` has what it found: a row an edit and a
cell that is worse with it. An edit is called as its run called it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from harness.expectations import EXPECTATIONS
from harness.run.order import cell_of
from harness.wire.records import CellKey

WRONG_EDITS: Final = EXPECTATIONS / "wrong_edits.csv"
_FIELDS: Final = ("edit", "lane", "case", "capture", "route")


def read_wrong_edits(path: Path = WRONG_EDITS) -> dict[CellKey, set[str]]:
    """The edits that each cell finds; cells have no subject."""
    found: dict[CellKey, set[str]] = {}
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            found.setdefault(cell_of(row), set()).add(row["edit"])
    return found


def wrong_edits_text(found: Mapping[CellKey, Collection[str]]) -> str:
    """The content of `wrong_edits.csv`."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_FIELDS)
    rows.writerows(
        sorted(
            (edit, cell.lane, cell.case, cell.capture, cell.route)
            for cell, edits in found.items()
            for edit in edits
        )
    )
    return text.getvalue()
