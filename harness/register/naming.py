"""Which defect a failure may be due to that no row expects: a release's, or a candidate's."""

from __future__ import annotations

from harness.register.defects import Defect, Register
from harness.register.facts import Fact, Place
from harness.register.table import Table
from harness.wire.oracles import Harm, Oracle


def due_to(
    place: Place, fact: Fact, subject: str, table: Table, register: Register, like: str = ""
) -> tuple[Defect, ...]:
    """The defects that a failure may be due to: one where it is told outright, or several, or none.

    A release that the table knows has what is alive in it. What it does not know, a candidate or
    a release to come, may bring back what was fixed: the same finding in the same cell of any
    release tells its defect, and else the signs do, whenever their defects were fixed. Wrong
    numbers and wrong wires look alike whatever their cause is: of a candidate their signs tell
    nothing but of a defect that the same cell has anyhow.

    Args:
        subject: as the record names it.
        like: the release that a candidate is held against.
    """
    if table.stands_for(subject, like) == subject:
        return tuple(register.candidates(place, fact, [subject]))
    told = [table.expected(place, release).get(fact.seen) for release in table.releases]
    shown = {entry.defect for entry in told if entry is not None}
    signed = [defect for defect in register.defects if defect.signed(place, fact)]
    same = [defect for defect in signed if defect.id in shown]
    if same or not like or not _tells_no_cause(fact):
        return tuple(same or signed)
    expected = table.expected(place, like).values()
    otherwise = {entry.defect for entry in expected if entry.fact.oracle == fact.oracle}
    return tuple(defect for defect in signed if defect.id in otherwise)


def _tells_no_cause(fact: Fact) -> bool:
    return fact.oracle in [oracle for oracle in Oracle if oracle.row.usual_harm is Harm.SILENT]
