"""Jobs for workers, made of planned cells, and what is left of a job that broke off. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.runs.plan import PlannedCell
from harness.wire.oracles import Oracle, Symptom
from harness.wire.record_json import key_to_json
from harness.wire.records import CellKey, CellRecord, Verdict, completion_alone
from harness.wire.vocabulary import CellState, Outcome, Stage


@dataclass(frozen=True)
class Job:
    """Cells of one case in one capture mode, which one worker captures and splits once."""

    case: str
    capture: str
    cells: tuple[PlannedCell, ...]
    attempt: int = 1
    programs: Mapping[str, str] = field(default_factory=dict)  # see `serve_cells` of the rig

    def message(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "capture": self.capture,
            "cells": [key_to_json(cell.key) for cell in self.cells],
            "programs": dict(self.programs),
        }

    def with_programs(self, program: Callable[[CellKey], str]) -> Job:
        """The same job, with the programs of its cells that were judged already."""
        told = {cell.key.cell_id: program(cell.key) for cell in self.cells}
        return dataclasses.replace(self, programs={name: of for name, of in told.items() if of})

    def without(self, cell_ids: Collection[str]) -> Job | None:
        """What is left when these cells have ended, or None."""
        left = tuple(cell for cell in self.cells if cell.key.cell_id not in cell_ids)
        return dataclasses.replace(self, cells=left) if left else None

    def only(self, cell_id: str) -> Job:
        """A job of one of its cells, for another attempt."""
        chosen = tuple(cell for cell in self.cells if cell.key.cell_id == cell_id)
        return dataclasses.replace(self, cells=chosen, attempt=self.attempt + 1)


def make_jobs(cells: Sequence[PlannedCell]) -> list[Job]:
    """One job for each case and capture mode, with the cells that have to be executed.

    They come in the order of their first cells.
    """
    grouped: dict[tuple[str, str], list[PlannedCell]] = {}
    for cell in cells:
        if cell.executed:
            grouped.setdefault((cell.key.case, cell.key.capture), []).append(cell)
    return [Job(case, capture, tuple(group)) for (case, capture), group in grouped.items()]


def broken_off(
    key: CellKey, symptom: Symptom, stage: Stage, message: str, attempts: int
) -> CellRecord:
    """The record of a cell whose worker died or ran out of time."""
    ended = Verdict(Oracle.COMPLETION, Outcome.FAILED, symptom, stage, message)
    return CellRecord(
        key=key,
        state=CellState.ENDED,
        verdicts=completion_alone(ended),
        measured_as=key.subject,
        attempts=attempts,
    )


def settle_second_attempt(first: CellRecord, second: CellRecord) -> CellRecord:
    """One record of a cell that broke off and was tried again.

    If both attempts ended alike, that is the result. Otherwise the cell is `flaky`, and the message
    names both ends.
    """
    if first.label == second.label:
        return dataclasses.replace(second, attempts=2)
    before = first.verdict(Oracle.COMPLETION)
    message = f"{first.label}, then {second.label}"
    record = broken_off(
        second.key, Symptom.FLAKY, before.stage or Stage.CAPTURE, message, attempts=2
    )
    return dataclasses.replace(record, seconds=second.seconds)
