"""ReportModel: everything that a report shows, built purely from a run's plain records.

The page, the markdown, the pictures and the CSV are views of this one object, so they cannot
disagree; none of them computes a number. A new view is a section: one module in `sections` with its
template, named in `SECTIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from harness.report.draw.drawing import Picture
from harness.report.frames.environments import torches_running
from harness.report.reported_run import ReportedRun, Section, View
from harness.report.run_frames import RunFrames, run_frames
from harness.report.sections.answers import safest_by_release
from harness.report.sections.causes import CAUSES, Script
from harness.report.sections.defects import DEFECTS
from harness.report.sections.findings import FINDINGS
from harness.report.sections.headline import Headline, headline, scope
from harness.report.sections.latency import LATENCY
from harness.report.sections.matrix import MATRIX
from harness.report.sections.neighbours import CHANGES
from harness.report.sections.own_cases import OWN_CASES
from harness.report.sections.package_lane import PACKAGES, PackageLane
from harness.report.sections.provenance import PROVENANCE
from harness.report.sections.short_tables import CONTROL, HYPOTHETICAL, UNFLATTEN
from harness.report.sections.version_matrix import VERSIONS
from harness.wire.builders import EMULATED
from harness.wire.routes import Lane

SECTIONS: Final[tuple[Section[Any], ...]] = (
    OWN_CASES,
    FINDINGS,
    DEFECTS,
    CAUSES,
    *PACKAGES,
    MATRIX,
    VERSIONS,
    CHANGES,
    LATENCY,
    UNFLATTEN,
    CONTROL,
    HYPOTHETICAL,
    PROVENANCE,
)
"""What stands below the headline, in order."""


@dataclass(frozen=True)
class ReportModel:
    """One run as a reader sees it, with the evidence of its causes.

    ``pictures`` are of causes, by their id; ``no_pictures`` says why there are none.
    ``scripts`` and ``no_scripts`` likewise; ``diffs`` are of mends, by their name.
    """

    run: ReportedRun
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    no_pictures: str = "not asked for"
    scripts: Mapping[str, Script] = field(default_factory=dict)
    no_scripts: str = "not asked for"
    diffs: Mapping[str, str] = field(default_factory=dict)
    no_diffs: str = ""

    def __getitem__(self, section: Section[View]) -> View:
        """The view of a section."""
        return self.run.view(section)

    @cached_property
    def sections(self) -> list[tuple[Section[Any], Any]]:
        """The sections that have something to show, in order, with their views.

        Causes stand in the table of defects, and by themselves where there is no table.
        """
        apart = self.run.defect_table is None
        shown = [section for section in SECTIONS if apart or section is not CAUSES]
        views = [(section, self.run.view(section)) for section in shown]
        return [(section, view) for section, view in views if view is not None]

    @property
    def folded(self) -> tuple[str, ...]:
        """The sections that are folded: what releases have is not what the page was asked."""
        asks = self.run.has_candidate or self.run.own_cases is not None
        return (VERSIONS.name, LATENCY.name) if asks else ()

    @property
    def title(self) -> str:
        return f"Inliner regression{f' · {self.run.name}' if self.run.name else ''}"

    @cached_property
    def scope(self) -> str:
        return scope(self.run)

    @cached_property
    def safest(self) -> dict[str, list[str]]:
        """By release, the safest ways to save."""
        return safest_by_release(self.run)

    @cached_property
    def headline(self) -> Headline:
        return headline(self.run)

    @property
    def lane(self) -> Lane:
        """The lane in which subjects are compared."""
        return self.run.lane

    @property
    def emulated(self) -> bool:
        """Whether the engines of any cell were emulated."""
        return any(key.executor == EMULATED for key in self.run.plan)

    @property
    def packages(self) -> list[PackageLane]:
        """The lanes of whole packages that the run has."""
        return [view for section in PACKAGES if (view := self.run.view(section))]

    @cached_property
    def ran_on(self) -> tuple[str, ...]:
        """The different torch versions that ran."""
        return torches_running(self.run.subjects, self.run.summary, self.run.provenance)

    @property
    def mismatches(self) -> tuple[str, ...]:
        """Why a merged run's sources should not have been merged."""
        return tuple(self.run.provenance.get("mismatches", ()))

    @cached_property
    def frames(self) -> RunFrames:
        return run_frames(self.run)
