"""Compares expected with observed: every cell's class, the findings, and a run's verdict. Pure.

Green: every planned cell ended, and shows exactly the facts that the expected table has of it.
Red: a fact that the table does not expect, or one that it expects and that does not show, or a
table and a register that contradict each other (`harness.register.faults`). Inconclusive: something
could not be asked, and the table does not know it (a row too many is red). Failed: a cell is
missing, a fault of the harness that says nothing of the subjects. Failed wins over red, and red
over inconclusive.

If a package's cell could not be asked because compile failed, its compile cell decides. If no
subject can be asked about a case, that is one finding about the case.

Hypothetical cells, which no user can reach, get a class and are never judged. Neither are those of
a checkout's base, nor those that a candidate has and what it is held against has not. They must end
all the same, because a cell that the harness did not run is the harness's fault.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from harness.base.errors import UsageError
from harness.gate.attribution import defects_told
from harness.gate.candidate import Comparison, judge_candidate
from harness.gate.control import control_failures, marked
from harness.gate.findings import CellClass, Finding, Gate, GateReport, first_screen, said
from harness.gate.pairs import Pair
from harness.gate.uncovered import as_notes, shown_behind_compile, uncovered_in
from harness.gate.whole_cases import whole_cases
from harness.register.defects import Register
from harness.register.facts import UNSUPPORTED, facts_in, facts_of, place_of
from harness.register.faults import Fault
from harness.register.table import Entry, Table
from harness.runs.plan import PlannedCell
from harness.wire.oracles import Oracle, is_asked
from harness.wire.record_json import TOO_OLD
from harness.wire.records import CellKey, CellRecord, SubjectSpec, Verdict
from harness.wire.routes import Lane, Route
from harness.wire.vocabulary import CellState, Outcome, SubjectKind

__all__ = ["CellClass", "Finding", "Gate", "GateReport", "first_screen", "judge"]

_ORACLES = tuple(Oracle)
_Expected = Mapping[tuple[str, str, str], Entry]


def judge(
    plan: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    table: Table,
    subjects: Collection[SubjectSpec],
    likes: Mapping[str, str] | None = None,
    faults: Sequence[Fault] = (),
    register: Register | None = None,
    without_table: bool = False,
) -> GateReport:
    """Judge a run.

    Args:
        records: the ended cells by ``cell_id``.
        table: what is expected; a release that it does not know is held against the one before.
        likes: for each subject of kind FILE, the subject that it is held against.
        faults: what is wrong with the table and the register themselves.
        register: names the known defects that a finding may be due to.
        without_table: nobody has written a table yet. Then a cosmetic failure is a note and not a
            finding, and so is a case that the graph lane cannot ask and a whole package can; and
            a release that a candidate is held against is not judged itself.
    """
    partners = _partners(plan, subjects, likes or {})
    unjudged = {spec.subject for spec in subjects if spec.kind is SubjectKind.BASE}
    if without_table:  # what the release does with a user's cases is not the candidate's fault
        unjudged |= set(partners.values())
    around = {s.subject: s.release or "" for s in subjects if s.kind.brought}
    planned = {cell.key for cell in plan} if partners else frozenset[CellKey]()

    def new(key: CellKey, partner: str) -> bool:
        return dataclasses.replace(key, subject=partner) not in planned

    controls = control_failures(records.values())
    nothing_found: dict[tuple[object, ...], Comparison] = {}
    judged: dict[str, Comparison] = {}
    for cell in plan:
        record, partner = records.get(cell.key.cell_id), partners.get(cell.key.subject)
        expected: _Expected = {}
        if cell.key.subject in unjudged or (partner is not None and new(cell.key, partner)):
            judged[cell.key.cell_id] = _not_judged(cell, record)
            continue
        if partner is None and not cell.hypothetical:
            whose = table.stands_for(cell.key.subject)
            expected = table.expected(place_of(cell.key), whose)
        # Most cells are alike, with nothing to say about them: those are judged once.
        kind = (cell.key,) if partner else _kind(cell, record, expected)
        result = nothing_found.get(kind) or _judge(cell, record, expected, partner, records)
        if without_table and record is not None and partner is None:
            result = _without_cosmetic(result, record)
        if not (result.findings or result.notes or result.good_news):
            nothing_found[kind] = result
        judged[cell.key.cell_id] = result
    for name, partner in partners.items():
        in_both = (records.values(), table, register or Register(), around)
        behind = shown_behind_compile(name, partner, *in_both)
        for place, told_of in (behind | uncovered_in(name, partner, *in_both)).items():
            cell_id = dataclasses.replace(place, subject=name).cell_id
            judged[cell_id] = as_notes(judged[cell_id], told_of)
    unlisted = {
        cell_id
        for cell_id, result in judged.items()
        if result.findings and result.cell_class is CellClass.UNSUPPORTED
    }
    whole = whole_cases(plan, records, unlisted, subjects)
    classes = {cell_id: result.cell_class for cell_id, result in judged.items()}

    def told(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        known = [
            defects_told(finding, table, register or Register(), around.get(finding.subject))
            for finding in findings
        ]
        return marked(known, controls)

    findings = [
        finding
        for cell_id, result in judged.items()
        for finding in result.findings
        if cell_id not in whole
    ]
    compiled = _compiled(records.values()) if without_table else frozenset[str]()
    notes = [note for result in judged.values() for note in result.notes]
    for finding in whole.values():
        if finding is not None:
            alone = finding.key.lane == Lane.GRAPH and finding.case in compiled
            (notes if alone else findings).append(finding)
    return GateReport(
        gate=_gate(classes.values(), findings, faults),
        classes=classes,
        faults=tuple(faults),
        findings=told(findings),
        notes=told(notes),
        good_news=told([good for result in judged.values() for good in result.good_news]),
        lane_of={cell.key.cell_id: cell.key.lane for cell in plan},
    )


def _compiled(records: Iterable[CellRecord]) -> frozenset[str]:
    """The cases that some whole package was asked about."""
    ended = (record.key for record in records if record.state is CellState.ENDED)
    return frozenset(key.case for key in ended if key.lane == Lane.PACKAGE)


def _kind(cell: PlannedCell, record: CellRecord | None, expected: _Expected) -> tuple[object, ...]:
    """What the judgement of a cell by the table depends on, except the names in its findings."""
    if record is None or record.state is CellState.UNSUPPORTED:
        return (cell.key,)
    # Equal verdicts were read as one object, and comparing objects is fast.
    facts = ((seen, entry.fact.harm) for seen, entry in expected.items())
    return cell.key.route, cell.hypothetical, tuple(map(id, record.verdicts)), *facts


def _judge(
    cell: PlannedCell,
    record: CellRecord | None,
    expected: _Expected,
    partner: str | None,
    records: Mapping[str, CellRecord],
) -> Comparison:
    """Judge one cell by ``partner``, the subject that it is compared with, or else by the table."""
    fault = _fault(record)
    if fault or record is None:
        return _not_judged(cell, record)
    if cell.hypothetical:
        return _not_judged(cell, record)
    if partner is not None:
        other = records.get(dataclasses.replace(cell.key, subject=partner).cell_id)
        return judge_candidate(Pair(None if _fault(other) else other, record))
    if record.state is CellState.UNSUPPORTED:
        return _judge_unsupported(record, expected, records)
    return _judge_by_table(record, expected)


def _not_judged(cell: PlannedCell, record: CellRecord | None) -> Comparison:
    """What becomes of a cell that only has to end."""
    fault = _fault(record)
    if fault or record is None:
        finding = Finding(cell.key, CellClass.MISSING, fault)
        return Comparison(CellClass.MISSING, findings=(finding,))
    return Comparison(_class_unjudged(record))


def _judge_unsupported(
    record: CellRecord, expected: _Expected, records: Mapping[str, CellRecord]
) -> Comparison:
    if record.rests_on_compile:
        compiled = records.get(_compile_cell(record.key).cell_id)
        if compiled is not None and compiled.failures:
            settings = place_of(record.key).settings
            own = [entry for entry in expected.values() if entry.place.settings == settings]
            if not own:
                return Comparison(CellClass.UNSUPPORTED)
            reason = f"expected {_listed(own)}, but compile fails before it"
            return _differs(record, CellClass.UNEXPECTED_PASS, reason)
    elif expected and facts_of(record)[0].seen in expected:
        other = [entry for seen, entry in expected.items() if seen != facts_of(record)[0].seen]
        if not other:
            return Comparison(CellClass.UNSUPPORTED)
        reason = f"expected {_listed(other)}, but could not be asked: {record.reason}"
        return _differs(record, CellClass.UNEXPECTED_PASS, reason)
    return _undecided(record, f"could not be asked: {record.reason}")


def _compile_cell(key: CellKey) -> CellKey:
    return dataclasses.replace(key, route=Route.COMPILE)


def _differs(record: CellRecord, cell_class: CellClass, reason: str) -> Comparison:
    return Comparison(cell_class, findings=(Finding(record.key, cell_class, reason),))


def _listed(entries: Iterable[Entry]) -> str:
    return " and ".join(f"{entry.fact.text} ({entry.defect})" for entry in entries)


def _judge_by_table(record: CellRecord, expected: _Expected) -> Comparison:
    findings = []
    unknown = [verdict for verdict in record.verdicts if verdict.message == TOO_OLD]
    not_asked = expected_unsupported(expected)
    if not_asked:
        reason = f"was asked, but cannot be by the table: {not_asked[0].fact.says}"
        return _differs(record, CellClass.UNEXPECTED_PASS, reason)
    failed = {verdict.oracle for verdict in record.failures}
    for oracle in sorted(failed | {Oracle(seen[0]) for seen in expected}, key=_ORACLES.index):
        verdict = record.verdict(oracle)
        if verdict not in unknown:
            entries = [entry for seen, entry in expected.items() if seen[0] == oracle]
            deviation = _judge_verdict(record.key, verdict, entries)
            if deviation is not None:
                findings.append(deviation)
    known = {finding.oracle for finding in findings}
    findings.extend(finding for finding in _unasked(record) if finding.oracle not in known)
    if unknown and not findings:
        names = ", ".join(verdict.oracle for verdict in unknown)
        return _undecided(record, f"{names}: {TOO_OLD}")
    classes = [finding.cell_class for finding in findings]
    classes.append(_class_unjudged(record))
    return Comparison(min(classes, key=lambda each: each.precedence), findings=tuple(findings))


def _without_cosmetic(result: Comparison, record: CellRecord) -> Comparison:
    """A cell's judgement, with its cosmetic failures told as notes."""
    notes = tuple(finding for finding in result.findings if finding.is_cosmetic)
    findings = tuple(finding for finding in result.findings if not finding.is_cosmetic)
    cell_class = result.cell_class if findings else _class_unjudged(record)
    return Comparison(cell_class, findings, notes) if notes else result


