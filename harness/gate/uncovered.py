"""Cells in which a candidate mends a defect, and another one that was known shows behind it. Pure.

Such a cell is no breakage: it failed before, does no more harm now, and what it fails by is in the
other subject, too. A candidate that merely fails otherwise is none of these: it has to mend the
defect that ended the cell, in this or in other cells, and to go on for at least as long. It need
not go on where the numbers were silently wrong and the cell raises now.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Mapping

from harness.gate.attribution import attributed, difference_of, named_defects
from harness.gate.candidate import Comparison
from harness.gate.findings import CellClass, titled
from harness.gate.pairs import without_subject
from harness.gate.qualify import Severity, severity_of
from harness.gate.signs import SEEN_FIRST_NOW
from harness.register.defects import Register
from harness.register.table import Table
from harness.wire.oracles import Oracle
from harness.wire.records import CellKey, CellRecord
from harness.wire.vocabulary import CellState, Outcome, Stage

_STAGES = tuple(Stage)


def uncovered_in(
    candidate: str,
    like: str,
    records: Collection[CellRecord],
    table: Table,
    register: Register,
    around: Mapping[str, str],
) -> dict[CellKey, str]:
    """What is mended, and what shows behind it, in each cell where that is all that differs.

    Args:
        around: for what no table knows, the release whose defects it may have.

    Returns:
        By the cell without its subject.
    """
    pairs, mine, theirs = named_defects(candidate, like, records, table, register, around)
    told = difference_of(mine, theirs, register, candidate, like)
    mended = {*told.mended, *told.partly}
    release = around.get(like, like)
    has = {defect.id for defect in register.defects if defect.alive_in(release)}
    has |= {name for named in theirs.values() for name in named.values() if name in register.by_id}
    found = {}
    for place, (before, after) in pairs.items():
        here, there = mine[place], theirs[place]
        gone = mended.intersection(there.values()) - {*here.values()}
        behind = {name for seen, name in here.items() if seen not in there}
        if not (gone and behind and behind <= has):
            continue
        first, second = (_and(each, register) for each in (gone, behind))
        if _no_worse(before, after):
            found[place] = f"{first} mended, and behind it shows {second}, which {like} has too"
        elif _louder(before, after):
            found[place] = f"{first} was silent, and in its place {second} raises, as in {like}"
    return found


def shown_behind_compile(
    candidate: str,
    like: str,
    records: Collection[CellRecord],
    table: Table,
    register: Register,
    around: Mapping[str, str],
) -> dict[CellKey, str]:
    """What shows in a save that raises, where the other subject could not compile the model.

    The candidate mends `compile`, so that nobody has less than before, and what the save raises by
    is in the other subject, too. What may be one of several defects is the one that the cell shows
    otherwise.

    Returns:
        By the cell without its subject, as `uncovered_in`.
    """
    release = around.get(like, like)
    has = {defect.id for defect in register.defects if defect.alive_in(release)}
    resting = {
        without_subject(record.key)
        for record in records
        if record.key.subject == like and record.rests_on_compile
    }
    saves = [
        record
        for record in records
        if record.key.subject == candidate
        and record.state is CellState.ENDED
        and without_subject(record.key) in resting
        and severity_of(record) is Severity.ERROR
    ]
    facts = attributed(saves, table, register, around)
    sure: dict[CellKey, set[str]] = defaultdict(set)
    for fact in facts:
        sure[without_subject(fact.key)] |= {fact.defect} - {""}
    unknown = {
        place
        for fact in facts
        if not fact.defect and not sure[place := without_subject(fact.key)] & {*fact.alike}
    }
    return {
        place: f"{like} cannot compile it right, and now {_and(names, register)} shows"
        for place, names in sure.items()
        if names and names <= has and place not in unknown
    }


def _and(names: Collection[str], register: Register) -> str:
    return " and ".join(titled(name, register.titles) for name in sorted(names))


def as_notes(result: Comparison, why: str) -> Comparison:
    """A cell's findings as notes, since what it fails by was there before, and not to be seen."""
    if not result.findings:
        return result
    notes = (
        dataclasses.replace(finding, reason=f"{SEEN_FIRST_NOW}: {why}: {finding.reason}")
        for finding in result.findings
    )
    return Comparison(CellClass.EXPECTED_FAILURE, (), (*result.notes, *notes), result.good_news)


def _no_worse(before: CellRecord, after: CellRecord) -> bool:
    """Whether a cell does no more harm, ends no earlier, and answers all that it had passed."""
    if severity_of(after) > severity_of(before):
        return False
    if any(after.verdict(oracle).outcome is not Outcome.OK for oracle in _passed_by(before)):
        return False
    return _ended_at(after) >= _ended_at(before)


def _louder(before: CellRecord, after: CellRecord) -> bool:
    """Whether silently wrong numbers are an error now, and nothing else that it passed fails."""
    if (severity_of(before), severity_of(after)) != (Severity.SILENT, Severity.ERROR):
        return False
    return not any(after.verdict(each).failed for each in _passed_by(before) - {Oracle.COMPLETION})


def _passed_by(record: CellRecord) -> set[Oracle]:
    return {oracle for oracle in Oracle if record.verdict(oracle).outcome is Outcome.OK}


def _ended_at(record: CellRecord) -> int:
    ended = record.verdict(Oracle.COMPLETION)
    return _STAGES.index(ended.stage) if ended.failed and ended.stage else len(_STAGES)
