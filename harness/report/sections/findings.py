"""What nobody expected, what the gate does not count, and what is better than before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from harness.report.reported_run import BreakageView, FindingView, ReportedRun, Section
from harness.wire.oracles import Harm

_JUDGED: Final = (*Harm, "ok")  # the tones of a verdict


@dataclass(frozen=True)
class Findings:
    """What a person should look at.

    ``breakages`` and ``findings`` keep the gate from green, and ``notes`` and ``good_news`` do not.
    ``by_cell`` are the findings that are told by their causes, as breakages.
    """

    breakages: tuple[BreakageView, ...]
    findings: tuple[FindingView, ...]
    by_cell: tuple[FindingView, ...]
    notes: tuple[FindingView, ...]
    good_news: tuple[FindingView, ...]


def build_findings(run: ReportedRun) -> Findings | None:
    """The findings of a run; None where there is nothing to say."""
    broken = {each.first.subject for each in run.breakages}
    of_cells: list[FindingView] = []
    rest: list[FindingView] = []
    for each in run.findings:
        (of_cells if each.subject in broken and each.tone in _JUDGED else rest).append(each)
    found = Findings(
        tuple(run.breakages), tuple(rest), tuple(of_cells), tuple(run.notes), tuple(run.good_news)
    )
    return found if run.findings or found.notes or found.good_news else None


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
