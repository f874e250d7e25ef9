"""What changed between releases: the newest against the one before it, and all neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas as pd

from harness.report.frames import tables
from harness.report.frames.limits import MOST_ROWS, most_of_each
from harness.report.reported_run import ReportedRun, Section
from harness.report.sections.neighbours import FATES, Moved, NeighbourView, neighbours


@dataclass(frozen=True)
class ChangeView:
    """A verdict on one case that differs between two subjects; ``harm`` is the failure's."""

    case: str
    family: str
    harm: str
    before: str
    after: str
    routes: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Comparison:
    """The newest release against the one before it. Counts are (case, route, oracle)."""

    before: str
    after: str
    fixed: tuple[ChangeView, ...]
    broken: tuple[ChangeView, ...]
    fixed_count: int
    broken_count: int


@dataclass(frozen=True)
class Changes:
    """``comparison`` is None where less than two releases were asked."""

    comparison: Comparison | None
    neighbours: tuple[NeighbourView, ...]

    @property
    def newly_worse(self) -> Moved | None:
        """What failed in the last two releases, and in the newest by a worse oracle.

        None where the last step is not from the release that the newest is compared with, since
        that has the same inliner.
        """
        last = self.neighbours[-1] if self.neighbours else None
        if last and self.comparison and self.comparison.before in last.before:
            return last.worse
        return None

    @property
    def most_moves(self) -> int:
        """How many cases the page names of each way that cells went between two releases."""
        pairs = self.neighbours[-MOST_ROWS:]
        return most_of_each([len(getattr(pair, fate).moves) for pair in pairs for fate in FATES])


def build_changes(run: ReportedRun) -> Changes:
    """The comparison of the newest two releases, and of all neighbours."""
    newest = run.releases[-2:]
    compared = comparison(run.verdicts, *newest) if len(newest) > 1 else None
    return Changes(compared, neighbours(run.cells, run.releases))


def comparison(verdicts: pd.DataFrame, before: str, after: str) -> Comparison:
    """What ``after`` fixed and broke against ``before``, one row a (case, oracle, harm, labels)."""
    changes = tables.fixed_between(verdicts, before, after)
    return Comparison(
        before=before,
        after=after,
        fixed=_changes(changes.fixed, "before"),
        broken=_changes(changes.broken, "after"),
        fixed_count=len(changes.fixed),
        broken_count=len(changes.broken),
    )


def _changes(frame: pd.DataFrame, failed: str) -> tuple[ChangeView, ...]:
    """One row a case and change; the failure stands in the columns that end in ``failed``."""
    harm, message = f"harm_{failed}", f"message_{failed}"
    by = [harm, "oracle", "case", "label_before", "label_after"]
    views = []
    for (harmed, _, case, old, new), rows in frame.groupby(by, observed=True):
        first = rows.iloc[0]
        routes = tuple(dict.fromkeys(str(route) for route in rows["route"]))
        views.append(
            ChangeView(
                str(case),
                str(first["family"]),
                str(harmed),
                str(old),
                str(new),
                routes,
                str(first[message]),
            )
        )
    return tuple(views)


CHANGES: Final = Section("changes", build_changes, template="changes", link="Changes")
