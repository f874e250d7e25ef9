"""From a judged run to its report: gate and defects in the report's own words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from harness.base.files import replace_file
from harness.base.program import PROGRAM
from harness.catalogue.releases import load_catalogue
from harness.gate.breakage import Breakage, as_known
from harness.gate.findings import Finding, mistake, wrong_wire
from harness.gate.judge import GateReport, judge
from harness.gate.reach import reach_in
from harness.register.expected import read_expectations
from harness.register.facts import Fact
from harness.register.faults import Fault
from harness.report.model import ReportModel
from harness.report.pages.junit import junit
from harness.report.reported_run import (
    EXPECTATIONS,
    BreakageView,
    Cause,
    FindingView,
    ReportedRun,
    ShownBy,
)
from harness.report.run_frames import RunFrames, run_frames
from harness.report.sections.standing import standing
from harness.report.write import write_report
from harness.run.defect_lines import defect_lines, differences, own_torch_of
from harness.run.judged_run import JudgedRun, known_defects
from harness.runs.commands import Places, explain_command
from harness.runs.provenance import provenance_to_json
from harness.runs.record_table import cases_in
from harness.runs.run_folder import RunFolder
from harness.subjects.choosing import likes
from harness.wire.oracles import Oracle
from harness.wire.records import CellRecord
from harness.wire.vocabulary import Outcome

TABLES = ("junit.xml", "standing.md")
#: Of more records tables and frames are written before the forks. A fork that looks at a record
#: copies the memory that it lies in, 2.4 GB of a million, and the frames of these take 1.6 GB.
MANY_RECORDS: Final = 200_000


def write_run_report(
    judged: JudgedRun,
    summary: dict[str, Any],
    with_evidence: Callable[[ReportModel], ReportModel] | None = None,
) -> list[Path]:
    """Write every form of a run's report into its folder.

    Args:
        with_evidence: adds pictures and scripts of causes; None for a report without them.
    """
    folder = judged.folder.path
    model = report_model(judged, summary)
    model = with_evidence(model) if with_evidence else model
    many = len(judged.records) > MANY_RECORDS
    written = write_report(folder, model, partial(_write_tables, judged), in_turn=many)
    return [*written, *(folder / name for name in TABLES)]


def _write_tables(judged: JudgedRun) -> None:
    """Write the tables that need no model."""
    records = list(judged.records.values())
    xml = junit(
        [cell.key for cell in judged.plan],
        records,
        judged.cases,
        judged.subjects,
        _classes(judged.report),
        provenance_to_json(judged.provenance),
        [fault.reason for fault in judged.report.faults],
        _defect_tests(judged),
    )
    reach_of = reach_in(judged.cases, judged.provenance.corpus)
    for name, text in zip(TABLES, (xml, standing(records, judged.subjects, reach_of)), strict=True):
        replace_file(judged.folder.path / name, text.encode())


def report_model(judged: JudgedRun, summary: dict[str, Any]) -> ReportModel:
    places = judged.places
    run = ReportedRun(
        name=judged.folder.run_id,
        plan=[cell.key for cell in judged.plan],
        records=list(judged.records.values()),
        cases=judged.cases,
        subjects=judged.subjects,
        gate=judged.report.gate.value,
        classes=_classes(judged.report),
        findings=[
            *(
                finding_view(finding, places, judged.records.get(finding.key.cell_id))
                for finding in judged.report.findings
            ),
            *(fault_view(fault) for fault in judged.report.faults),
        ],
        breakages=[breakage_view(each, judged) for each in judged.breakages],
        notes=[finding_view(finding, places) for finding in judged.report.notes],
        good_news=[finding_view(finding, places) for finding in judged.report.good_news],
        causes=causes_of(judged),
        summary=summary,
        provenance=provenance_to_json(judged.provenance),
        defects=defect_lines(judged),
        differences=differences(judged),
        defect_table=judged.table,
        own_cases=judged.own_cases,
        places=places,
        changes=judged.known.changes if judged.known else None,
        upgrades=judged.upgrades,
        own_torch=own_torch_of(judged),
        only=judged.scope,
    )
    return ReportModel(run)


def published_frames(folder: RunFolder) -> RunFrames:
    """The frames of a run of which the records alone were kept, with cells classed as of today."""
    provenance, plan, records = folder.provenance(), folder.plan(), folder.records()
    subjects, known = provenance.subjects, read_expectations(undecided=True)
    report = judge(plan, records, known.table, subjects, likes(subjects), (), known.register)
    cases = cases_in(folder.path / "records.parquet")
    _, table = known_defects(subjects, known, load_catalogue(), cases)
    return run_frames(
        ReportedRun(
            plan=[cell.key for cell in plan],
            records=list(records.values()),
            cases=cases,
            defect_table=table,
            subjects=subjects,
            gate=report.gate.value,
            classes=_classes(report),
            findings=(),
            causes=(),
            summary={},
            provenance=provenance_to_json(provenance),
        )
    )


def finding_view(finding: Finding, places: Places, record: CellRecord | None = None) -> FindingView:
    """A finding of the gate in the report's words; one about a whole cell names its class."""
    verdict = finding.verdict
    tone = label = finding.cell_class.value
    if verdict is not None and verdict.outcome is Outcome.NOT_APPLICABLE:
        tone, label = "unsupported", "not asked"
    elif verdict is not None:
        tone, label = verdict.graded.value if verdict.failed else "ok", verdict.label
    return FindingView(
        case=finding.case,
        subject=finding.subject,
        route=finding.route,
        tone=tone,
        label=label,
        reason=mistake(finding, places) or finding.reason,
        command=explain_command(finding.key, places),
        torchs_own=finding.torchs_own,
        wire=wrong_wire(record.verdict(Oracle.WIRING)) if record and record.verdicts else "",
    )


