"""Expected against observed: the class of every cell, the findings, and a run's verdict. Pure.

Green: every planned cell ended, and every oracle's verdict is ok, n/a, or exactly as listed.
Red: a failure that is not listed, or a listed one that does not happen, or a ledger that is not
exact (`expectations.faults`). Inconclusive: something could not be asked, and nobody has listed
that. Failed: a cell is missing; that is a fault of the harness and says nothing of the subjects.
Failed wins over red, and red over inconclusive.

Hypothetical cells, which no user can reach, are classed and never judged. But they too must end:
whether a harness ran its cells has nothing to do with who can reach them.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from harness.candidate import Comparison, compare
from harness.errors import UsageError
from harness.expectations.faults import LedgerFault, overlaps
from harness.expectations.ledger import Entry, Ledger, origins_of
from harness.expectations.scopes import Scope, scopes
from harness.findings import CellClass, Finding, Gate, GateReport, first_screen, said
from harness.plan import PlannedCell
from harness.reach import reach_in
from harness.rig.record_json import TOO_OLD
from harness.rig.records import CaseInfo, CellKey, CellRecord, SubjectSpec, Verdict
from harness.rig.vocabulary import (
    CellState,
    Lane,
    Oracle,
    Outcome,
    Route,
    Stage,
    SubjectKind,
    Symptom,
    gates,
    is_asked,
)
from harness.verdict import remaining_by_lane

__all__ = ["CellClass", "Finding", "Gate", "GateReport", "first_screen", "judge"]

_ORACLES = tuple(Oracle)
#: Where a case ends before anybody, the control among them, has asked torch.export for a program.
_NO_EXPORT = frozenset({Stage.SPLIT, Stage.COMPILE})


def judge(
    plan: Sequence[PlannedCell],
    records: Mapping[str, CellRecord],
    ledger: Ledger,
    cases: Iterable[CaseInfo],
    subjects: Collection[SubjectSpec],
    likes: Mapping[str, str] | None = None,
    idle: Sequence[LedgerFault] = (),
) -> GateReport:
    """Judge a run.

    Args:
        records: the ended cells by ``cell_id``.
        cases: at least those of the plan; for their origins.
        likes: for each subject of kind FILE, the subject that it is held against.
        idle: what the ledger says of cells that no run would judge.

    Raises:
        UsageError: a FILE subject of the plan has no partner in ``likes``.
    """
    partners = _partners(plan, subjects, likes or {})
    scope_of = scopes((cell.key for cell in plan), ledger, origins_of(cases))
    controls = _control_failures(records.values())
    nothing_found: dict[tuple[object, ...], Comparison] = {}
    judged = {}
    for cell in plan:
        record, scope = records.get(cell.key.cell_id), scope_of[cell.key]
        partner = partners.get(cell.key.subject)
        # Most cells are alike, with nothing to say about them: those are judged once.
        kind = _kind(cell, record, scope, partner)
        result = nothing_found.get(kind) or _judge(cell, record, scope, partner, records)
        if not (result.findings or result.notes or result.good_news):
            nothing_found[kind] = result
        judged[cell.key.cell_id] = result
    findings = [finding for result in judged.values() for finding in result.findings]
    classes = {cell_id: result.cell_class for cell_id, result in judged.items()}
    expected = [c for c in plan if not c.hypothetical and c.key.subject not in partners]
    faults = (*idle, *overlaps(expected, records, scope_of))
    return GateReport(
        gate=_gate(classes.values(), findings, faults),
        classes=classes,
        ledger_faults=faults,
        findings=_marked(findings, controls),
        notes=_marked([note for result in judged.values() for note in result.notes], controls),
        good_news=_marked([good for r in judged.values() for good in r.good_news], controls),
        lane_of={cell.key.cell_id: Lane(cell.key.lane) for cell in plan},
        remaining=remaining_by_lane(records.values(), subjects, reach_in(cases)),
    )


def _kind(
    cell: PlannedCell, record: CellRecord | None, scope: Scope, partner: str | None
) -> tuple[object, ...]:
    """What the judgement of a cell depends on, but for the name of the cell in it."""
    if record is None or partner is not None:
        return (cell.key,)
    # Equal verdicts are one object where they were read, and to compare objects is fast.
    verdicts = tuple(map(id, record.verdicts))
    return scope, cell.key.route, cell.hypothetical, record.state, record.reason, verdicts


def _judge(
    cell: PlannedCell,
    record: CellRecord | None,
    scope: Scope,
    partner: str | None,
    records: Mapping[str, CellRecord],
) -> Comparison:
    """One cell; ``partner`` is the subject that it is held against, if that is not the ledger."""
    fault = _fault(record)
    if fault or record is None:
        finding = Finding(cell.key, CellClass.MISSING, fault)
        return Comparison(CellClass.MISSING, findings=(finding,))
    if cell.hypothetical:
        return Comparison(_class_unjudged(record))
    if partner is not None:
        other = records.get(dataclasses.replace(cell.key, subject=partner).cell_id)
        return compare(record, None if _fault(other) else other)
    return _judge_by_ledger(record, scope)


def _judge_by_ledger(record: CellRecord, scope: Scope) -> Comparison:
    if record.state is CellState.UNSUPPORTED:
        if record.rests_on_compile or scope.permitting(record):
            return Comparison(CellClass.UNSUPPORTED)
        return _undecided(record, f"could not be asked: {record.reason}")
    findings = []
    unknown = [verdict for verdict in record.verdicts if verdict.message == TOO_OLD]
    for oracle in Oracle:
        verdict = record.verdict(oracle)
        if verdict in unknown or not gates(oracle, record.key.route):
            continue
        entries = scope.demanding(oracle)
        deviation = _judge_verdict(record.key, verdict, entries)
        if deviation is not None:
            findings.append(deviation)
    told = {finding.oracle for finding in findings}
    findings.extend(finding for finding in _unasked(record) if finding.oracle not in told)
    if unknown and not findings:
        names = ", ".join(verdict.oracle.value for verdict in unknown)
        return _undecided(record, f"{names}: {TOO_OLD}")
    classes = [finding.cell_class for finding in findings]
    classes.append(_class_unjudged(record))
    return Comparison(min(classes, key=lambda each: each.precedence), findings=tuple(findings))


def _undecided(record: CellRecord, reason: str) -> Comparison:
    finding = Finding(record.key, CellClass.UNSUPPORTED, reason)
    return Comparison(CellClass.UNSUPPORTED, findings=(finding,))


def _unasked(record: CellRecord) -> list[Finding]:
    """Oracles that were not asked of a cell that completed: a skipped comparison is no pass.

    A program that ended early has nothing to ask about; any other n/a hides something.
    """
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


def _judge_verdict(key: CellKey, verdict: Verdict, entries: Collection[Entry]) -> Finding | None:
    """None if the verdict is ok, n/a, or as one of the entries that cover it expects."""
    if any(entry.expects(verdict) for entry in entries):
        return None
    listed = " and ".join(f'"{entry.id}" as {entry.expectation}' for entry in entries)
    observed = said(verdict)
    if verdict.failed and listed:
        cell_class, reason = CellClass.UNEXPECTED_FAILURE, f"listed in {listed}; saw {observed}"
    elif verdict.failed:
        cell_class, reason = CellClass.UNEXPECTED_FAILURE, f"not listed: {observed}"
    elif not listed:
        return None
    elif verdict.outcome is Outcome.OK:
        cell_class, reason = CellClass.UNEXPECTED_PASS, f"passes, but is listed in {listed}"
    else:
        reason = f"listed in {listed}, but was not asked: {verdict.message}"
        cell_class = CellClass.UNEXPECTED_PASS
    ids = tuple(entry.id for entry in entries)
    return Finding(key, cell_class, reason, verdict.oracle, verdict, ids)


def _class_unjudged(record: CellRecord) -> CellClass:
    """A cell's class when all that it shows is as expected."""
    if record.state is CellState.UNSUPPORTED:
        return CellClass.UNSUPPORTED
    return CellClass.OK if record.right else CellClass.EXPECTED_FAILURE


