"""What the report is made of: a judged run as plain data with its frames, and what a section is.

The gate's findings are adapted to the views here. Defects, what compares two subjects, and the
table of defects are values of register and gate that sections show as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import pandas as pd

from harness.catalogue.releases import ordered_subjects
from harness.gate.case_matrix import CaseMatrix
from harness.gate.defect_table import DefectTable
from harness.gate.known import Changes
from harness.gate.qualify import Qualification
from harness.register.defects import Defect
from harness.report.frames import tables
from harness.report.frames.environments import Compared, compared_in
from harness.report.frames.frames import cell_frame, sample_frame, verdict_frame
from harness.report.frames.tables import in_lane
from harness.runs.commands import HERE, Places
from harness.wire.records import CaseInfo, CellKey, CellRecord, SubjectSpec
from harness.wire.routes import Lane
from harness.wire.vocabulary import SubjectKind

EXPECTATIONS: Final = "expectations"
"""The tone of a finding for which the register or the table is at fault."""

View = TypeVar("View", covariant=True)


@dataclass(frozen=True)
class FindingView:
    """One thing that a person should look at, and the command that shows it.

    ``tone`` is a harm or ``ok``; the cell's class where the cell as a whole is meant, such as
    ``missing``; or `EXPECTATIONS`, where ``case`` names what contradicts itself.
    ``torchs_own``: plain ``torch.export`` of this case fails likewise. ``wire`` says which node
    reads what, and what it should read, where a wire is wrong; ``pieces`` counts the engines and
    fallbacks of the case.
    """

    case: str
    subject: str
    route: str
    tone: str
    label: str
    reason: str
    command: str
    torchs_own: bool = False
    wire: str = ""
    pieces: int = 0


@dataclass(frozen=True)
class BreakageView:
    """One thing that a candidate breaks, and ``first``, the worst finding of the smallest case.

    ``like`` are the known defects whose signs it bears, in words.
    """

    what: str
    forms: tuple[str, ...]
    cells: int
    cases: tuple[str, ...]
    like: tuple[str, ...]
    first: FindingView


@dataclass(frozen=True)
class ShownBy:
    """One failure of one cell that is due to a cause; ``harm`` is empty for a cell not asked."""

    key: CellKey
    harm: str
    oracle: str
    label: str
    says: str


@dataclass(frozen=True)
class Cause:
    """One defect of the register and the cells that show it; ``places`` are for its command."""

    defect: Defect
    shown: tuple[ShownBy, ...]
    places: Places = HERE


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportedRun:
    """A judged run as the sections see it: plain records, words of the gate, and frames.

    What compares subjects is of one lane, the graph lane where the run has it, since nothing
    differs there but the inliner; and of one kind of environment (`Compared`).

    Attributes:
        name: the run's name, for the title.
        plan: every planned cell; one without a record is shown as missing.
        gate: green, red, inconclusive or failed.
        classes: from a cell's id to its class, in the words of summary.json.
        findings: what keeps the gate from green, worst first; ``notes`` and ``good_news`` do not.
        breakages: what its candidates break, by cause, the worst first.
        causes: the defects that this run shows.
        defects: the run in defects, line by line, as the console tells it.
        differences: what candidates do otherwise, and releases that are not as expected, in parts.
        defect_table: every known defect by releases; None where no table speaks of the cases.
        changes: what the newest release changed in the defects of the one before, by the table.
        own_cases: a user's own cases by releases; None where a table speaks of the cases.
        places: where printed commands find the run, its cases and its candidates.
        upgrades: each candidate in the place of another subject, cell by cell.
        own_torch: a release with the torch that it pins, what it does, and how that is unlike.
        only: what alone was asked, where that is not every case of both lanes.
        summary, provenance: the data of summary.json and run.json.
        views: what sections show of the run, by their names, as far as they were asked.
    """

    name: str = ""
    plan: Sequence[CellKey]
    records: Sequence[CellRecord]
    cases: Sequence[CaseInfo]
    subjects: Sequence[SubjectSpec]
    gate: str
    classes: Mapping[str, str]
    findings: Sequence[FindingView]
    breakages: Sequence[BreakageView] = ()
    notes: Sequence[FindingView] = ()
    good_news: Sequence[FindingView] = ()
    causes: Sequence[Cause]
    defects: Sequence[str] = ()
    differences: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defect_table: DefectTable | None = None
    changes: Changes | None = None
    own_cases: CaseMatrix | None = None
    places: Places = HERE
    upgrades: Sequence[Qualification] = ()
    own_torch: Sequence[tuple[str, str, tuple[str, ...]]] = ()
    only: str = ""
    summary: Mapping[str, Any]
    provenance: Mapping[str, Any]
    views: dict[str, Any] = field(default_factory=dict)

    @property
    def started(self) -> datetime:
        """When the run started, which is the same whenever its report is written."""
        return datetime.fromisoformat(self.provenance["started_at"])

    @cached_property
    def lane(self) -> Lane:
        """The lane in which subjects are compared."""
        lanes = {key.lane for key in self.plan}
        return next((lane for lane in Lane if lane in lanes), Lane.GRAPH)

    @cached_property
    def compared(self) -> Compared:
        return compared_in(self.plan)

    @cached_property
    def ordered(self) -> list[SubjectSpec]:
        """The subjects in the order in which every table has them."""
        return list(ordered_subjects(self.subjects))

    @cached_property
    def all_cells(self) -> pd.DataFrame:
        """The cells of every lane and environment."""
        return cell_frame(self.records, self.cases, self.subjects, self.classes, self.plan)

    @cached_property
    def all_verdicts(self) -> pd.DataFrame:
        return verdict_frame(self.records, self.cases, self.subjects)

    @cached_property
    def all_timings(self) -> pd.DataFrame:
        return sample_frame(self.records, self.cases, self.subjects)

    @cached_property
    def cells_of_lanes(self) -> pd.DataFrame:
        """The cells of every lane, in the environments where subjects are compared."""
        return self.compared.rows(self.all_cells)

    @cached_property
    def timings_of_lanes(self) -> pd.DataFrame:
        return self.compared.rows(self.all_timings)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells in which subjects are compared."""
        return in_lane(self.cells_of_lanes, self.lane)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """The verdicts on `cells`, without the evidence, which is large and in no table."""
        told = self.all_verdicts.drop(columns="evidence")
        return in_lane(self.compared.rows(told), self.lane)

    @cached_property
    def graph_times(self) -> pd.DataFrame:
        """The stages of the graph lane that ended, as `tables.stage_times` gives them."""
        return tables.stage_times(in_lane(self.timings_of_lanes, Lane.GRAPH))

    @cached_property
    def releases(self) -> list[str]:
        """The releases that were asked anything in `lane`, the oldest first."""
        asked = set(self.cells.loc[~self.cells["standing"].isin(tables.UNJUDGED), "subject"])
        return [
            spec.subject
            for spec in self.ordered
            if spec.kind is SubjectKind.RELEASE and spec.subject in asked
        ]

    @property
    def has_candidate(self) -> bool:
        """Whether the run is about a candidate, so that what releases have is quiet."""
        return any(spec.kind is SubjectKind.FILE for spec in self.subjects)

    @property
    def red(self) -> set[str]:
        """The subjects of unexpected failures."""
        return {finding.subject for finding in self.findings}

    @property
    def newest(self) -> str | None:
        return self.releases[-1] if self.releases else None

    def view(self, section: Section[View]) -> View:
        """What a section shows of this run, made once."""
        if section.name not in self.views:
            self.views[section.name] = section.build(self)
        view: View = self.views[section.name]
        return view


@dataclass(frozen=True)
class Section(Generic[View]):
    """One part of the report: how its view is built, and which template shows that.

    A section whose view is None is left out. ``sections/TEMPLATE.html`` shows it in the page and
    ``sections/TEMPLATE.md``, where there is one, in the Markdown; both see it as ``view``.
    ``link`` is what the page's head calls it, and empty for a section without a link there.
    """

    name: str
    build: Callable[[ReportedRun], View]
    template: str
    link: str = ""
