"""The three questions of a release engineer, each answered in one line, from the frames alone.

Which releases compute something else without a word; what is safe to use of the newest one; and
what got worse in it. A cell that was not asked, or left no record, never speaks for a release.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.report import text
from harness.report.frames.harms import harms_of
from harness.report.sections.neighbours import Moved
from harness.report.sections.views import Answer, ChangeView, Comparison
from harness.wire.oracles import Harm, Oracle

UNJUDGED = ("unsupported", "missing")


def answers(
    cells: pd.DataFrame,
    verdicts: pd.DataFrame | None,
    releases: Sequence[str],
    change: Comparison | None,
    worse: Moved | None = None,
) -> tuple[Answer, ...]:
    """A line a question; nothing where no release was asked.

    Args:
        verdicts: None where what each route does is told elsewhere.
        releases: those that were asked anything, the oldest first.
        change: the newest release against the one before it, oracle by oracle.
        worse: what failed in both, and in the newest by a worse oracle.
    """
    if not releases:
        return ()
    newest = releases[-1]
    lines = [Answer("Silent failures", silent_failures(cells, releases))]
    if verdicts is not None:
        lines.append(Answer(f"Routes of {newest}", route_states(cells, verdicts, newest)))
    if change:
        lines.append(Answer(f"Against {change.before}", _changed(change, worse)))
    return tuple(lines)


def silent_failures(cells: pd.DataFrame, releases: Sequence[str]) -> str:
    """Which releases have none; what the newest has, if it has any."""
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
    """Clauses as one sentence."""
    joined = "; ".join(parts)
    return f"{joined[:1].upper()}{joined[1:]}."
