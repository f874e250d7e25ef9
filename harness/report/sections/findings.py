"""What nobody expected, what the gate does not count, and what is better than before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.report.reported_run import FindingView, ReportedRun, Section


@dataclass(frozen=True)
class Findings:
    """``findings`` keep the gate from green; ``notes`` and ``good_news`` do not."""

    findings: tuple[FindingView, ...]
    notes: tuple[FindingView, ...]
    good_news: tuple[FindingView, ...]


def build_findings(run: ReportedRun) -> Findings | None:
    """The findings of a run; None where there is nothing to say."""
    found = Findings(tuple(run.findings), tuple(run.notes), tuple(run.good_news))
    return found if found.findings or found.notes or found.good_news else None


def together(findings: Sequence[FindingView]) -> list[tuple[tuple[str, ...], FindingView]]:
    """Neighbours that differ in nothing but the subject, with their subjects."""
    found: list[tuple[tuple[str, ...], FindingView]] = []
    for finding in findings:
        if found and _but_for_subject(found[-1][1]) == _but_for_subject(finding):
            subjects, first = found.pop()
            found.append(((*subjects, finding.subject), first))
        else:
            found.append(((finding.subject,), finding))
    return found


def _but_for_subject(finding: FindingView) -> FindingView:
    return replace(finding, subject="", command="")


FINDINGS: Final = Section("findings", build_findings, template="findings", link="Findings")
