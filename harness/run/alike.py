"""A candidate's cells that make the same program as what the candidate is held against.

Such a program is not sent to disk again: the verdicts on it are a function of it, and they are
known. The worker compares programs with all else that verdicts are made of (`CellRecord.program`),
and asks by itself what depends on more: whether the inliner repeats itself, and whether its own
`export` makes that program. The record says in ``measured_as`` whose verdicts it has.

Some cells, drawn by the run's id, are judged all the same, to see that this holds.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.base.errors import SurroundingsError
from harness.base.words import plural
from harness.runs.plan import PlannedCell
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Lane
from harness.wire.vocabulary import CellState

_ONE_IN: Final = 20
#: What a program alone does not decide: the worker asks it in each cell.
_OF_THE_INLINER: Final = (Oracle.DETERMINISM, Oracle.STRUCTURE)


@dataclass
class Alike:
    """The programs of one run that were judged, for the candidates that make them again.

    Attributes:
        likes: for each candidate the subject that it is held against.
        cells: all that the run plans, by ``cell_id``.
        known: the record of a cell, as far as it is known by then.
        in_full: cells that are judged whatever they make.
        seed: the run's id.
    """

    likes: Mapping[str, str]
    cells: Mapping[str, PlannedCell]
    known: Callable[[CellKey], CellRecord | None]
    in_full: Collection[str]
    seed: str
    _made: list[CellRecord] = field(default_factory=list)
    _unlike: list[str] = field(default_factory=list)

    def program(self, key: CellKey) -> str:
        """The program with which a cell need not be judged; empty if it has to be."""
        drawn = zlib.crc32(f"{self.seed} {key.cell_id}".encode()) % _ONE_IN == 0
        other = None if drawn or key.cell_id in self.in_full else self._other(key)
        return other.program if other else ""

    def completed(self, record: CellRecord) -> CellRecord | None:
        """The record with the verdicts on its program, if it says only that this is a known one."""
        if record.state is CellState.ENDED and not record.verdicts:
            self._made.append(self._complete(record))
            return self._made[-1]
        other = self._other(record.key)
        if other and other.program and other.program == record.program:
            for oracle in Oracle:
                mine, theirs = record.verdict(oracle), other.verdict(oracle)
                same = (mine.label, mine.message) == (theirs.label, theirs.message)
                if not same and oracle not in _OF_THE_INLINER:
                    told = f"{oracle}: {mine.label} {mine.message}"
                    self._unlike.append(f"{record.key.cell_id}: {told}, not {theirs.label}")
        return None

    def all_completed(self) -> list[CellRecord]:
        """Every record that was completed; none is to be used before all cells have ended.

        Raises:
            SurroundingsError: equal programs were judged otherwise where that was tried.
        """
        if self._unlike:
            raise SurroundingsError(
                f"{plural(len(self._unlike), 'verdict')} on equal programs differ, so that no cell "
                f"can take another's; first {self._unlike[0]}",
                "run again with --no-share, which judges each, and report this",
            )
        return self._made

    def _complete(self, record: CellRecord) -> CellRecord:
        other = self._other(record.key)
        assert other is not None
        assert other.program == record.program
        return dataclasses.replace(
            other,
            key=record.key,
            hypothetical=record.hypothetical,
            measured_as=other.key.subject,
            seconds=record.seconds,
            logged=record.logged,
            ended_at_unix_s=record.ended_at_unix_s,
            kept_from="",
        )

    def _other(self, key: CellKey) -> CellRecord | None:
        """The judged cell that a candidate's is held against, if its inliner repeats itself."""
        like = self.likes.get(key.subject)
        if like is None or key.lane is not Lane.GRAPH:
            return None
        planned = self.cells.get(dataclasses.replace(key, subject=like).cell_id)
        if planned is None:
            return None
        other = self.known(dataclasses.replace(key, subject=planned.measured_as))
        if other is None or other.state is not CellState.ENDED:
            return None
        return None if other.verdict(Oracle.DETERMINISM).failed else other
