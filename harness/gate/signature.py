"""What has to stay as it is while a failing model is reduced, so that it stays the same failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.gate.attribution import due_to
from harness.register.defects import Register
from harness.register.facts import Fact, Place, facts_in, facts_of, place_of
from harness.register.table import Table
from harness.wire.oracles import Harm, Oracle
from harness.wire.records import CellRecord, Verdict
from harness.wire.vocabulary import CellState


@dataclass(frozen=True)
class Known:
    """What is known of a release's failures: the table, the register, and whose rows count.

    ``lacks`` is what the model has not, as `due_to` takes it.
    """

    table: Table
    register: Register
    like: str = ""  # the release that a candidate is held against
    lacks: tuple[str, ...] = ()

    def due(self, place: Place, subject: str, fact: Fact) -> frozenset[str]:
        """The defects that a fact may be due to."""
        entry = self.table.expected(place, self.table.stands_for(subject, self.like)).get(fact.seen)
        if entry is not None and entry.defect in self.register.by_id:
            return frozenset({entry.defect})
        named = due_to(place, fact, subject, self.table, self.register, self.like, self.lacks)
        return frozenset(defect.id for defect in named)


@dataclass(frozen=True)
class Signature:
    """A failure of one cell: one verdict, and what the cell shows beside.

    ``defect`` is the known one whose signs it bears, and empty where there is none, or several.
    ``seen`` are the facts of the verdict, ``beside`` all of the cell, ``wires`` those of wiring.
    """

    oracle: Oracle
    symptom: str
    harm: Harm
    defect: str
    place: Place
    subject: str
    seen: frozenset[tuple[str, str, str]]
    beside: frozenset[tuple[str, str, str]]
    wires: frozenset[tuple[str, str, str]]
    known: Known

    def shown_by(self, record: CellRecord) -> Verdict | None:
        """The verdict by which another cell shows the same failure, and no other one; else None."""
        if record.state is not CellState.ENDED:
            return None
        verdict = record.verdict(self.oracle)
        if not verdict.failed or (str(verdict.symptom), verdict.graded) != (
            self.symptom,
            self.harm,
        ):
            return None
        facts = facts_of(record)
        if any(not self._is_known(fact) for fact in facts if fact.harm != Harm.COSMETIC):
            return None
        if self.wires and not self.wires & {fact.seen for fact in facts}:
            return None
        mine = list(facts_in(verdict))
        same = bool({says for _, _, says in self.seen} & {fact.says for fact in mine})
        due = _defect(self.known, self.place, self.subject, mine, facts)
        return verdict if same and due == self.defect else None

    def _is_known(self, fact: Fact) -> bool:
        if fact.seen in self.beside:
            return True
        return bool(self.defect) and self.defect in self.known.due(self.place, self.subject, fact)


def signature_of(
    records: Sequence[CellRecord],
    known: Known,
    *,
    oracle: str = "",
    harm: str = "",
    defect: str = "",
) -> tuple[Signature, CellRecord] | None:
    """The worst failure of some cells of a case, and its cell; None where there is no such one.

    Args:
        oracle: only its failures count.
        harm: only failures of this grade count.
        defect: only failures with its signs count.
    """
    found: list[tuple[int, int, Signature, CellRecord]] = []
    for number, record in enumerate(records):
        if record.state is not CellState.ENDED:
            continue
        place, subject = place_of(record.key), record.key.subject
        facts = facts_of(record)
        meant = record.failures if oracle or harm or defect else [record.user_failure]
        for verdict in meant:
            if verdict is None or (verdict.graded is Harm.COSMETIC and not harm):
                continue
            mine = list(facts_in(verdict))
            due = _defect(known, place, subject, mine, facts)
            if (
                oracle not in ("", verdict.oracle)
                or harm not in ("", verdict.graded)
                or defect not in ("", due)
            ):
                continue
            signature = Signature(
                oracle=verdict.oracle,
                symptom=str(verdict.symptom),
                harm=verdict.graded,
                defect=due,
                place=place,
                subject=subject,
                seen=frozenset(fact.seen for fact in mine),
                beside=frozenset(fact.seen for fact in facts),
                wires=frozenset(fact.seen for fact in facts if fact.oracle == Oracle.WIRING),
                known=known,
            )
            found.append((verdict.graded.severity, number, signature, record))
    if not found:
        return None
    _, _, signature, record = min(found, key=lambda each: each[:2])
    return signature, record


def _defect(
    known: Known, place: Place, subject: str, mine: Sequence[Fact], facts: Sequence[Fact]
) -> str:
    """The one defect that a verdict's facts bear the signs of; what else the cell shows tells
    several apart."""
    of = [due for fact in mine if (due := known.due(place, subject, fact))]
    if not of:
        return ""
    left = frozenset.intersection(*of) or of[0]
    for fact in facts:
        due = known.due(place, subject, fact)
        if len(left) > 1 and len(left & due) == 1:
            left &= due
    return next(iter(left)) if len(left) == 1 else ""