def expected_unsupported(expected: _Expected) -> list[Entry]:
    """The entries that say why a cell cannot be asked."""
    return [entry for entry in expected.values() if entry.fact.oracle == UNSUPPORTED]


def _undecided(record: CellRecord, reason: str) -> Comparison:
    finding = Finding(record.key, CellClass.UNSUPPORTED, reason)
    return Comparison(CellClass.UNSUPPORTED, findings=(finding,))


def _unasked(record: CellRecord) -> list[Finding]:
    """Oracles that were not asked of a completed cell: a skipped comparison does not pass."""
    if record.state is not CellState.ENDED or record.verdict(Oracle.COMPLETION).failed:
        return []
    return [
        Finding(
            record.key,
            CellClass.UNEXPECTED_FAILURE,
            f"completed, but was not asked: {verdict.message}",
            verdict.oracle,
            verdict,
        )
        for verdict in record.verdicts
        if verdict.outcome is Outcome.NOT_APPLICABLE
        and is_asked(verdict.oracle, record.key.route)
        and verdict.message != TOO_OLD
    ]


def _judge_verdict(key: CellKey, verdict: Verdict, entries: Sequence[Entry]) -> Finding | None:
    """None if the verdict says exactly what is expected of it."""
    facts = list(dict.fromkeys(facts_in(verdict))) if verdict.failed else []
    seen = {fact.seen: fact for fact in facts}
    known = {entry.fact.seen: entry for entry in entries}
    new = [fact for fact in facts if fact.seen not in known]
    gone = [entry for entry in entries if entry.fact.seen not in seen]
    harms = [
        f"{fact.says}: {fact.harm}, and not {known[fact.seen].fact.harm}"
        for fact in facts
        if fact.seen in known
        and fact.harm
        and known[fact.seen].fact.harm
        and fact.harm != known[fact.seen].fact.harm
    ]
    if not (new or gone or harms):
        return None
    ids = tuple(dict.fromkeys(entry.defect for entry in gone))
    listed = _listed(entries)
    if new:
        cell_class = CellClass.UNEXPECTED_FAILURE
        but = f"; expected {listed}" if entries else ""
        reason = f"not expected: {said(verdict)}{but}"
    elif harms:
        cell_class = CellClass.UNEXPECTED_FAILURE
        reason = f"another harm than expected: {'; '.join(harms)}"
    elif verdict.failed:
        cell_class = CellClass.UNEXPECTED_PASS
        reason = f"fails less than expected: {_listed(gone)} does not show; saw {said(verdict)}"
    elif verdict.outcome is Outcome.OK:
        cell_class, reason = CellClass.UNEXPECTED_PASS, f"passes, but expected {listed}"
    else:
        reason = f"expected {listed}, but was not asked: {verdict.message}"
        cell_class = CellClass.UNEXPECTED_PASS
    return Finding(key, cell_class, reason, verdict.oracle, verdict, ids)