def breakage_view(each: Breakage, judged: JudgedRun) -> BreakageView:
    """A breakage in the report's words."""
    first = finding_view(each.smallest, judged.places)
    return BreakageView(
        what=each.what,
        forms=each.forms,
        cells=each.cells,
        cases=each.cases,
        like=tuple(as_known(each.like, judged.expectations.register)),
        first=dataclasses.replace(first, wire=each.wire, pieces=each.pieces),
    )


def fault_view(fault: Fault) -> FindingView:
    """A fault of register or table in the report's words: a defect stands where a case would."""
    return FindingView(
        case=fault.about,
        subject="the expectations",
        route="",
        tone=EXPECTATIONS,
        label="not exact",
        reason=fault.reason,
        command=f"{PROGRAM} expected --review",
    )


def _classes(report: GateReport) -> dict[str, str]:
    return {cell_id: found.value for cell_id, found in report.classes.items()}


def causes_of(judged: JudgedRun) -> list[Cause]:
    """The defects that this run shows, those with the most cells first."""
    register = judged.expectations.register
    shown: dict[str, list[ShownBy]] = {}
    for each in judged.shown:
        if each.defect:
            fact = each.fact
            seen = ShownBy(each.key, _harm(fact), fact.oracle, fact.fails, fact.says)
            shown.setdefault(each.defect, []).append(seen)
    return [
        Cause(register.by_id[name], tuple(cells), judged.places)
        for name, cells in sorted(shown.items(), key=lambda item: -len(item[1]))
    ]


def _harm(fact: Fact) -> str:
    """The harm as it was graded, or as failures of its oracle usually are."""
    if fact.harm or not fact.fails:
        return fact.harm
    return Oracle(fact.oracle).row.usual_harm.value


def _defect_tests(judged: JudgedRun) -> list[tuple[str, str, str, str]]:
    """Each defect that this run asks for: its id, title, how many cells show it, and a failure."""
    cells: dict[str, set[str]] = {}
    for cause in causes_of(judged):
        cells[cause.defect.id] = {each.key.cell_id for each in cause.shown}
    wrong: dict[str, list[str]] = {}
    for finding in judged.report.findings:
        for name in finding.defects:
            wrong.setdefault(name.removeprefix("?"), []).append(finding.reason)
    told = []
    for defect in judged.expectations.register.defects:
        count = len(cells.get(defect.id, ()))
        reasons = wrong.get(defect.id, [])
        if count or reasons:
            failure = f"{len(reasons)} findings, such as: {reasons[0]}" if reasons else ""
            told.append((defect.id, defect.title, f"shown by {count} cells", failure))
    return told
