"""The questions of a release engineer, each answered in one line, from the frames alone.

Which releases compute something else without a word; what is safe to use of the newest one; and
what got worse in it. A cell that was not asked, or left no record, never speaks for a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from harness.report import text
from harness.report.frames.tables import UNJUDGED, harms_of, in_lane
from harness.report.reported_run import ReportedRun
from harness.report.sections.changes import CHANGES, ChangeView, Comparison
from harness.report.sections.neighbours import Moved
from harness.report.sections.package_lane import CALLS, called
from harness.wire.builders import SEGMENT
from harness.wire.oracles import Harm, Oracle
from harness.wire.routes import Lane, Route

LANES: Final[Mapping[Lane, str]] = {
    Lane.PACKAGE: "Package of {}",
    Lane.ENGINE: "On a GPU, {}",
}
"""The lanes of whole packages, and how the first screen asks of a package there."""


@dataclass(frozen=True)
class Answer:
    """One line of the first screen: what was asked, and the answer."""

    asked: str
    answer: str


def answers(run: ReportedRun) -> Iterator[Answer]:
    """One line for each question; without a release that was asked, only those about packages."""
    if run.newest:
        yield Answer("Silent failures", silent_failures(run.cells, run.releases))
        if run.lane is Lane.GRAPH:  # the answers of a package tell what each of its calls does
            states = route_states(run.cells, run.verdicts, run.newest)
            yield Answer(f"Routes of {run.newest}", states)
        changes = run.view(CHANGES)
        if change := changes.comparison:
            yield Answer(f"Against {change.before}", _changed(change, changes.newly_worse))
    yield from package_answers(run.cells_of_lanes, [spec.subject for spec in run.ordered])


def silent_failures(cells: pd.DataFrame, releases: Sequence[str]) -> str:
    """The releases without silent failures, and what the newest has."""
    told = cells[["subject", "family", "route", "standing", "harm"]]
    gated = told[~cells["hypothetical"]]
    of_subject = {str(name): here for name, here in gated.groupby("subject", observed=False)}
    of = {name: of_subject[name] for name in releases}
    share = {name: harms_of(here).silent / max(len(here), 1) for name, here in of.items()}
    unasked = [name for name, here in of.items() if here["standing"].isin(UNJUDGED).any()]
    clean = [name for name in releases if not share[name] and name not in unasked]
    newest = releases[-1]
    parts = []
    if clean:
        parts.append(f"none in {', '.join(text.spans(clean, releases))}")
        some = [name for name in releases[:-1] if share[name]]
        if some:
            parts.append(f"some in {', '.join(text.spans(some, releases))}")
    elif all(share.values()) and len(releases) > 1:
        fewest = share[newest] == min(share.values())
        parts.append("in every release" + (", fewest in the newest" if fewest else ""))
    if share[newest]:
        parts.append(f"{newest} has {_silent_of(of[newest])}")
    doubtful = [name for name in unasked if not share[name]]
    if doubtful:
        names = ", ".join(text.spans(doubtful, releases))
        parts.append(f"none seen in {names}, where not all was asked")
    return _sentence(parts)


def _silent_of(here: pd.DataFrame) -> str:
    """How many cells of a release fail silently, and where."""
    wrong = here[here["harm"] == Harm.SILENT.value]
    families = text.listed(dict.fromkeys(str(family) for family in wrong["family"]), 3)
    routes = " and ".join(dict.fromkeys(str(route) for route in wrong["route"].sort_values()))
    return f"{len(wrong)} of {text.plural(len(here), 'cell')} ({families}; by {routes})"


def route_states(cells: pd.DataFrame, verdicts: pd.DataFrame, subject: str) -> str:
    """Each route of a subject: clean, clean of everything but metadata, or what fails in it.

    A cell counts as clean but for metadata if no other oracle failed in it: a worse failure is
    not hidden behind the one that the cell shows.
    """
    here = cells[_of(cells, subject) & ~cells["hypothetical"]]
    failed = verdicts[_of(verdicts, subject) & (verdicts["outcome"] == "failed")]
    beyond = set(failed.loc[failed["oracle"] != Oracle.METADATA.value, "cell_id"])
    clean, other = [], []
    for route, rows in here.groupby("route", observed=True):
        worse = rows[rows["cell_id"].isin(beyond)]
        unasked = int(rows["standing"].isin(UNJUDGED).sum())
        metadata = int((rows["standing"] == "failing").sum()) - len(worse)
        total = text.plural(len(rows), "cell")
        if not len(worse) and not unasked:
            what = f"nothing but metadata fails ({metadata} of {total})"
            clean.append(f"by {route} {what if metadata else f'all {total} are ok'}")
            continue
        if not len(worse):
            other.append(f"by {route} {unasked} of {total} were not asked")
            continue
        doubt = f", {unasked} not asked" if unasked else ""
        what = f"{len(worse)} of {total} fail in more than metadata"
        other.append(f"by {route} {what} ({_symptoms(worse)}{doubt})")
    return _sentence([*clean, *other])


def _symptoms(failing: pd.DataFrame) -> str:
    """``3 wrong values, 8 error``: how often each symptom is met, worst first."""
    ordered = failing.sort_values("oracle")["label"].astype("string").map(text.symptom)
    counts = ordered.value_counts(sort=False)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _changed(change: Comparison, worse: Moved | None) -> str:
    fixed = f"{change.fixed_count:,} fixed"
    if worse and worse.cells:
        named = text.listed(
            [f"{move.case} ({move.before}, now {move.after})" for move in worse.moves], 2
        )
        fixed += f"; {text.plural(worse.cells, 'cell')} turned worse: {named}"
    if not change.broken:
        return f"Nothing newly broken, {fixed}."
    named = text.listed(dict.fromkeys(_named(view) for view in change.broken), 3)
    return f"{change.broken_count:,} newly broken: {named}; {fixed}."


def _named(view: ChangeView) -> str:
    return f"{view.case} ({view.after} by {' and '.join(view.routes)})"


def _of(frame: pd.DataFrame, subject: str) -> pd.Series[bool]:
    return frame["subject"] == subject


def _sentence(parts: Sequence[str]) -> str:
    joined = "; ".join(parts)
    return f"{joined[:1].upper()}{joined[1:]}."


def package_answers(cells: pd.DataFrame, releases: Sequence[str]) -> tuple[Answer, ...]:
    """For the newest release of each lane and the one before it: what each call does.

    With the builder that all cases go through, where there is one; the table has all.

    Args:
        releases: those of the run, the oldest first.
    """
    return tuple(
        answer for lane in LANES for answer in _answers(in_lane(cells, lane), lane, releases)
    )


def _answers(here: pd.DataFrame, lane: Lane, releases: Sequence[str]) -> Iterator[Answer]:
    if (here["builder"] == SEGMENT).any():
        here = here[here["builder"] == SEGMENT]
    asked = set(here.loc[~here["standing"].isin(UNJUDGED), "subject"])
    for name in [name for name in releases if name in asked][:-3:-1]:
        for builder, part in here[here["subject"] == name].groupby("builder", observed=True):
            yield Answer(LANES[lane].format(called(name, str(builder))), _told(part))


def _told(here: pd.DataFrame) -> str:
    """What each call does: first those silently wrong, then announced, broken and right."""
    silent, announced, loud, right = [], [], [], []
    for route, rows in here.groupby("route", observed=True):
        call, total, harms = CALLS[Route(str(route))], len(rows), harms_of(rows)
        unasked = int(rows["standing"].isin(UNJUDGED).sum())
        doubt = f", {unasked} not asked" if unasked else ""
        wrong = f"{call} computes something else in"
        warns = f", in {harms.announced} more with a warning" if harms.announced else ""
        breaks = f" and fails in {harms.error}" if harms.error else ""
        if harms.silent:
            silent.append(f"{wrong} {harms.silent} of {total}{warns}{breaks}{doubt}")
        elif harms.announced:
            announced.append(
                f"{wrong} {harms.announced} of {total}, and warns of it{breaks}{doubt}"
            )
        elif harms.error:
            loud.append(f"{call} fails in {harms.error} of {total}{doubt}")
        else:
            right.append(f"{call} in all {total}" if not unasked else f"{call} in {total}{doubt}")
    rest = [f"the numbers are right by {text.listed(right)}"] if right else []
    return f"{'; '.join([*silent, *announced, *loud, *rest])}."