def _class_unjudged(record: CellRecord) -> CellClass:
    """A cell's class when all that it shows is as expected."""
    if record.state is CellState.UNSUPPORTED:
        return CellClass.UNSUPPORTED
    return CellClass.OK if record.right else CellClass.EXPECTED_FAILURE


def _fault(record: CellRecord | None) -> str:
    """Why a cell counts as missing, or "".

    Without this check a worker that answers with no verdicts, or all n/a, would be green.
    """
    if record is None:
        return "planned, but has no record"
    if record.state is CellState.UNSUPPORTED:
        return ""
    if record.verdict(Oracle.COMPLETION).outcome is Outcome.NOT_APPLICABLE:
        return "its record does not say whether it completed"
    if tuple(verdict.oracle for verdict in record.verdicts) == _ORACLES:  # as mostly
        return ""
    twice = [o for o, n in Counter(verdict.oracle for verdict in record.verdicts).items() if n > 1]
    if twice:
        return f"its record has two verdicts of one oracle: {twice[0]}"
    speaking = {verdict.oracle for verdict in record.verdicts}
    silent = [oracle for oracle in Oracle if oracle not in speaking]
    if silent:
        return f"its record has no verdict of: {', '.join(silent)}"
    return ""


def _gate(
    classes: Collection[CellClass], findings: Collection[Finding], faults: Collection[Fault]
) -> Gate:
    if not classes or CellClass.MISSING in classes:  # nothing asked is nothing proved
        return Gate.FAILED
    if faults or {CellClass.UNEXPECTED_FAILURE, CellClass.UNEXPECTED_PASS} & set(classes):
        return Gate.RED
    # What is left of findings can only be unsupported cells that nobody listed.
    return Gate.INCONCLUSIVE if findings else Gate.GREEN


def _partners(
    plan: Sequence[PlannedCell], subjects: Iterable[SubjectSpec], likes: Mapping[str, str]
) -> dict[str, str]:
    files = {spec.subject for spec in subjects if spec.kind is SubjectKind.FILE}
    planned = files & {cell.key.subject for cell in plan}
    alone = sorted(planned - set(likes))
    if alone:
        raise UsageError(f"{alone[0]} has no release to be held against; name one with --like")
    return {subject: likes[subject] for subject in planned}
