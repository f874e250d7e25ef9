"""The control: what plain torch.export fails by itself is no fault of the inliner. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from harness.gate.findings import Finding
from harness.wire.oracles import Oracle, Symptom
from harness.wire.records import CellKey, CellRecord
from harness.wire.routes import Route
from harness.wire.vocabulary import Stage

#: By case, capture and environment.
ControlFailures = Mapping[tuple[str, str, str], frozenset[tuple[Oracle, Symptom | None]]]
#: Where a case ends before anybody, the control among them, has asked torch.export for a program.
_NO_EXPORT = frozenset({Stage.SPLIT, Stage.COMPILE})


def control_failures(records: Iterable[CellRecord]) -> ControlFailures:
    """What plain torch.export fails, by (case, capture, environment)."""
    return {
        _control(record.key): frozenset(
            (v.oracle, v.symptom) for v in record.failures if v.stage not in _NO_EXPORT
        )
        for record in records
        if record.key.route == Route.PLAIN
    }


def _control(key: CellKey) -> tuple[str, str, str]:
    return key.case, key.capture, key.environment


def marked(
    findings: Iterable[Finding],
    controls: ControlFailures,
) -> tuple[Finding, ...]:
    """The findings, worst first, each told whether plain torch.export fails likewise."""
    told = [
        dataclasses.replace(finding, torchs_own=True)
        if finding.verdict is not None
        and finding.verdict.failed
        and (finding.verdict.oracle, finding.verdict.symptom)
        in controls.get(_control(finding.key), frozenset())
        else finding
        for finding in findings
    ]
    return tuple(sorted(told, key=lambda finding: finding.urgency))
