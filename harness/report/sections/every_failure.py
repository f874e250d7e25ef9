"""Every failing cell of a run: the lists to which the tables of the lanes link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.report.frames.limits import MOST_ROWS
from harness.report.reported_run import ReportedRun, Section
from harness.report.sections.failing import FailingSubject, failing_cells, failing_subjects
from harness.report.sections.matrix import MATRIX
from harness.report.sections.package_lane import PACKAGES
from harness.wire.routes import Lane


@dataclass(frozen=True)
class FailingList:
    """The failing cells that the tables of one lane link to.

    ``elsewhere`` are the cells that are not listed: of subjects that have no row on the page, and
    what is too long of the others.
    """

    title: str
    lane: Lane
    subjects: tuple[FailingSubject, ...]
    elsewhere: int


def failing_lists(run: ReportedRun) -> tuple[FailingList, ...]:
    """The list of the matrix, and one of each lane of packages."""
    return tuple(_lists(run))


def _lists(run: ReportedRun) -> Iterator[FailingList]:
    packages = [view for section in PACKAGES if (view := run.view(section))]
    by_family = "" if run.lane is Lane.GRAPH else " by family"
    title = f"In the {run.lane} lane{by_family}" if packages else ""
    groups = run.view(MATRIX).groups
    shown = failing_subjects(run.cells, [group.members for group in groups[-MOST_ROWS:]])
    older = [name for group in groups[:-MOST_ROWS] for name in group.members]
    yield _listed(title, run.lane, shown, failing_cells(run.cells, older))
    for package in packages:
        title = f"In the {package.lane} lane by call"
        yield _listed(title, package.lane, package.failing, package.older_failing)


def _listed(
    title: str, lane: Lane, subjects: tuple[FailingSubject, ...], older: int
) -> FailingList:
    return FailingList(title, lane, subjects, older + sum(of.unlisted for of in subjects))


FAILING: Final = Section("failing", failing_lists, template="failing")
