"""From a judged run to its report: gate and ledger in the report's own words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.atomic import replace_file
from harness.beside import beside
from harness.expectations.faults import LedgerFault
from harness.expectations.ledger import Entry, EntryUse, uses
from harness.findings import Finding, Places, explain_command
from harness.judged_run import JudgedRun
from harness.provenance import provenance_to_json
from harness.reach import reach_in
from harness.report.junit import junit
from harness.report.model import LEDGER, CauseView, FindingView, ReportModel, build_model
from harness.report.standing import standing
from harness.report.write import write_report

TABLES = ("junit.xml", "standing.md")


def write_run_report(
    judged: JudgedRun,
    summary: dict[str, Any],
    with_evidence: Callable[[ReportModel], ReportModel] | None = None,
) -> list[Path]:
    """Write every form of a run's report into its folder.

    Args:
        with_evidence: adds pictures and scripts of causes; None for a report without them.

    Raises:
        SurroundingsError: the folder cannot be written.
    """
    folder = judged.folder.path
    with beside(lambda: _write_tables(judged)):
        model = report_model(judged, summary)
        model = with_evidence(model) if with_evidence else model
    written = write_report(folder, model)
    return [*written, *(folder / name for name in TABLES)]


def _write_tables(judged: JudgedRun) -> None:
    """What is made of the records themselves."""
    records = list(judged.records.values())
    xml = junit(
        [cell.key for cell in judged.plan],
        records,
        judged.cases,
        judged.subjects,
        _classes(judged),
        provenance_to_json(judged.provenance),
        [fault.reason for fault in judged.report.ledger_faults],
    )
    for name, text in zip(
        TABLES,
        (xml, standing(records, judged.subjects, reach_in(judged.cases))),
        strict=True,
    ):
        replace_file(judged.folder.path / name, text.encode())


def report_model(judged: JudgedRun, summary: dict[str, Any]) -> ReportModel:
    """What the report shows of a run."""
    places = judged.places
    return build_model(
        plan=[cell.key for cell in judged.plan],
        records=list(judged.records.values()),
        cases=judged.cases,
        subjects=judged.subjects,
        gate=judged.report.gate.value,
        classes=_classes(judged),
        findings=[
            *(finding_view(finding, places) for finding in judged.report.findings),
            *(fault_view(fault, judged.folder.run_id) for fault in judged.report.ledger_faults),
        ],
        notes=[finding_view(finding, places) for finding in judged.report.notes],
        good_news=[finding_view(finding, places) for finding in judged.report.good_news],
        causes=list(_causes(judged)),
        summary=summary,
        provenance=provenance_to_json(judged.provenance),
        run=judged.folder.run_id,
    )


def read_summary(folder: Path) -> dict[str, Any] | None:
    """A run's summary.json, or None for a run that did not come to its end."""
    path = folder / "summary.json"
    if not path.is_file():
        return None
    summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return summary


def finding_view(finding: Finding, places: Places) -> FindingView:
    """A finding of the gate in the report's words; one about a whole cell names its class."""
    return FindingView(
        case=finding.case,
        subject=finding.subject,
        route=finding.route,
        oracle=finding.oracle.value if finding.oracle else finding.cell_class.value,
        label=finding.verdict.label if finding.verdict else finding.cell_class.value,
        reason=finding.reason,
        command=explain_command(finding.key, places),
        torchs_own=finding.torchs_own,
    )


def fault_view(fault: LedgerFault, run_id: str) -> FindingView:
    """A fault of the ledger in the report's words: its entries stand where a case would."""
    return FindingView(
        case=", ".join(fault.entry_ids),
        subject="the ledger",
        route="",
        oracle=LEDGER,
        label="not exact",
        reason=fault.reason,
        command=f"python -m harness ledger {run_id}",
    )


def _classes(judged: JudgedRun) -> dict[str, str]:
    return {cell_id: found.value for cell_id, found in judged.report.classes.items()}


def _causes(judged: JudgedRun) -> Iterator[CauseView]:
    """The ledger's entries that this run saw, those with the most cells first."""
    seen = [
        use for use in uses(judged.records.values(), judged.ledger, judged.cases) if use.matched
    ]
    order = [case.name for case in judged.cases]
    for use in sorted(seen, key=lambda use: -len(use.matched)):
        yield _cause(use.entry, use, order)


def _cause(entry: Entry, use: EntryUse, order: Sequence[str]) -> CauseView:
    keys = use.matched
    return CauseView(
        id=entry.id,
        why=entry.why,
        upstream=entry.upstream,
        oracle=entry.oracle.value,
        label=f"{entry.symptom}@{entry.stage}" if entry.stage else entry.symptom,
        cases=tuple(sorted({key.case for key in keys}, key=order.index)),
        subjects=tuple(sorted({key.subject for key in keys})),
        routes=tuple(sorted({key.route for key in keys})),
        count=len(keys),
    )
