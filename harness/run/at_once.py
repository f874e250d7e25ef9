"""What a candidate's cells say while its run goes on: where it is worse, a line for each cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.gate.candidate import judge_candidate
from harness.gate.findings import CellClass
from harness.gate.pairs import Pair
from harness.gate.plain_words import plain
from harness.gate.qualify import severity_of
from harness.wire.records import CellKey, CellRecord

#: So many causes are told before the end, which tells all.
MOST: Final = 5


@dataclass
class AtOnce:
    """Tells the first cell of each cause as soon as it has ended.

    Attributes:
        likes: for each candidate the subject that it is held against.
        known: the record of a cell, as far as it is known by then.
        say: gets the lines.
    """

    likes: Mapping[str, str]
    known: Callable[[CellKey], CellRecord | None]
    say: Callable[[str], None]
    _told: set[str] = field(default_factory=set)

    def ended(self, record: CellRecord) -> None:
        """Tell a cell that is worse, if its cause is new and what it is held against is known."""
        like = self.likes.get(record.key.subject)
        if like is None or record.hypothetical or len(self._told) == MOST:
            return
        other = self.known(dataclasses.replace(record.key, subject=like))
        # What does no more harm may yet be a known defect behind one that the candidate mends.
        if other is None or severity_of(record) <= severity_of(other):
            return
        for finding in judge_candidate(Pair(other, record)).findings:
            if finding.cell_class is CellClass.UNEXPECTED_FAILURE and self._is_new(finding.reason):
                key = record.key
                why = plain(finding.reason)
                self.say(f"red so far: {key.case} by {key.route}, {finding.oracle}: {why}")
                return

    def _is_new(self, reason: str) -> bool:
        new = reason not in self._told
        self._told.add(reason)
        return new