def _fault(record: CellRecord | None) -> str:
    """Why a cell counts as missing, or "".

    A record can be there and say nothing. Without this check a worker that answers with no
    verdicts, or all n/a, would be green.
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
        return f"its record has two verdicts of one oracle: {twice[0].value}"
    silent = [oracle.value for oracle in Oracle if not _speaks(record, oracle)]
    if silent:
        return f"its record has no verdict of: {', '.join(silent)}"
    return ""


def _speaks(record: CellRecord, oracle: Oracle) -> bool:
    return any(verdict.oracle is oracle for verdict in record.verdicts)


def _gate(
    classes: Collection[CellClass], findings: Collection[Finding], faults: Collection[LedgerFault]
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


def _control_failures(
    records: Iterable[CellRecord],
) -> dict[tuple[str, str, str], frozenset[tuple[Oracle, Symptom | None]]]:
    """What plain torch.export fails, by (case, capture, environment)."""
    return {
        _control(record.key): frozenset(
            (v.oracle, v.symptom) for v in record.failures if v.stage not in _NO_EXPORT
        )
        for record in records
        if record.key.route == Route.PLAIN.value
    }


def _control(key: CellKey) -> tuple[str, str, str]:
    return key.case, key.capture, key.environment


def _marked(
    findings: Iterable[Finding],
    controls: Mapping[tuple[str, str, str], frozenset[tuple[Oracle, Symptom | None]]],
) -> tuple[Finding, ...]:
    """The findings, worst first, each told whether plain torch.export fails likewise."""
    marked = [
        dataclasses.replace(finding, torchs_own=True)
        if finding.verdict is not None
        and finding.verdict.failed
        and (finding.verdict.oracle, finding.verdict.symptom)
        in controls.get(_control(finding.key), frozenset())
        else finding
        for finding in findings
    ]
    return tuple(sorted(marked, key=lambda finding: finding.urgency))
