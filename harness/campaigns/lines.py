"""A campaign's journal: a file with an object of JSON on each line, which outlives a kill."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

JOURNAL: Final = "journal.jsonl"


def journal_lines(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a campaign's journal; one that a kill cut off is left out."""
    path = folder / JOURNAL
    for text in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            yield json.loads(text)
        except ValueError:
            continue


def opened_journal(folder: Path) -> TextIO:
    """The journal, to be added to: behind a line that was cut off, on a line of its own."""
    path = folder / JOURNAL
    cut_off = path.is_file() and not path.read_bytes().endswith(b"\n")
    journal = path.open("a", encoding="utf-8")
    if cut_off:
        journal.write("\n")
    return journal
